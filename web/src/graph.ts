// graph.ts - the graph on a canvas: pan, zoom, open and close, select, colour.
import { ancestors, boxName, learnTypes, nodesOf, openAtFirst, repeated } from "./boxes";
import { css, heat, inkOn, legend, makeMode, modesOf, ramp, valueText, type Mode } from "./color";
import type { Change, GraphFile, Layer, Model } from "./data";
import { fill, h } from "./dom";
import { attribute, bytes, count, exact, plural, runs, shape } from "./format";
import { find } from "./search";
import { Bands, BOX, FAR, INPUT, NODE, OUTPUT, Scene, type Item, type Wire } from "./scene";
import { select, state, update } from "./state";
import { reach } from "./walk";
import { tooltip } from "./tooltip";
import type { View } from "./view";

const TEXT_FROM = 0.42, DETAIL_FROM = 0.62, SHAPES_FROM = FAR; // zoom at which they are drawn
const NARROW = 600; // px
const MOST_OF_ONE = 60, MOST_OF_ALL = 240; // letters of attributes in a tooltip
const READ_LATER = 300; // ms after which the attributes are read
const MAP_LATER = 3000; // items with which the map is drawn after the graph
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

interface Paint { fill: string; ink: string; parts: [string, number][] | null; text: string }

export class GraphView implements View {
  readonly el: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Graph of the model. Arrow keys move, plus and minus zoom, Enter opens a module, 0 shows all." });
  private readonly map = h("canvas", { class: "minimap", "aria-hidden": "true", width: 160, height: 220 });
  private readonly key = h("div", { class: "legend-at" });
  private readonly bar = h("div", { class: "tools", role: "toolbar", "aria-label": "Graph" });
  private readonly status = h("div", { class: "status", role: "status", "aria-live": "polite" });
  private model!: Model;
  private mode!: Mode;
  private scene!: Scene;
  private bands!: Bands;
  private paints: Paint[] = [];
  private picture: HTMLCanvasElement | null = null;
  private mapDue = false;
  private bytes = new Map<number, number>();
  private most = 1;
  private x = 0;
  private y = 0;
  private zoom = 1;
  private hover = -1;
  private selected = new Set<number>();
  private matches = new Set<number>();
  private pending = false;
  private fitted = false;
  private graph: GraphFile | null = null; // attributes, once it is read

  constructor() {
    this.el = h("section", { class: "graph", "aria-label": "Graph" }, this.bar, h("div", { class: "stage" }, h("div", { class: "field" }, this.canvas, this.map, this.status), this.key));
    new ResizeObserver(() => {
      if (!this.fitted && this.scene) this.fit();
      this.draw();
    }).observe(this.canvas);
    this.listen();
  }

  async show(model: Model): Promise<void> {
    const fresh = model !== this.model;
    this.model = model;
    learnTypes((n) => this.type(n));
    if (fresh) {
      this.graph = null;
      this.bytes = new Map();
      for (let i = 0; i < model.layout.values.length; i += 2) this.bytes.set(model.layout.values[i]!, model.layout.values[i + 1]!);
      this.most = Math.max(1, ...[...this.bytes.values()].slice(0, 60000));
    }
    this.mode = await makeMode(model, state.color, state.device);
    this.toolbar();
    this.build();
    if (fresh) this.reveal(true);
    setTimeout(() => void model.graph().then((g) => { if (model === this.model) this.graph = g; }), READ_LATER);
  }

  changed(keys: Set<string>): void {
    if (keys.has("open")) this.build();
    if (keys.has("selection")) this.reveal(false);
    if (keys.has("color") || keys.has("device")) void makeMode(this.model, state.color, state.device).then((m) => {
      this.mode = m;
      this.repaint();
      this.toolbar();
    });
    if (keys.has("query")) this.repaint();
    if (keys.has("theme")) this.repaint();
    this.draw();
  }

  // -- what is drawn --------------------------------------------------------

  private opened(): Set<number> { return new Set(state.open ?? openAtFirst(this.model)); }

  private build(anchor?: { box: number; x: number; y: number }): void {
    this.scene = new Scene(this.model.layout, this.opened(), this.model.layers.length);
    this.bands = new Bands(this.scene);
    if (anchor) {
      const item = this.scene.items.find((t) => t.kind === BOX && t.id === anchor.box);
      if (item) {
        this.x = item.x - (anchor.x - this.canvas.clientWidth / 2) / this.zoom;
        this.y = item.y - item.h / 2 - (anchor.y - this.canvas.clientHeight / 2) / this.zoom;
      }
    }
    this.repaint();
  }

  private repaint(): void {
    this.matches = new Set(state.query ? find(this.model, state.query) : []);
    this.selected = new Set(state.selection);
    this.paints = [];
    this.picture = null;
    fill(this.key, legend(this.mode));
    const shown = this.scene.items.filter((t) => t.kind === NODE || (t.kind === BOX && !t.open)).length;
    fill(this.status, `${plural(shown, "item")} of ${plural(this.model.folded ? this.model.profile.operators : this.model.layers.length, "operator")}`,
      this.model.folded ? " · folded: what repeats is drawn once" : "",
      state.query ? ` · ${plural(this.matches.size, "match").replace("matchs", "matches")}` : "",
      this.model.layout.straight ? ` · ${plural(this.model.layout.straight, "long wire")} drawn straight` : "",
      this.model.layout.hidden ? ` · ${plural(this.model.layout.hidden, "wire")} left out where very many meet` : "");
    this.draw();
  }

  private nodesIn(t: Item): number[] { return t.kind === NODE ? [t.id] : t.kind === BOX ? nodesOf(this.model.layout, t.id) : []; }

  // Colours are made when they are first needed: most items are out of sight.
  private paintOf(i: number): Paint { return (this.paints[i] ??= this.paint(this.scene.items[i]!)); }

  private paint(t: Item): Paint {
    const m = this.mode, nodes = this.nodesIn(t);
    if (t.kind !== NODE && t.kind !== BOX) return { fill: css("port"), ink: css("ink"), parts: null, text: "" };
    if (m.classes && m.colors) {
      const sums = new Map<number, number>();
      for (const n of nodes) sums.set(m.classes[n]!, (sums.get(m.classes[n]!) ?? 0) + 1);
      const parts = [...sums].sort((a, b) => b[1] - a[1]).map(([c, n]) => [m.colors![c]!, n / nodes.length] as [string, number]);
      const only = t.kind === NODE && parts[0] ? parts[0][0] : css("card");
      return { fill: only, ink: inkOn(only), parts: t.kind === BOX ? parts : null, text: parts.length && t.kind === NODE ? m.names![m.classes[t.id]!]! : "" };
    }
    let x = 0;
    if (m.ratio) x = m.ratio(nodes);
    else for (const n of nodes) x += m.values![n]!;
    const color = ramp(heat(m, x));
    return { fill: color, ink: inkOn(color), parts: null, text: valueText(m, x) };
  }

  draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (this.scene && this.el.isConnected) this.render();
    });
  }

  private render(): void {
    const c = this.canvas, ratio = devicePixelRatio || 1, w = c.clientWidth, hgt = c.clientHeight;
    if (!w || !hgt) return;
    if (c.width !== Math.round(w * ratio) || c.height !== Math.round(hgt * ratio)) {
      c.width = Math.round(w * ratio);
      c.height = Math.round(hgt * ratio);
    }
    const g = c.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = css("canvas");
    g.fillRect(0, 0, w, hgt);
    g.setTransform(ratio * this.zoom, 0, 0, ratio * this.zoom, ratio * (w / 2 - this.x * this.zoom), ratio * (hgt / 2 - this.y * this.zoom));
    const y0 = this.y - hgt / 2 / this.zoom, y1 = this.y + hgt / 2 / this.zoom, x0 = this.x - w / 2 / this.zoom, x1 = this.x + w / 2 / this.zoom;
    const items = [...this.bands.itemsIn(y0, y1, this.zoom), ...this.farChosen()].filter((i) => {
      const t = this.scene.items[i]!;
      return t.x + t.w / 2 >= x0 && t.x - t.w / 2 <= x1;
    });
    for (const i of items) if (this.scene.items[i]!.open) this.drawFrame(g, this.scene.items[i]!);
    this.drawWires(g, this.bands.wiresIn(y0, y1, this.zoom).map((i) => this.scene.wires[i]!).filter((e) => e.x1 >= x0 && e.x0 <= x1 && e.y1 >= y0 && e.y0 <= y1));
    if (this.zoom >= SHAPES_FROM) for (const i of items) if (this.scene.items[i]!.open) this.drawTitle(g, this.scene.items[i]!);
    for (const i of items) if (!this.scene.items[i]!.open) this.drawItem(g, i);
    this.drawMap(w, hgt);
  }

  // What is selected or found is drawn even where others hide it.
  private farChosen(): number[] {
    if (this.zoom >= FAR || !(this.selected.size || this.matches.size)) return [];
    const out = new Set<number>();
    for (const set of [this.matches, this.selected])
      for (const n of set) if (out.size < 5000 && this.scene.ofNode[n]! >= 0) out.add(this.scene.ofNode[n]!);
    return [...out];
  }

  private drawFrame(g: CanvasRenderingContext2D, t: Item): void {
    g.beginPath();
    g.roundRect(t.x - t.w / 2, t.y - t.h / 2, t.w, t.h, 10);
    g.fillStyle = css("frame");
    g.fill();
    g.lineWidth = Math.max(1, 0.7 / this.zoom);
    g.strokeStyle = this.hover >= 0 && this.scene.items[this.hover] === t ? css("accent") : css("frame-line");
    g.stroke();
  }

  private drawTitle(g: CanvasRenderingContext2D, t: Item): void {
    const size = Math.min(40, Math.max(12, 10 / this.zoom));
    g.font = `600 ${size}px ${FONT}`;
    g.textBaseline = "middle";
    g.textAlign = "left";
    const times = repeated(this.model.layout, t.id), x = t.x - t.w / 2 + 10, y = t.y - t.h / 2 + Math.max(14, size * 0.8);
    const text = clip(g, "▾ " + boxName(this.model.layout, t.id) + (times ? ` × ${exact(times)}` : ""), t.w - 20);
    g.fillStyle = css("canvas");
    g.globalAlpha = 0.8;
    g.fillRect(x - 3, y - size * 0.62, g.measureText(text).width + 6, size * 1.24);
    g.globalAlpha = 1;
    g.fillStyle = css("quiet");
    g.fillText(text, x, y);
  }

  private lit(e: Wire): number {
    const touches = (i: number): boolean => {
      const t = this.scene.items[i]!;
      return t.kind === NODE ? this.selected.has(t.id) : t.kind === BOX && !t.open && this.nodesIn(t).some((n) => this.selected.has(n));
    };
    if (this.hover >= 0 && (e.from === this.hover || e.to === this.hover)) return 2;
    return this.selected.size && this.selected.size < 4000 && (touches(e.from) || touches(e.to)) ? 1 : 0;
  }

  private drawWires(g: CanvasRenderingContext2D, wires: Wire[]): void {
    const fine = this.zoom > SHAPES_FROM && wires.length < 6000, plain = css("wire"), accent = css("accent");
    const widths = new Map<string, Path2D>();
    for (const e of wires) {
      const bytes = this.bytes.get(e.value) ?? 0, lit = fine ? this.lit(e) : 0;
      const wide = fine ? Math.round(1 + 3.2 * Math.sqrt(Math.max(0, bytes) / this.most)) : 1;
      const id = `${lit} ${wide}`;
      let path = widths.get(id);
      if (!path) widths.set(id, (path = new Path2D()));
      trace(path, e.points, fine);
    }
    for (const [id, path] of [...widths].sort()) {
      const [lit, wide] = id.split(" ").map(Number) as [number, number];
      g.strokeStyle = lit ? accent : plain;
      g.globalAlpha = lit ? 0.95 : fine ? 0.75 : 0.4;
      g.lineWidth = Math.max(wide + (lit ? 0.6 : 0), 0.8 / this.zoom);
      g.stroke(path);
    }
    g.globalAlpha = 1;
  }

  private drawItem(g: CanvasRenderingContext2D, i: number): void {
    const t = this.scene.items[i]!, p = this.paintOf(i), x = t.x - t.w / 2, y = t.y - t.h / 2;
    if (t.kind === INPUT || t.kind === OUTPUT) {
      if (t.box !== 0) return;
    }
    const nodes = this.nodesIn(t), dim = state.query !== "" && !nodes.some((n) => this.matches.has(n)) && nodes.length > 0;
    g.globalAlpha = dim ? 0.25 : 1;
    g.fillStyle = p.fill;
    if (this.zoom < SHAPES_FROM) {
      g.fillRect(x, y, t.w, t.h);
    } else {
      g.beginPath();
      g.roundRect(x, y, t.w, t.h, t.kind === NODE ? 7 : t.kind === BOX ? 9 : 15);
      g.fill();
      g.lineWidth = 1;
      g.strokeStyle = t.kind === BOX ? css("box-line") : css("node-line");
      g.stroke();
      if (t.kind === BOX) this.drawStack(g, t);
    }
    if (p.parts) {
      let at = x + 8;
      for (const [color, share] of p.parts) {
        g.fillStyle = color;
        g.fillRect(at, y + t.h - 10, (t.w - 16) * share, 5);
        at += (t.w - 16) * share;
      }
    }
    const chosen = nodes.length > 0 && nodes.some((n) => this.selected.has(n));
    if (chosen || i === this.hover) {
      g.lineWidth = Math.max(chosen ? 2.5 : 1.5, (chosen ? 2 : 1.2) / this.zoom);
      g.strokeStyle = css("accent");
      g.beginPath();
      g.roundRect(x - 2, y - 2, t.w + 4, t.h + 4, 9);
      g.stroke();
    }
    if (this.zoom >= TEXT_FROM) this.drawText(g, t, p);
    g.globalAlpha = 1;
  }

  // The edges of cards below: a box that stands for several.
  private drawStack(g: CanvasRenderingContext2D, t: Item): void {
    if (!repeated(this.model.layout, t.id)) return;
    g.beginPath();
    g.moveTo(t.x - t.w / 2 + 9, t.y + t.h / 2 + 3);
    g.lineTo(t.x + t.w / 2 - 9, t.y + t.h / 2 + 3);
    g.moveTo(t.x - t.w / 2 + 16, t.y + t.h / 2 + 6);
    g.lineTo(t.x + t.w / 2 - 16, t.y + t.h / 2 + 6);
    g.stroke();
  }

  private drawText(g: CanvasRenderingContext2D, t: Item, p: Paint): void {
    const [title, sub] = this.label(t, p), two = sub !== "" && this.zoom >= DETAIL_FROM && t.h > 32;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillStyle = t.kind === NODE || t.kind === BOX ? p.ink : css("ink");
    g.font = `600 12.5px ${FONT}`;
    const middle = p.parts ? t.y - 3 : t.y;
    g.fillText(clip(g, title, t.w - 12), t.x, two ? middle - 8 : middle);
    if (!two) return;
    g.font = `11px ${FONT}`;
    g.globalAlpha *= 0.8;
    g.fillText(clip(g, sub, t.w - 10), t.x, middle + 8);
  }

  private type(node: number): string {
    const l = this.model.layers[node]!;
    return l.type === "unknown" ? l.origin || l.type : l.type;
  }

  private label(t: Item, p: Paint): [string, string] {
    if (t.kind === NODE) {
      const l = this.model.layers[t.id]!;
      return [this.type(t.id) + (l.folded ? ` × ${exact(l.folded)}` : ""), l.times === 0 ? "not counted" : shape(l.output_shape) + (l.times ? ` ↻ ${exact(l.times)}` : "")];
    }
    if (t.kind === BOX) {
      const times = repeated(this.model.layout, t.id);
      return ["▸ " + boxName(this.model.layout, t.id) + (times ? ` × ${exact(times)}` : ""), p.text || plural(this.model.layout.boxes[t.id]!.nodes, "operator")];
    }
    const ports = t.kind === INPUT ? this.model.profile.inputs : this.model.profile.outputs;
    const before = this.scene.items.filter((o) => o.kind === t.kind && o.box === 0);
    const port = ports[before.indexOf(t)];
    return [port ? `${t.kind === INPUT ? "in" : "out"}: ${port.name} ${shape(port.shape)}` : "", ""];
  }

  private drawMap(w: number, hgt: number): void {
    const m = this.map, g = m.getContext("2d")!, s = this.scene, k = Math.min(m.width / (s.width + 40), m.height / (s.height + 40));
    if (!this.picture && s.items.length > MAP_LATER && !this.mapDue) { // after what is in sight
      this.mapDue = true;
      setTimeout(() => this.draw(), 50);
      return;
    }
    if (!this.picture) {
      this.mapDue = false;
      this.picture = h("canvas", { width: m.width, height: m.height });
      const o = this.picture.getContext("2d")!, frame = css("frame");
      o.translate((m.width - s.width * k) / 2, (m.height - s.height * k) / 2);
      s.items.forEach((t, i) => {
        o.fillStyle = t.open ? frame : this.paintOf(i).fill;
        if (t.kind === NODE || t.kind === BOX) o.fillRect((t.x - t.w / 2) * k, (t.y - t.h / 2) * k, Math.max(1, t.w * k), Math.max(1, t.h * k));
      });
    }
    g.clearRect(0, 0, m.width, m.height);
    g.drawImage(this.picture, 0, 0);
    g.strokeStyle = css("accent");
    g.lineWidth = 1.5;
    const ox = (m.width - s.width * k) / 2, oy = (m.height - s.height * k) / 2;
    g.strokeRect(ox + (this.x - w / 2 / this.zoom) * k, oy + (this.y - hgt / 2 / this.zoom) * k, (w / this.zoom) * k, (hgt / this.zoom) * k);
  }

  // -- where to look --------------------------------------------------------

  private fit(): void {
    const w = this.canvas.clientWidth, hgt = this.canvas.clientHeight;
    if (!w || !hgt) return;
    this.fitted = true;
    this.zoom = Math.min(1.1, (w - 60) / Math.max(this.scene.width, 1), (hgt - 60) / Math.max(this.scene.height, 1));
    // A tall graph is read from its top.
    if (this.zoom < 0.55) this.zoom = Math.min(0.8, Math.max(this.zoom, (w - 60) / Math.max(this.scene.width, 900)));
    if (w < NARROW && this.scene.items.length < MAP_LATER) this.zoom = Math.max(this.zoom, DETAIL_FROM); // the names can be read
    this.x = this.scene.width / 2;
    this.y = Math.max(this.scene.height / 2, 0);
    if (this.scene.height * this.zoom > hgt - 40) this.y = hgt / 2 / this.zoom - 30 / this.zoom;
    this.draw();
  }

  private all(): void {
    const w = this.canvas.clientWidth, hgt = this.canvas.clientHeight;
    this.zoom = Math.min(1.2, (w - 40) / Math.max(1, this.scene.width), (hgt - 40) / Math.max(1, this.scene.height));
    this.x = this.scene.width / 2;
    this.y = this.scene.height / 2;
    this.draw();
  }

  // Moves to the selection when none of it can be seen.
  private reveal(always: boolean): void {
    this.selected = new Set(state.selection);
    if (always && !this.selected.size) return this.fit();
    const items = [...new Set(state.selection.map((n) => this.scene.ofNode[n]!))].filter((i) => i >= 0).map((i) => this.scene.items[i]!);
    if (!items.length) return;
    const w = this.canvas.clientWidth / 2 / this.zoom, hgt = this.canvas.clientHeight / 2 / this.zoom;
    if (!always && items.some((t) => Math.abs(t.x - this.x) < w && Math.abs(t.y - this.y) < hgt)) return this.draw();
    this.center(items);
  }

  private center(items: Item[]): void {
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const t of items) {
      x0 = Math.min(x0, t.x - t.w / 2), x1 = Math.max(x1, t.x + t.w / 2);
      y0 = Math.min(y0, t.y - t.h / 2), y1 = Math.max(y1, t.y + t.h / 2);
    }
    const w = this.canvas.clientWidth, hgt = this.canvas.clientHeight;
    if (!w) return;
    this.fitted = true;
    this.zoom = Math.min(1, (w - 80) / (x1 - x0 + 1), (hgt - 80) / (y1 - y0 + 1));
    this.zoom = Math.max(this.zoom, 0.02);
    this.x = (x0 + x1) / 2;
    this.y = (y0 + y1) / 2;
    this.draw();
  }

  // Opens every box that hides a node of the selection.
  private uncover(): void {
    const open = this.opened();
    for (const n of state.selection.slice(0, 2000)) for (const box of ancestors(this.model.layout, n)) open.add(box);
    update({ open: [...open].sort((a, b) => a - b) });
    this.reveal(true);
  }

  private toggle(box: number, at?: { x: number; y: number }): void {
    const open = this.opened(), item = this.scene.items.find((t) => t.kind === BOX && t.id === box);
    open.has(box) ? open.delete(box) : open.add(box);
    const anchor = at ?? (item && { x: (item.x - this.x) * this.zoom + this.canvas.clientWidth / 2, y: (item.y - item.h / 2 - this.y) * this.zoom + this.canvas.clientHeight / 2 });
    update({ open: [...open].sort((a, b) => a - b) });
    if (anchor) this.build({ box, ...anchor });
  }

  private openAll(): void {
    const all = this.model.layout.boxes.map((_, i) => i).slice(1);
    update({ open: all });
    this.all();
  }

  private async walk(where: "in" | "out" | "critical"): Promise<void> {
    if (where === "critical") {
      const [c, f] = await Promise.all([this.model.concurrency(), this.model.fusion()]);
      select(c.critical_path.flatMap((s) => this.model.nodesOf(f.subgraphs[s]!)));
    } else select(reach(await this.model.graph(), state.selection, where === "in"));
  }

  private toolbar(): void {
    const choose = h("select", { "aria-label": "Colour by", onchange: () => update({ color: choose.value }) },
      ...modesOf(this.model)
        .map(([k, title]) => h("option", { value: k, selected: this.mode.key === k }, title)));
    const button = (label: string, title: string, f: () => void): HTMLElement => h("button", { type: "button", title, onclick: f }, label);
    fill(this.bar, h("label", {}, "Colour ", choose),
      h("span", { class: "group" }, button("Fold all", "Close every module", () => { update({ open: [] }); this.fit(); }),
        button("Open all", "Open every module", () => this.openAll()), button("Fit", "Show all (0)", () => this.all())),
      h("span", { class: "group" }, button("Reveal", "Open the modules that hide the selection and go there (F)", () => this.uncover()),
        button("↑ Inputs", "Select everything the selection depends on", () => void this.walk("in")),
        button("↓ Outputs", "Select everything that depends on the selection", () => void this.walk("out")),
        this.model.has("concurrency") && this.model.has("fusion") ? button("Critical path", "Select the longest chain", () => void this.walk("critical")) : null));
  }

  // -- hands ----------------------------------------------------------------

  private world(e: { offsetX: number; offsetY: number }): [number, number] {
    return [this.x + (e.offsetX - this.canvas.clientWidth / 2) / this.zoom, this.y + (e.offsetY - this.canvas.clientHeight / 2) / this.zoom];
  }

  private zoomAt(factor: number, px: number, py: number): void {
    const dx = px - this.canvas.clientWidth / 2, dy = py - this.canvas.clientHeight / 2, next = Math.min(3, Math.max(0.005, this.zoom * factor));
    this.x += dx / this.zoom - dx / next;
    this.y += dy / this.zoom - dy / next;
    this.zoom = next;
    this.fitted = true;
    this.draw();
  }

  private tip(i: number, e: PointerEvent): void {
    const t = this.scene.items[i];
    if (!t || (t.kind !== NODE && t.kind !== BOX)) return tooltip.hide();
    if (t.kind === NODE) {
      const l = this.model.layers[t.id]!;
      tooltip.show(e.clientX, e.clientY, h("b", {}, l.name), ...(l.folded ? [h("span", {}, `and ${plural(l.folded - 1, "operator")} like it, in sum:`)] : []), h("span", {}, `${l.type} → ${shape(l.output_shape)} ${l.compute_dtype}`),
        h("span", {}, `${count(l.flops)} FLOPs · ${count(l.params)} parameters · ${bytes(l.memory)} moved · ${l.trust}`), h("span", {}, this.paintOf(i).text),
        ...this.origin(l), ...differs(this.model.changes[t.id]));
    } else tooltip.show(e.clientX, e.clientY, h("b", {}, this.model.layout.boxes[t.id]!.module || "model"), h("span", {}, plural(this.model.layout.boxes[t.id]!.nodes, "operator")),
      h("span", {}, this.paintOf(i).text), ...(this.model.layout.boxes[t.id]!.shut ? [h("small", {}, "folded: one of each kind of operator is drawn")] : []), h("small", {}, t.open ? "double-click closes it" : "double-click opens it"));
  }

  // What else there is to say of an operator: how often it runs, its attributes, where it comes from.
  private origin(l: Layer): HTMLElement[] {
    const attrs = Object.entries(this.graph?.nodes[l.id]?.attributes ?? {}).map(([k, v]) => `${k} ${attribute(v, MOST_OF_ONE)}`).join(", ");
    const from = [l.origin && l.origin !== l.type ? `from ${l.origin}` : "", l.source ?? ""].filter(Boolean).join(" · ");
    return [runs(l.times), attrs.length > MOST_OF_ALL ? attrs.slice(0, MOST_OF_ALL) + "…" : attrs, from].filter(Boolean).map((t) => h("small", {}, t));
  }

  private listen(): void {
    const c = this.canvas, down = new Map<number, { x: number; y: number }>();
    let moved = 0, spread = 0;
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      down.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
      moved = 0;
      spread = 0;
    });
    c.addEventListener("pointermove", (e) => {
      const last = down.get(e.pointerId);
      if (!last) {
        const over = this.bands?.at(...this.world(e)) ?? -1;
        if (over !== this.hover) {
          this.hover = over;
          this.draw();
        }
        return this.tip(over, e);
      }
      tooltip.hide();
      if (down.size === 2) {
        const [a, b] = [...down.values()] as [{ x: number; y: number }, { x: number; y: number }];
        const now = Math.hypot(a.x - b.x, a.y - b.y);
        if (spread) this.zoomAt(now / spread, (a.x + b.x) / 2, (a.y + b.y) / 2);
        spread = now;
      } else {
        this.x -= (e.offsetX - last.x) / this.zoom;
        this.y -= (e.offsetY - last.y) / this.zoom;
        this.fitted = true;
        this.draw();
      }
      moved += Math.abs(e.offsetX - last.x) + Math.abs(e.offsetY - last.y);
      down.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    });
    c.addEventListener("pointerup", (e) => {
      down.delete(e.pointerId);
      if (moved > 6) return;
      const i = this.bands.at(...this.world(e)), t = this.scene.items[i];
      if (!t || t.open || (t.kind !== NODE && t.kind !== BOX)) {
        if (!e.shiftKey) select([]);
      } else select(this.nodesIn(t), e.shiftKey || e.ctrlKey || e.metaKey);
    });
    c.addEventListener("pointercancel", (e) => { down.delete(e.pointerId); });
    c.addEventListener("pointerleave", () => { this.hover = -1; tooltip.hide(); this.draw(); });
    c.addEventListener("dblclick", (e) => {
      const t = this.scene.items[this.bands.at(...this.world(e))];
      if (t?.kind === BOX) this.toggle(t.id);
    });
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.shiftKey) {
        this.x += e.deltaY / this.zoom;
        this.draw();
      } else this.zoomAt(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0016)), e.offsetX, e.offsetY);
    }, { passive: false });
    c.addEventListener("keydown", (e) => this.press(e));
    this.map.addEventListener("pointerdown", (e) => this.jump(e));
    this.map.addEventListener("pointermove", (e) => { if (e.buttons) this.jump(e); });
  }

  private jump(e: PointerEvent): void {
    const s = this.scene, m = this.map, k = Math.min(m.width / (s.width + 40), m.height / (s.height + 40));
    this.x = (e.offsetX * (m.width / m.clientWidth) - (m.width - s.width * k) / 2) / k;
    this.y = (e.offsetY * (m.height / m.clientHeight) - (m.height - s.height * k) / 2) / k;
    this.draw();
  }

  private press(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = 80 / this.zoom, w = this.canvas.clientWidth / 2, hgt = this.canvas.clientHeight / 2;
    const keys: Record<string, () => void> = {
      ArrowLeft: () => { this.x -= step; }, a: () => { this.x -= step; }, ArrowRight: () => { this.x += step; }, d: () => { this.x += step; },
      ArrowUp: () => { this.y -= step; }, w: () => { this.y -= step; }, ArrowDown: () => { this.y += step; }, s: () => { this.y += step; },
      "+": () => this.zoomAt(1.25, w, hgt), "=": () => this.zoomAt(1.25, w, hgt), "-": () => this.zoomAt(0.8, w, hgt),
      0: () => this.all(), f: () => this.uncover(), Escape: () => select([]), n: () => this.next(1), p: () => this.next(-1),
      Enter: () => {
        const box = this.scene.items.find((t) => t.kind === BOX && !t.open && this.nodesIn(t).some((n) => this.selected.has(n)));
        if (box) this.toggle(box.id);
      },
      Backspace: () => {
        const up = ancestors(this.model.layout, state.selection[0] ?? -1).filter((b) => this.scene.isOpen(b)).pop();
        if (up) this.toggle(up);
      },
    };
    const f = keys[e.key];
    if (!f) return;
    e.preventDefault();
    f();
    this.draw();
  }

  // The next match of the search, or the next operator.
  private next(by: number): void {
    const list = this.matches.size ? [...this.matches] : this.model.layers.map((l) => l.id), at = list.indexOf(state.selection[0] ?? -1);
    const to = list[(at + by + list.length) % list.length];
    if (to === undefined) return;
    select([to]);
    this.uncover();
  }
}

// What became of a layer, and what that costs.
function differs(c: Change | null | undefined): HTMLElement[] {
  if (!c) return [];
  const was = c.before, is = c.after, sum = (k: "flops" | "params"): string => `${count(was?.[k] ?? 0)} → ${count(is?.[k] ?? 0)}`;
  return [h("span", {}, [c.change, ...c.what].join(" · ")), h("span", {}, `FLOPs ${sum("flops")} · parameters ${sum("params")}`), ...(was && is && was.name !== is.name ? [h("span", {}, `was ${was.name}`)] : [])];
}

function clip(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (text.length > 300) text = text.slice(0, 300);
  if (g.measureText(text).width <= room) return text;
  let lo = 0, hi = text.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (g.measureText(text.slice(0, mid) + "…").width <= room) lo = mid;
    else hi = mid - 1;
  }
  return text.slice(0, lo) + "…";
}

function trace(path: Path2D, p: Float64Array, fine: boolean): void {
  path.moveTo(p[0]!, p[1]!);
  for (let k = 2; k < p.length; k += 2) {
    const x0 = p[k - 2]!, y0 = p[k - 1]!, x1 = p[k]!, y1 = p[k + 1]!;
    if (!fine || Math.abs(x0 - x1) < 1) path.lineTo(x1, y1);
    else path.bezierCurveTo(x0, y0 + (y1 - y0) * 0.5, x1, y0 + (y1 - y0) * 0.5, x1, y1);
  }
}
