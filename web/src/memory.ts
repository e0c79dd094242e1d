// memory.ts - bytes alive at each step, and where each tensor lies in the arena.
import { category, css } from "./color";
import { Chart, grid, gridUp, ticks } from "./chart";
import type { Memory, Model } from "./data";
import { fill, h } from "./dom";
import { bytes, datum, exact, percent, plural, tick } from "./format";
import { select, state } from "./state";
import { tooltip } from "./tooltip";
import type { View } from "./view";

const L = 74, PAD_R = 14;

export class MemoryView implements View {
  readonly el = h("section", { class: "scroll", "aria-label": "Memory" });
  private readonly live = new Chart("Bytes of live tensors at each step", (g) => this.paintLive(g), "mid");
  private readonly arena = new Chart("Arena: a box per tensor, from its first step to its last", (g) => this.paintArena(g), "mid");
  private model!: Model;
  private data!: Memory;
  private maker = new Map<string, number>();

  constructor() {
    const step = (e: MouseEvent): number => Math.max(0, Math.min(this.data.steps - 1, Math.floor(((e.offsetX - L) / (this.live.width - L - PAD_R)) * this.data.steps)));
    // A folded model has the highest step of every span of steps.
    const entry = (e: MouseEvent): number => Math.floor(step(e) / this.span());
    this.live.canvas.addEventListener("pointermove", (e) => {
      const i = entry(e), node = this.data.order[i] ?? 0;
      tooltip.show(e.clientX, e.clientY, h("b", {}, `${this.span() > 1 ? `highest of ${this.span()} steps from ${i * this.span()}` : `step ${i}`}: ${this.model.layers[node]?.name ?? ""}`), h("span", {}, `${bytes(this.data.timeline[i] ?? 0)} alive`));
    });
    this.live.canvas.addEventListener("click", (e) => select([this.data.order[entry(e)] ?? 0], e.shiftKey));
    const at = (e: MouseEvent): Memory["tensors"][number] | undefined => {
      const i = step(e), y = (1 - (e.offsetY - 8) / (this.arena.height - 40)) * this.data.arena_bytes;
      return this.data.tensors.find((t) => i >= t.first_step && i <= t.last_step && y >= t.offset && y <= t.offset + t.bytes);
    };
    this.arena.canvas.addEventListener("pointermove", (e) => {
      const t = at(e);
      if (!t) return tooltip.hide();
      tooltip.show(e.clientX, e.clientY, h("b", {}, t.name, this.by(t.name)), h("span", {}, `${bytes(t.bytes)} at ${bytes(t.offset)}`), h("span", {}, `steps ${t.first_step} to ${t.last_step}`));
    });
    this.arena.canvas.addEventListener("click", (e) => {
      const t = at(e), node = t && this.maker.get(t.name);
      select(node === undefined ? [] : [node], e.shiftKey);
    });
    for (const c of [this.live, this.arena]) c.canvas.addEventListener("pointerleave", () => tooltip.hide());
  }

  async show(model: Model): Promise<void> {
    this.model = model;
    if (!model.has("memory")) return fill(this.el, h("p", { class: "empty" }, "Memory could not be planned; the notes in the summary say why."));
    const [data, graph] = await Promise.all([model.memory(), model.graph()]), names = new Map<number, string>();
    graph.values.forEach((v) => names.set(v.id, v.name));
    this.data = data;
    this.maker.clear();
    for (const n of graph.nodes) for (const v of n.outputs) this.maker.set(names.get(v) || n.name, n.id);
    const d = this.data, alive = d.tensors.filter((t) => t.first_step <= d.peak_step && t.last_step >= d.peak_step).sort((a, b) => b.bytes - a.bytes);
    const card = (label: string, value: Node, sub: string): HTMLElement => h("div", { class: "card" }, h("span", { class: "label" }, label), h("span", { class: "big" }, value), h("span", { class: "sub" }, sub));
    fill(this.el, h("div", { class: "cards" },
      card("Peak of live tensors", datum(d.peak_bytes, "bytes", "peak_bytes"), `step ${d.peak_step}: ${d.peak_node}`),
      card("Weights", datum(d.weight_bytes, "bytes", "weight_bytes"), "stored, tied ones once"),
      card("Both", datum(d.total_bytes, "bytes", "total_bytes"), "what a device must hold"),
      card("Arena", datum(d.arena_bytes, "bytes", "arena_bytes"), `no plan needs less than ${bytes(d.arena_lower_bound)} (${d.arena_planner.replace(/_/g, " ")})`)),
      h("h3", {}, "Live tensors over time ", this.span() > 1 ? h("small", {}, `the highest of every ${this.span()} steps`) : null), this.live.el,
      h("h3", {}, "Arena ", d.total_tensors !== undefined ? h("small", {}, `${exact(d.tensors.length)} of ${plural(d.total_tensors, "tensor")}: those of operators that are shown, and those alive at the peak`) : null), this.arena.el,
      h("h3", {}, "Alive at the peak"),
      h("div", { class: "list" }, alive.slice(0, 40).map((t) => {
        const bar = h("i", { class: "fillbar" });
        bar.style.width = (100 * t.bytes) / Math.max(1, d.peak_bytes) + "%";
        const node = this.maker.get(t.name);
        return h("button", { type: "button", class: "line", disabled: node === undefined, onclick: () => node !== undefined && select([node]) }, bar, h("span", {}, t.name, this.by(t.name)), h("span", { class: "end" }, datum(t.bytes, "bytes"), " ", percent(t.bytes / Math.max(1, d.peak_bytes))));
      }), alive.length > 40 ? h("p", { class: "hint" }, `and ${alive.length - 40} more`) : null));
    this.live.draw();
    this.arena.draw();
  }

  // The operator that makes a tensor, when the tensor is not named after it.
  private by(name: string): HTMLElement | null {
    const node = this.maker.get(name), layer = node === undefined ? "" : this.model.layers[node]!.name;
    return layer && layer !== name ? h("small", {}, " " + layer) : null;
  }

  private span(): number { return this.data.span ?? 1; }

  changed(): void {
    this.live.draw();
    this.arena.draw();
  }

  private steps(g: CanvasRenderingContext2D, w: number, T: number, B: number): (i: number) => number {
    const X = (i: number): number => L + (i / Math.max(1, this.data.steps)) * (w - L - PAD_R);
    for (const t of ticks(0, this.data.steps, Math.max(3, w / 120))) if (Number.isInteger(t)) gridUp(g, X(t), T, B, exact(t));
    return X;
  }

  private paintLive(g: CanvasRenderingContext2D): void {
    if (!this.data) return;
    const d = this.data, w = this.live.width, T = 10, B = this.live.height - 28, X = this.steps(g, w, T, B), top = Math.max(1, d.peak_bytes) * 1.06;
    const Y = (v: number): number => B - (v / top) * (B - T);
    for (const t of ticks(0, top, 5)) grid(g, L, Y(t), w - PAD_R, tick(t, "bytes"));
    g.beginPath();
    g.moveTo(X(0), B);
    const span = this.span();
    d.timeline.forEach((v, i) => { g.lineTo(X(i * span), Y(v)); g.lineTo(X(Math.min(d.steps, (i + 1) * span)), Y(v)); });
    g.lineTo(X(d.steps), B);
    g.closePath();
    g.fillStyle = css("area");
    g.fill();
    g.strokeStyle = css("accent");
    g.lineWidth = 1.5;
    g.stroke();
    const chosen = new Set(state.selection);
    g.fillStyle = css("accent");
    g.globalAlpha = 0.35;
    d.order.forEach((n, i) => { if (chosen.has(n)) g.fillRect(X(i * span), T, Math.max(1.5, X((i + 1) * span) - X(i * span)), B - T); });
    g.globalAlpha = 1;
    g.fillStyle = css("ink");
    g.beginPath();
    g.arc((X(d.peak_step) + X(d.peak_step + 1)) / 2, Y(d.peak_bytes), 3.5, 0, 7);
    g.fill();
    g.textAlign = d.peak_step > d.steps * 0.7 ? "right" : "left";
    g.textBaseline = "middle";
    const label = `peak ${bytes(d.peak_bytes)}`, at = X(d.peak_step) + (d.peak_step > d.steps * 0.7 ? -8 : 14);
    g.strokeStyle = css("card"); // a rim, so that the curve does not cross it
    g.lineWidth = 4;
    g.strokeText(label, at, Y(d.peak_bytes) + 2);
    g.fillText(label, at, Y(d.peak_bytes) + 2);
  }

  private paintArena(g: CanvasRenderingContext2D): void {
    if (!this.data) return;
    const d = this.data, w = this.arena.width, T = 8, B = this.arena.height - 32, X = this.steps(g, w, T, B), top = Math.max(1, d.arena_bytes);
    const Y = (v: number): number => B - (v / top) * (B - T), chosen = new Set(state.selection);
    for (const t of ticks(0, top, 5)) grid(g, L, Y(t), w - PAD_R, tick(t, "bytes"));
    d.tensors.forEach((t, i) => {
      const x = X(t.first_step), y = Y(t.offset + t.bytes), wide = Math.max(1, X(t.last_step + 1) - x - 1), high = Math.max(1, Y(t.offset) - y - 1);
      const node = this.maker.get(t.name), lit = chosen.size === 0 || (node !== undefined && chosen.has(node));
      g.globalAlpha = lit ? 0.85 : 0.2;
      g.fillStyle = category(i);
      g.fillRect(x, y, wide, high);
      if (wide > 60 && high > 14) {
        g.save();
        g.beginPath();
        g.rect(x, y, wide - 4, high);
        g.clip();
        g.fillStyle = "#10202c";
        g.textAlign = "left";
        g.textBaseline = "middle";
        g.fillText(t.name, x + 4, y + Math.min(high / 2, 12));
        g.restore();
      }
    });
    g.globalAlpha = 1;
  }
}
