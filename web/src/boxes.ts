// boxes.ts - names of boxes, what is inside them, and which are open at first.
import type { Layout, Model } from "./data";
import { BOX, NODE } from "./scene";

const cache = new WeakMap<Layout, number[][]>();

export function nodesOf(layout: Layout, box: number): number[] {
  let lists = cache.get(layout);
  if (!lists) cache.set(layout, (lists = []));
  if (!lists[box]) {
    const out: number[] = [], b = layout.boxes[box]!;
    for (let i = 0; i < b.items.length; i += 6)
      if (b.items[i] === NODE) out.push(b.items[i + 1]!);
      else if (b.items[i] === BOX) for (const n of nodesOf(layout, b.items[i + 1]!)) out.push(n);
    lists[box] = out;
  }
  return lists[box]!;
}

export function children(layout: Layout, box: number): number[] {
  const out: number[] = [], b = layout.boxes[box]!;
  for (let i = 0; i < b.items.length; i += 6) if (b.items[i] === BOX) out.push(b.items[i + 1]!);
  return out;
}

function relative(path: string, above: string): string {
  return above && path.startsWith(above + ".") ? path.slice(above.length + 1) : path;
}

export function boxName(layout: Layout, box: number): string {
  const b = layout.boxes[box]!, up = layout.boxes[b.parent ?? 0]!;
  if (b.folded) {
    const path = relative(b.module, up.module);
    return path && path !== up.module ? `${path} …` : contents(layout, box);
  }
  if (b.repeats) {
    const inner = children(layout, box);
    const ends = [inner[0], inner[inner.length - 1]].map((i) => (i === undefined ? "" : relative(layout.boxes[i]!.module, b.module)));
    return `${ends[0]} … ${ends[1]}`;
  }
  return (relative(b.module, up.module) || b.module || "model") + (b.parts ? ` (part ${b.part! + 1} of ${b.parts})` : "");
}

// What a box without a name of its own holds: its first operators or modules.
let typeOf: (node: number) => string = () => "";
export const learnTypes = (f: (node: number) => string): void => { typeOf = f; };

function contents(layout: Layout, box: number): string {
  const names: string[] = [], b = layout.boxes[box]!;
  for (let i = 0; i < b.items.length && names.length < 4; i += 6)
    if (b.items[i] === NODE) names.push(typeOf(b.items[i + 1]!));
    else if (b.items[i] === BOX) names.push(boxName(layout, b.items[i + 1]!));
  return names.slice(0, 3).join(", ") + (names.length > 3 ? " …" : "");
}

// How many equal modules a box stands for: a row of them, or all it holds.
export function repeated(layout: Layout, box: number): number {
  const b = layout.boxes[box]!;
  if (b.repeats) return b.repeats;
  const inner = children(layout, box);
  return inner.length > 2 && inner.length * 6 + 12 >= b.items.length && inner.every((i) => layout.boxes[i]!.form === layout.boxes[inner[0]!]!.form) ? inner.length : 0;
}

// Boxes that hold a node, outermost first, the root left out.
export function ancestors(layout: Layout, node: number): number[] {
  const out: number[] = [];
  const at = homeOf(layout)[node];
  for (let box = at; box !== undefined && box > 0; box = layout.boxes[box]!.parent ?? 0) out.push(box);
  return out.reverse();
}

const homes = new WeakMap<Layout, Int32Array>();
function homeOf(layout: Layout): Int32Array {
  let home = homes.get(layout);
  if (!home) {
    home = new Int32Array(layout.boxes[0]!.nodes);
    layout.boxes.forEach((b, box) => {
      for (let i = 0; i < b.items.length; i += 6) if (b.items[i] === NODE) home![b.items[i + 1]!] = box;
    });
    homes.set(layout, home);
  }
  return home;
}

// Opens modules from the outside in, as long as the drawing stays readable.
export function openAtFirst(model: Model, most = 36): number[] {
  const open: number[] = [], queue = [0];
  let shown = model.layout.boxes[0]!.items.length / 6;
  while (queue.length) {
    const box = queue.shift()!;
    for (const inner of children(model.layout, box)) {
      const more = model.layout.boxes[inner]!.items.length / 6;
      if (shown + more > most) continue;
      shown += more;
      open.push(inner);
      queue.push(inner);
    }
  }
  return open.sort((a, b) => a - b);
}
