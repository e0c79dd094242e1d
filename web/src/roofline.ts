// roofline.ts - what each fused subgraph attains on each device, against the
// roof: the lesser of peak and intensity times bandwidth.
import { category, css } from "./color";
import { axisName, Chart, grid, gridUp } from "./chart";
import { load, type Device, type MapDevice, type Model, type Partition } from "./data";
import { fill, h } from "./dom";
import { datum, exact, number, percent, plural, seconds, tick } from "./format";
import { select, state, update } from "./state";
import { tooltip } from "./tooltip";
import type { View } from "./view";

interface Point { x: number; y: number; device: number; id: number; r: number }

const LABEL = 13; // px that a label is high

export class RooflineView implements View {
  readonly el = h("section", { class: "scroll", "aria-label": "Roofline" });
  private readonly chart = new Chart("Roofline: operations per second over operations per byte, logarithmic", (g) => this.paint(g), "tall");
  private readonly side = h("div", { class: "cards" });
  private readonly note = h("p", { class: "folded" });
  private model!: Model;
  private devices: MapDevice[] = [];
  private figures: Device[] = [];
  private cut!: Partition;
  private points: Point[] = [];
  private hover: Point | null = null;
  private readonly labels: { y: number; w: number }[] = []; // of roofs, as far as they are drawn

  constructor() {
    this.el.append(this.side, this.chart.el, this.note);
    const at = (e: MouseEvent): Point | null => {
      let best: Point | null = null, least = 12;
      for (const p of this.points) {
        const d = Math.hypot(p.x - e.offsetX, p.y - e.offsetY) - p.r;
        if (d < least) least = d, best = p;
      }
      return best;
    };
    this.chart.canvas.addEventListener("pointermove", (e) => {
      const p = at(e);
      if (p !== this.hover) {
        this.hover = p;
        this.chart.draw();
      }
      if (!p) return tooltip.hide();
      const d = this.devices[p.device]!, s = d.subgraphs[p.id]!;
      tooltip.show(e.clientX, e.clientY, h("b", {}, s.name), h("span", {}, `${s.pattern} on ${d.device}`),
        h("span", {}, `${seconds(s.seconds)} · ${number(s.arithmetic_intensity)} FLOP/byte · bound by ${s.bound}`), h("span", {}, `${percent(s.roof_share)} of the roof`));
    });
    this.chart.canvas.addEventListener("pointerleave", () => { this.hover = null; tooltip.hide(); this.chart.draw(); });
    this.chart.canvas.addEventListener("click", (e) => {
      const p = at(e);
      select(p ? this.model.nodesOf(this.cut.subgraphs[p.id]!) : [], e.shiftKey);
    });
  }

  async show(model: Model): Promise<void> {
    this.model = model;
    if (!model.has("map") || !model.has("fusion")) return fill(this.el, h("p", { class: "empty" }, "No device could be mapped; the notes in the summary say why."));
    const [roofs, figures, cut] = await Promise.all([model.roofs(), load<Device[]>("devices"), model.fusion()]);
    this.devices = roofs.devices;
    this.figures = figures;
    this.cut = cut;
    fill(this.side, this.devices.map((d, i) => this.card(d, i)));
    fill(this.note, model.folded ? `Folded: ${exact(cut.subgraphs.length)} of ${plural(cut.total_subgraphs, "subgraph")} are drawn, each the first of those like it. The figures above are those of all.` : "");
    this.chart.draw();
  }

  changed(keys: Set<string>): void {
    if (keys.has("device")) fill(this.side, this.devices.map((d, i) => this.card(d, i)));
    this.chart.draw();
  }

  private card(d: MapDevice, i: number): HTMLElement {
    const dot = h("i", { class: "dot" });
    dot.style.background = category(i);
    const title = this.figures.find((f) => f.device === d.device)?.title ?? d.device;
    return h("button", { type: "button", class: "card device" + (state.device === i ? " on" : ""), "aria-pressed": state.device === i ? "true" : "false", onclick: () => update({ device: i }) },
      h("span", { class: "label" }, dot, title), h("span", { class: "big" }, datum(d.seconds, "seconds", "seconds")),
      h("span", { class: "sub" }, datum(d.throughput, "number", "throughput"), "/s · ", datum(d.peak_share, "percent", "peak_share"), ` of ${d.rate} peak`),
      h("span", { class: "sub" }, `ridge ${number(d.ridge)} FLOP/byte · ${d.fits ? "fits in memory" : "does not fit in memory"}`));
  }

  private paint(g: CanvasRenderingContext2D): void {
    const w = this.chart.width, hgt = this.chart.height, L = 70, R = w - 16, T = 14, B = hgt - 46;
    const all = this.devices.flatMap((d, k) => d.subgraphs.map((s) => ({ s, k, f: this.cut.subgraphs[s.id]!.flops })).filter((p) => p.s.seconds > 0 && p.f > 0 && p.s.arithmetic_intensity > 0));
    if (!all.length) return;
    const ops = (p: (typeof all)[number]): number => p.f / p.s.seconds;
    let x0 = 0.05, x1 = 1000, y0 = Infinity, y1 = 0;
    for (const p of all) {
      x0 = Math.min(x0, p.s.arithmetic_intensity), x1 = Math.max(x1, p.s.arithmetic_intensity);
      y0 = Math.min(y0, ops(p)), y1 = Math.max(y1, ops(p));
    }
    for (const f of this.figures) y1 = Math.max(y1, f.peak, this.int8() ? f.peaks["int8"] ?? 0 : 0);
    const lx0 = Math.floor(Math.log10(x0)), lx1 = Math.ceil(Math.log10(x1)), ly0 = Math.floor(Math.log10(Math.max(y0, y1 * 1e-9))), ly1 = Math.ceil(Math.log10(y1 * 1.2));
    const X = (v: number): number => L + ((Math.log10(v) - lx0) / (lx1 - lx0)) * (R - L), Y = (v: number): number => B - ((Math.log10(v) - ly0) / (ly1 - ly0)) * (B - T);
    for (let k = ly0; k <= ly1; k++) grid(g, L, Y(10 ** k), R, tick(10 ** k, "count"));
    for (let k = lx0; k <= lx1; k++) gridUp(g, X(10 ** k), T, B, tick(10 ** k, "number"));
    axisName(g, "FLOPs per byte moved", (L + R) / 2, hgt - 10);
    axisName(g, "operations per second", 12, (T + B) / 2, true);
    g.save();
    g.beginPath();
    g.rect(L, T, R - L, B - T);
    g.clip();
    this.labels.length = 0;
    this.devices.forEach((d, k) => {
      const f = this.figures.find((x) => x.device === d.device);
      if (!f) return;
      this.roof(g, f, k, X, Y, 10 ** lx0, 10 ** lx1, f.peak, f.device);
      if (this.int8() && d.rate !== "int8" && f.peaks["int8"]) this.roof(g, f, k, X, Y, 10 ** lx0, 10 ** lx1, f.peaks["int8"], f.device + " int8");
    });
    const chosen = new Set(state.selection), of = this.cut.subgraphs.map((s) => this.model.nodesOf(s).some((n) => chosen.has(n)));
    this.points = [];
    const longest = this.devices.map((d) => d.subgraphs.reduce((m, s) => Math.max(m, s.seconds), 0));
    for (const p of all) {
      const r = 2.5 + 7 * Math.sqrt(p.s.seconds / (longest[p.k] || 1)), x = X(p.s.arithmetic_intensity), y = Y(ops(p)), lit = of[p.s.id]!;
      this.points.push({ x, y, device: p.k, id: p.s.id, r });
      g.beginPath();
      g.arc(x, y, r, 0, 7);
      g.fillStyle = category(p.k);
      g.globalAlpha = chosen.size ? (lit ? 0.95 : 0.12) : p.k === state.device ? 0.7 : 0.28;
      g.fill();
      if (lit || (this.hover?.id === p.s.id && this.hover.device === p.k)) {
        g.globalAlpha = 1;
        g.strokeStyle = css("ink");
        g.lineWidth = 1.5;
        g.stroke();
      }
    }
    g.restore();
  }

  // Quantised operators have a roof of their own.
  private int8(): boolean { return this.model.layers.some((l) => /^u?int8$/.test(l.compute_dtype) && l.flops > 0); }

  private roof(g: CanvasRenderingContext2D, f: Device, k: number, X: (v: number) => number, Y: (v: number) => number, from: number, to: number, peak: number, name: string): void {
    if (!(peak > 0) || !(f.bandwidth > 0)) return;
    const ridge = peak / f.bandwidth;
    g.strokeStyle = category(k);
    g.lineWidth = k === state.device ? 2.2 : 1.3;
    g.globalAlpha = 1;
    g.setLineDash(peak === f.peak ? [] : [6, 4]);
    g.beginPath();
    g.moveTo(X(from), Y(from * f.bandwidth));
    g.lineTo(X(ridge), Y(peak));
    g.lineTo(X(Math.max(to, ridge)), Y(peak));
    g.stroke();
    g.setLineDash([]);
    g.fillStyle = category(k);
    g.textAlign = "right";
    const low = Y(peak) < 32; // no room above the line
    g.textBaseline = low ? "top" : "bottom";
    const y = Y(peak) + (low ? 4 : -3), beside = this.labels.filter((l) => Math.abs(l.y - y) < LABEL).reduce((s, l) => s + l.w, 0);
    g.fillText(name, X(to) - 6 - beside, y);
    this.labels.push({ y, w: g.measureText(name).width + 12 });
  }
}
