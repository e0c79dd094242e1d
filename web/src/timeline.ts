// timeline.ts - the schedule of fused subgraphs on streams, with the critical
// path. The wheel zooms, dragging moves.
import { BOTTLENECK, css, words } from "./color";
import { Chart, gridUp, ticks } from "./chart";
import type { Concurrency, Model, Partition } from "./data";
import { fill, h } from "./dom";
import { count, datum, exact, number, percent, plural, seconds, tick } from "./format";
import { select, state } from "./state";
import { tooltip } from "./tooltip";
import type { View } from "./view";

export class TimelineView implements View {
  readonly el = h("section", { class: "scroll", "aria-label": "Timeline" });
  private readonly cards = h("div", { class: "cards" });
  private readonly chart = new Chart("Schedule: a lane per stream, a bar per subgraph", (g) => this.paint(g), "tall");
  private model!: Model;
  private data!: Concurrency;
  private cut!: Partition;
  private from = 0;
  private to = 1;

  constructor() {
    const c = this.chart.canvas;
    let drag = -1, moved = 0;
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      const at = this.time(e.offsetX), k = Math.exp(e.deltaY * 0.002), end = this.end();
      this.from = Math.max(0, at - (at - this.from) * k);
      this.to = Math.min(end, at + (this.to - at) * k);
      if (this.to - this.from < end * 1e-6) this.to = this.from + end * 1e-6;
      this.chart.draw();
    }, { passive: false });
    c.addEventListener("pointerdown", (e) => { drag = e.offsetX; moved = 0; c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointermove", (e) => {
      if (drag >= 0 && e.buttons) {
        const by = this.time(drag) - this.time(e.offsetX), wide = this.to - this.from;
        this.from = Math.min(Math.max(0, this.from + by), this.end() - wide);
        this.to = this.from + wide;
        moved += Math.abs(e.offsetX - drag);
        drag = e.offsetX;
        return this.chart.draw();
      }
      const s = this.at(e);
      if (!s) return tooltip.hide();
      tooltip.show(e.clientX, e.clientY, h("b", {}, s.name), h("span", {}, s.pattern),
        h("span", {}, `${this.text(s.weight)} from ${this.text(s.start)}, stream ${s.stream}`), h("span", {}, s.critical ? "on the critical path" : `slack ${this.text(s.slack_time)}`));
    });
    c.addEventListener("pointerup", (e) => {
      drag = -1;
      if (moved > 5) return;
      const s = this.at(e);
      select(s ? this.model.nodesOf(this.cut.subgraphs[s.id]!) : [], e.shiftKey);
    });
    c.addEventListener("pointerleave", () => tooltip.hide());
  }

  async show(model: Model): Promise<void> {
    this.model = model;
    if (!model.has("concurrency") || !model.has("fusion")) return fill(this.el, h("p", { class: "empty" }, "No schedule could be made; the notes in the summary say why."));
    const [data, cut] = await Promise.all([model.concurrency(), model.fusion()]);
    this.data = data;
    this.cut = cut;
    this.from = 0;
    this.to = this.end();
    const d = this.data, card = (label: string, value: Node, sub: string): HTMLElement => h("div", { class: "card" }, h("span", { class: "label" }, label), h("span", { class: "big" }, value), h("span", { class: "sub" }, sub));
    const unit = d.weight_unit === "s" ? "seconds" : "count";
    fill(this.cards,
      card("One after the other", datum(d.work, unit, "work"), d.hardware ? `on ${d.hardware.name}` : "in FLOPs"),
      card("Critical path", datum(d.span, unit, "span"), `${exact(d.critical_path_length)} of ${plural(d.total_subgraphs, "subgraph")}`),
      card("Schedule", datum(d.schedule?.makespan ?? NaN, unit, "makespan"), `${d.schedule?.streams ?? 1} streams, ${percent(d.schedule?.utilisation ?? 0)} busy`),
      card("Most at once", datum(d.max_parallel_ops_per_stage, "count", "max_parallel_ops_per_stage"), `${d.num_stages} stages; at best ${number(d.work_span_speedup)} times as fast`));
    this.chart.el.style.height = Math.min(520, 90 + 46 * (d.schedule?.streams ?? 1)) + "px";
    fill(this.el, this.cards, this.chart.el, h("p", { class: "keys" }, Object.entries(BOTTLENECK).map(([k, color]) => {
      const dot = h("i", { class: "dot" });
      dot.style.background = color;
      return h("span", { class: "key" }, dot, words(k));
    })), model.folded ? h("p", { class: "folded" }, `Folded: ${exact(d.subgraphs.length)} of ${plural(d.total_subgraphs, "subgraph")} are drawn, each the first of those like it, where it runs. The figures above are those of all.`) : null, h("p", { class: "hint" }, "Outlined bars are on the critical path. Wheel zooms, drag moves, click selects."));
    this.chart.draw();
  }

  changed(): void { this.chart.draw(); }

  private text(x: number): string { return this.data.weight_unit === "s" ? seconds(x) : count(x) + " FLOPs"; }
  private end(): number { return this.data.schedule?.makespan || this.data.work || 1; }
  private time(x: number): number { return this.from + ((x - 64) / Math.max(1, this.chart.width - 80)) * (this.to - this.from); }
  private lane(y: number): number { return Math.floor((y - 12) / 46); }

  private at(e: { offsetX: number; offsetY: number }): Concurrency["subgraphs"][number] | undefined {
    const t = this.time(e.offsetX), lane = this.lane(e.offsetY), slop = ((this.to - this.from) / Math.max(1, this.chart.width)) * 2;
    return this.data?.subgraphs.find((s) => s.stream === lane && t >= s.start - slop && t <= s.finish + slop);
  }

  private paint(g: CanvasRenderingContext2D): void {
    if (!this.data) return;
    const w = this.chart.width, B = this.chart.height - 30, X = (t: number): number => 64 + ((t - this.from) / (this.to - this.from)) * (w - 80);
    for (const t of ticks(this.from, this.to, Math.max(3, w / 110))) gridUp(g, X(t), 6, B, tick(t, this.data.weight_unit === "s" ? "seconds" : "count"));
    const streams = this.data.schedule?.streams ?? 1;
    for (let k = 0; k < streams; k++) {
      g.fillStyle = css("quiet");
      g.textAlign = "right";
      g.textBaseline = "middle";
      g.fillText(`stream ${k}`, 56, 12 + 46 * k + 20);
    }
    const chosen = new Set(state.selection);
    g.save();
    g.beginPath();
    g.rect(64, 0, w - 80, B);
    g.clip();
    for (const s of this.data.subgraphs) {
      const x0 = X(s.start), x1 = X(s.finish);
      if (x1 < 64 || x0 > w) continue;
      const sub = this.cut.subgraphs[s.id]!, lit = chosen.size ? this.model.nodesOf(sub).some((n) => chosen.has(n)) : true;
      g.globalAlpha = lit ? 1 : 0.25;
      g.fillStyle = BOTTLENECK[sub.recommended_bottleneck] ?? "#999";
      const y = 12 + 46 * s.stream, wide = Math.max(1, x1 - x0 - 1);
      g.fillRect(x0, y, wide, 38);
      if (s.critical && wide > 3) {
        g.strokeStyle = css("ink");
        g.lineWidth = 1.4;
        g.strokeRect(x0 + 0.7, y + 0.7, wide - 1.4, 36.6);
      }
      if (wide > 46) {
        g.save();
        g.beginPath();
        g.rect(x0 + 3, y, wide - 6, 38);
        g.clip();
        g.fillStyle = "#10202c";
        g.textAlign = "left";
        g.textBaseline = "middle";
        g.fillText(s.name, x0 + 6, y + 13);
        g.globalAlpha *= 0.75;
        g.fillText(this.text(s.weight), x0 + 6, y + 27);
        g.restore();
      }
    }
    g.restore();
    g.globalAlpha = 1;
  }
}
