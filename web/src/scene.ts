// scene.ts - the boxes of the layout with some of them open, as flat lists to
// draw.
//
// A box that opens needs room. Space is stretched where it lies: along each
// axis the drawing is mapped by a function that grows faster over the interval
// of an open box, by the most that any box there needs. The function is
// monotone, so items keep their order and their gaps, and nothing overlaps.
import type { Box, Layout } from "./data";

export const NODE = 0, BOX = 1, INPUT = 2, OUTPUT = 3;
const PAD = 22, HEAD = 30, FOOT = 18;

export interface Item { kind: number; id: number; x: number; y: number; w: number; h: number; open: boolean; box: number }
export interface Wire { value: number; points: Float64Array; x0: number; y0: number; x1: number; y1: number; from: number; to: number }

type Map1 = (x: number) => number;

// intervals: [from, to, room needed]
function stretch(intervals: [number, number, number][]): Map1 {
  if (!intervals.length) return (x) => x;
  const cuts = [...new Set(intervals.flatMap(([a, b]) => [a, b]))].sort((a, b) => a - b);
  const rate = new Float64Array(cuts.length), start = new Map(cuts.map((c, i) => [c, i]));
  for (const [a, b, room] of intervals) {
    const r = Math.max(0, room - (b - a)) / (b - a);
    for (let i = start.get(a)!; cuts[i]! < b; i++) if (r > rate[i]!) rate[i] = r;
  }
  const shift = new Float64Array(cuts.length);
  for (let i = 1; i < cuts.length; i++) shift[i] = shift[i - 1]! + rate[i - 1]! * (cuts[i]! - cuts[i - 1]!);
  return (x) => {
    let lo = 0, hi = cuts.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (cuts[mid]! <= x) lo = mid + 1;
      else hi = mid;
    }
    return lo === 0 ? x : x + shift[lo - 1]! + rate[lo - 1]! * (x - cuts[lo - 1]!);
  };
}

interface Opened { w: number; h: number; fx: Map1; fy: Map1 }

export class Scene {
  readonly items: Item[] = []; // frames of open boxes before what is in them
  readonly wires: Wire[] = [];
  width = 0;
  height = 0;
  readonly ofNode: Int32Array; // item that shows a node: itself, or a closed box
  private readonly sizes = new Map<number, Opened>();
  private readonly ports = new Map<string, number>(); // "box in value": share of its width

  constructor(readonly layout: Layout, readonly open: Set<number>, nodes: number) {
    this.ofNode = new Int32Array(nodes).fill(-1);
    this.place(0, 0, 0);
    const root = this.measure(0);
    this.width = root.w;
    this.height = root.h;
  }

  isOpen(box: number): boolean { return box === 0 || this.open.has(box); }

  private measure(box: number): Opened {
    let size = this.sizes.get(box);
    if (size) return size;
    const b = this.layout.boxes[box]!, xs: [number, number, number][] = [], ys: [number, number, number][] = [];
    for (let i = 0; i < b.items.length; i += 6) {
      if (b.items[i] !== BOX || !this.open.has(b.items[i + 1]!)) continue;
      const inner = this.measure(b.items[i + 1]!), x = b.items[i + 2]!, y = b.items[i + 3]!, w = b.items[i + 4]!, h = b.items[i + 5]!;
      xs.push([x - w / 2, x + w / 2, inner.w + 2 * PAD]);
      ys.push([y - h / 2, y + h / 2, inner.h + HEAD + FOOT]);
    }
    const fx = stretch(xs), fy = stretch(ys);
    size = { fx, fy, w: fx(b.w), h: fy(b.h) };
    this.sizes.set(box, size);
    return size;
  }

  // Where a value enters or leaves a closed box, as a share of its width.
  private share(box: number, kind: number, value: number): number {
    const key = `${box} ${kind} ${value}`;
    let at = this.ports.get(key);
    if (at === undefined) {
      const b = this.layout.boxes[box]!, found: [number, number][] = [];
      for (let i = 0; i < b.items.length; i += 6) if (b.items[i] === kind) found.push([b.items[i + 2]!, b.items[i + 1]!]);
      found.sort((p, q) => p[0] - q[0]);
      found.forEach(([, v], i) => this.ports.set(`${box} ${kind} ${v}`, (i + 1) / (found.length + 1)));
      at = this.ports.get(key) ?? 0.5;
    }
    return at;
  }

  // Draws the inside of a box with its corner at (left, top).
  private place(box: number, left: number, top: number): void {
    const b = this.layout.boxes[box]!, { fx, fy } = this.measure(box), first: number[] = [];
    const inside: [number, number, number][] = [];
    for (let i = 0; i < b.items.length; i += 6) {
      const kind = b.items[i]!, id = b.items[i + 1]!, x = b.items[i + 2]!, y = b.items[i + 3]!, w = b.items[i + 4]!, h = b.items[i + 5]!;
      const open = kind === BOX && this.open.has(id);
      const cx = left + (fx(x - w / 2) + fx(x + w / 2)) / 2, cy = top + (fy(y - h / 2) + fy(y + h / 2)) / 2;
      let item: Item = { kind, id, x: cx, y: cy, w, h, open, box };
      if (open) {
        const inner = this.measure(id);
        item = { ...item, w: inner.w + 2 * PAD, h: inner.h + HEAD + FOOT };
        inside.push([id, cx - inner.w / 2, cy - item.h / 2 + HEAD]);
      }
      first.push(this.items.length);
      this.items.push(item);
      if (kind === NODE) this.ofNode[id] = this.items.length - 1;
      else if (kind === BOX && !open) this.claim(id, this.items.length - 1);
    }
    this.wireUp(b, first, left, top, fx, fy, new Map(inside.map(([id, x, y]) => [id, [x, y]])));
    for (const [id, x, y] of inside) this.place(id, x, y);
  }

  private claim(box: number, item: number): void {
    const b = this.layout.boxes[box]!;
    for (let i = 0; i < b.items.length; i += 6)
      if (b.items[i] === NODE) this.ofNode[b.items[i + 1]!] = item;
      else if (b.items[i] === BOX) this.claim(b.items[i + 1]!, item);
  }

  // The end of a wire at an item: its border, or the port inside an open box.
  private end(item: Item, kind: number, value: number, corner: number[] | undefined): [number, number] {
    const border = kind === INPUT ? item.y - item.h / 2 : item.y + item.h / 2;
    if (item.kind !== BOX) return [item.x, border];
    if (!item.open || !corner) return [item.x + item.w * (this.share(item.id, kind, value) - 0.5), border];
    const b = this.layout.boxes[item.id]!, { fx, fy } = this.measure(item.id);
    for (let i = 0; i < b.items.length; i += 6)
      if (b.items[i] === kind && b.items[i + 1] === value)
        return [corner[0]! + fx(b.items[i + 2]!), corner[1]! + fy(b.items[i + 3]!)];
    return [item.x, border];
  }

  private wireUp(b: Box, first: number[], left: number, top: number, fx: Map1, fy: Map1, corners: Map<number, number[]>): void {
    // Half the height of each layer, by its middle: wires leave a layer straight
    // before they turn, so that they do not run through a taller neighbour.
    const half = new Map<number, number>();
    for (let i = 0; i < b.items.length; i += 6) half.set(b.items[i + 3]!, Math.max(half.get(b.items[i + 3]!) ?? 0, b.items[i + 5]! / 2));
    const edge = (item: number, side: number): number => {
      const y = b.items[6 * item + 3]!;
      return top + fy(y + side * half.get(y)!);
    };
    for (let i = 0; i < b.wires.length;) {
      const from = first[b.wires[i]!]!, to = first[b.wires[i + 1]!]!, value = b.wires[i + 2]!, bends = b.wires[i + 3]!;
      const a = this.items[from]!, z = this.items[to]!, path = new Float64Array(8 + 4 * bends);
      const start = this.end(a, OUTPUT, value, corners.get(a.id)), stop = this.end(z, INPUT, value, corners.get(z.id));
      const below = edge(b.wires[i]!, 1), above = edge(b.wires[i + 1]!, -1);
      let n = 0;
      path[n++] = start[0], path[n++] = start[1];
      if (below > start[1] + 1) path[n++] = start[0], path[n++] = below;
      for (let k = 0; k < bends; k++) {
        const x = left + fx(b.wires[i + 4 + 2 * k]!), y = b.wires[i + 5 + 2 * k]!, tall = half.get(y) ?? 0;
        path[n++] = x, path[n++] = top + fy(y - tall);
        path[n++] = x, path[n++] = top + fy(y + tall);
      }
      if (above < stop[1] - 1) path[n++] = stop[0], path[n++] = above;
      path[n++] = stop[0], path[n++] = stop[1];
      const points = n < path.length ? path.slice(0, n) : path;
      let x0 = Infinity, x1 = -Infinity;
      for (let k = 0; k < points.length; k += 2) {
        x0 = Math.min(x0, points[k]!);
        x1 = Math.max(x1, points[k]!);
      }
      this.wires.push({ value, points, x0, x1, y0: points[1]!, y1: points[points.length - 1]!, from, to });
      i += 4 + 2 * bends;
    }
  }
}

// What lies at some height: items and wires by bands of the drawing.
const BAND = 600, LONG = 24;
export const FAR = 0.14; // zoom below which things are dots

export class Bands {
  private readonly items: number[][] = [];
  private readonly wires: number[][] = [];
  private readonly long: number[] = [];
  private readonly seen: Uint32Array;
  private round = 0;
  constructor(private readonly scene: Scene) {
    scene.items.forEach((t, i) => this.put(this.items, t.y - t.h / 2, t.y + t.h / 2, i, false));
    scene.wires.forEach((w, i) => this.put(this.wires, w.y0, w.y1, i, true));
    this.seen = new Uint32Array(Math.max(scene.items.length, scene.wires.length));
  }
  private put(lists: number[][], y0: number, y1: number, i: number, wire: boolean): void {
    const from = Math.max(0, Math.floor(y0 / BAND)), to = Math.max(from, Math.floor(y1 / BAND));
    if (wire && to - from > LONG) this.long.push(i);
    else for (let k = from; k <= to; k++) (lists[k] ??= []).push(i);
  }
  private *range(lists: number[][], y0: number, y1: number): Generator<number> {
    this.round++;
    const last = Math.min(lists.length - 1, Math.floor(y1 / BAND));
    for (let k = Math.max(0, Math.floor(y0 / BAND)); k <= last; k++)
      for (const i of lists[k] ?? [])
        if (this.seen[i] !== this.round) {
          this.seen[i] = this.round;
          yield i;
        }
  }
  // In the order they were made: frames lie below what is in them. Asked for again
  // and again while the drawing moves, so the last answer is kept.
  itemsIn(y0: number, y1: number, zoom: number): number[] { return this.keep("items", y0, y1, zoom, () => [...this.range(this.items, y0, y1)].sort((a, b) => a - b)); }
  wiresIn(y0: number, y1: number, zoom: number): number[] { return this.keep("wires", y0, y1, zoom, () => [...this.range(this.wires, y0, y1), ...this.long]); }
  private readonly last = new Map<string, { key: string; list: number[] }>();
  private keep(what: "items" | "wires", y0: number, y1: number, zoom: number, make: () => number[]): number[] {
    const bands = what === "items" ? this.items : this.wires, from = Math.max(0, Math.floor(y0 / BAND)), to = Math.min(bands.length - 1, Math.floor(y1 / BAND));
    const key = `${from} ${to} ${zoom < FAR ? zoom : 1}`, last = this.last.get(what);
    if (last?.key === key) return last.list;
    const list = zoom < FAR ? this.thin(what, make(), zoom) : make();
    this.last.set(what, { key, list });
    return list;
  }
  // From far away many things fall on one dot of the screen: one of them is enough.
  private thin(what: "items" | "wires", list: number[], zoom: number): number[] {
    const seen = new Set<string>(), dot = (x: number): number => Math.round(x * zoom);
    return list.filter((i) => {
      let key;
      if (what === "items") {
        const t = this.scene.items[i]!;
        key = `${dot(t.x - t.w / 2)} ${dot(t.y - t.h / 2)} ${dot(t.x + t.w / 2)} ${dot(t.y + t.h / 2)} ${t.open}`;
      } else {
        const w = this.scene.wires[i]!;
        key = `${dot(w.x0)} ${dot(w.y0)} ${dot(w.x1)} ${dot(w.y1)}`;
      }
      return !seen.has(key) && !!seen.add(key);
    });
  }
  at(x: number, y: number): number {
    let best = -1;
    for (const i of this.range(this.items, y, y)) {
      const t = this.scene.items[i]!;
      if (Math.abs(x - t.x) <= t.w / 2 && Math.abs(y - t.y) <= t.h / 2 && i > best) best = i;
    }
    return best;
  }
}
