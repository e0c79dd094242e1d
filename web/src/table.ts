// table.ts - every operator in rows of which only those in sight exist. Sort,
// filter by the search, group by module or type, choose columns, copy as CSV.
import { BOTTLENECK, TRUST, words } from "./color";
import type { Layer, Model } from "./data";
import { fill, h } from "./dom";
import { datum, exact, plural, shape, type Unit } from "./format";
import { find } from "./search";
import { select, state, update } from "./state";
import type { View } from "./view";

const ROW = 30;
const MOST_PRINTED = 3000; // rows on paper

interface Column { key: string; title: string; unit?: Unit; wide: number; text?: (l: Layer) => string; number?: (l: Layer) => number; sums?: boolean }
const COLUMNS: Column[] = [
  { key: "id", title: "#", wide: 56, number: (l) => l.id },
  { key: "name", title: "Name", wide: 260, text: (l) => l.name },
  { key: "folded", title: "Operators", unit: "count", wide: 90, number: (l) => l.folded ?? 1, sums: true },
  { key: "times", title: "Runs", wide: 76, number: (l) => l.times ?? 1 },
  { key: "type", title: "Operator", wide: 140, text: (l) => l.type },
  { key: "module", title: "Module", wide: 180, text: (l) => l.module },
  { key: "output_shape", title: "Output", wide: 140, text: (l) => shape(l.output_shape) },
  { key: "flops", title: "FLOPs", unit: "count", wide: 110, number: (l) => l.flops, sums: true },
  { key: "macs", title: "MACs", unit: "count", wide: 100, number: (l) => l.macs, sums: true },
  { key: "params", title: "Parameters", unit: "count", wide: 110, number: (l) => l.params, sums: true },
  { key: "memory", title: "Bytes moved", unit: "bytes", wide: 118, number: (l) => l.memory, sums: true },
  { key: "bytes_in", title: "Read", unit: "bytes", wide: 100, number: (l) => l.bytes_in, sums: true },
  { key: "bytes_weights", title: "Weights", unit: "bytes", wide: 100, number: (l) => l.bytes_weights, sums: true },
  { key: "bytes_out", title: "Written", unit: "bytes", wide: 100, number: (l) => l.bytes_out, sums: true },
  { key: "arithmetic_intensity", title: "FLOP/byte", unit: "number", wide: 100, number: (l) => l.arithmetic_intensity },
  { key: "bottleneck", title: "Bottleneck", wide: 150, text: (l) => l.bottleneck },
  { key: "trust", title: "Trust", wide: 110, text: (l) => l.trust },
  { key: "compute_dtype", title: "Type", wide: 90, text: (l) => l.compute_dtype },
  { key: "origin", title: "Origin", wide: 150, text: (l) => l.origin },
  { key: "source", title: "Source line", wide: 180, text: (l) => l.source ?? "" },
];
const HIDDEN = new Set(["bytes_in", "bytes_weights", "bytes_out", "origin", "source", "compute_dtype", "macs"]);

interface Row { layer: Layer | null; title: string; nodes: number[] }

export class TableView implements View {
  readonly el: HTMLElement;
  private readonly bar = h("div", { class: "tools", role: "toolbar", "aria-label": "Table" });
  private readonly head = h("div", { class: "thead", role: "row" });
  private readonly body = h("div", { class: "tbody", role: "rowgroup" });
  private readonly scroller = h("div", { class: "scroller", tabindex: 0, role: "table", "aria-label": "Operators" }, this.head, this.body);
  private readonly foot = h("p", { class: "folded" });
  private readonly hidden = new Set(HIDDEN);
  private model!: Model;
  private rows: Row[] = [];
  private selected = new Set<number>();
  private most: Record<string, number> = {};
  private printing = false; // all rows, not those in sight

  constructor() {
    this.el = h("section", { class: "table", "aria-label": "Table" }, this.bar, this.scroller, this.foot);
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    const print = (on: boolean) => (): void => { this.printing = on; this.draw(); };
    addEventListener("beforeprint", print(true));
    addEventListener("afterprint", print(false));
    this.scroller.addEventListener("keydown", (e) => this.press(e));
  }

  async show(model: Model): Promise<void> {
    this.model = model;
    for (const c of COLUMNS) if (c.sums) this.most[c.key] = model.layers.reduce((m, l) => Math.max(m, c.number!(l)), 1);
    if (!model.layers.some((l) => l.source)) this.hidden.add("source");
    this.build();
  }

  changed(keys: Set<string>): void {
    if (keys.has("query") || keys.has("sort") || keys.has("group")) this.build();
    else if (keys.has("selection")) this.draw();
  }

  private columns(): Column[] {
    return COLUMNS.filter((c) => !this.hidden.has(c.key) && (c.key !== "folded" || this.model.folded) && (c.key !== "times" || this.model.loops) && !(state.group && ["id", "times", "type", "module", "output_shape", "bottleneck", "trust", "compute_dtype", "origin", "source"].includes(c.key)));
  }

  private build(): void {
    const layers = (state.query ? find(this.model, state.query) : this.model.layers.map((l) => l.id)).map((i) => this.model.layers[i]!);
    this.rows = state.group ? this.grouped(layers) : layers.map((l) => ({ layer: l, title: l.name, nodes: [l.id] }));
    this.sort();
    this.toolbar(layers.length);
    this.header();
    this.draw();
  }

  private grouped(layers: Layer[]): Row[] {
    const groups = new Map<string, number[]>();
    for (const l of layers) {
      const key = state.group === "type" ? l.type : state.group === "bottleneck" ? l.bottleneck : l.module.split(".").slice(0, Number(state.group.slice(6)) || 1).join(".") || "(root)";
      const list = groups.get(key);
      if (list) list.push(l.id);
      else groups.set(key, [l.id]);
    }
    return [...groups].map(([title, nodes]) => ({ layer: null, title, nodes }));
  }

  private value(row: Row, c: Column): number | string {
    if (c.key === "name" || (c.text && !row.layer)) return row.title;
    if (c.text) return c.text(row.layer!);
    if (row.layer) return c.number!(row.layer);
    let sum = 0;
    for (const n of row.nodes) sum += c.number!(this.model.layers[n]!);
    if (c.key !== "arithmetic_intensity") return sum;
    let flops = 0, bytes = 0;
    for (const n of row.nodes) flops += this.model.layers[n]!.flops, bytes += this.model.layers[n]!.memory;
    return bytes ? flops / bytes : 0;
  }

  private sort(): void {
    const key = state.sort.replace(/^-/, ""), c = COLUMNS.find((k) => k.key === key), sign = state.sort.startsWith("-") ? -1 : 1;
    if (!c) return;
    const keyed = this.rows.map((r) => ({ r, v: this.value(r, c) }));
    keyed.sort((a, b) => sign * (typeof a.v === "number" && typeof b.v === "number" ? a.v - b.v : String(a.v) < String(b.v) ? -1 : a.v === b.v ? 0 : 1));
    this.rows = keyed.map((k) => k.r);
  }

  private toolbar(n: number): void {
    const group = h("select", { "aria-label": "Group by", onchange: () => update({ group: group.value }) },
      ...[["", "no groups"], ["module1", "module"], ["module2", "module, 2 deep"], ["module3", "module, 3 deep"], ["type", "operator"], ["bottleneck", "bottleneck"]].map(([k, t]) => h("option", { value: k!, selected: state.group === k }, t!)));
    const menu = h("details", { class: "menu" }, h("summary", {}, "Columns"), h("div", {}, ...COLUMNS.filter((c) => c.key !== "name" && c.key !== "folded" && (c.key !== "times" || this.model.loops)).map((c) => {
      const box = h("input", { type: "checkbox", checked: !this.hidden.has(c.key), onchange: () => {
        box.checked ? this.hidden.delete(c.key) : this.hidden.add(c.key);
        this.header();
        this.draw();
      } });
      return h("label", {}, box, c.title);
    })));
    fill(this.bar, h("label", {}, "Group ", group), menu,
      h("span", { class: "group" }, h("button", { type: "button", onclick: () => select(this.rows.flatMap((r) => r.nodes)) }, "Select all"),
        h("button", { type: "button", onclick: (e: Event) => void this.copy(e.target as HTMLElement) }, "Copy CSV")),
      h("span", { class: "status", role: "status" }, `${this.model.folded ? `${plural(n, "row")} of ${plural(this.model.profile.operators, "operator")}, folded; figures are sums` : plural(n, "operator")}${state.group ? ` in ${plural(this.rows.length, "group")}` : ""}`));
  }

  private header(): void {
    const cols = this.columns();
    fill(this.head, cols.map((c) => {
      const on = state.sort.replace(/^-/, "") === c.key, down = state.sort.startsWith("-");
      const cell = h("button", { type: "button", role: "columnheader", class: "cell" + (c.number ? " number" : ""), "aria-sort": on ? (down ? "descending" : "ascending") : "none",
        onclick: () => update({ sort: on && (c.number ? !down : down) ? "" : on ? (down ? c.key : "-" + c.key) : c.number ? "-" + c.key : c.key }) }, c.title, on ? (down ? " ↓" : " ↑") : "");
      cell.style.width = c.wide + "px";
      return cell;
    }));
    const wide = cols.reduce((s, c) => s + c.wide, 0);
    this.head.style.width = this.body.style.width = `max(100%, ${wide}px)`;
  }

  private draw(): void {
    if (!this.model) return;
    this.selected = new Set(state.selection);
    const top = Math.max(0, this.scroller.scrollTop - ROW), from = this.printing ? 0 : Math.max(0, Math.floor(top / ROW) - 4), n = this.printing ? MOST_PRINTED : Math.ceil(this.scroller.clientHeight / ROW) + 10;
    const cut = this.printing && this.rows.length > n;
    this.body.style.height = (cut ? n : this.rows.length) * ROW + "px";
    fill(this.foot, cut ? `the first ${exact(n)} of ${plural(this.rows.length, "row")}; all of them: Copy CSV, or cleave profile --output x.csv` : "");
    const cols = this.columns();
    fill(this.body, this.rows.slice(from, from + n).map((row, i) => this.row(row, from + i, cols)));
  }

  private row(row: Row, i: number, cols: Column[]): HTMLElement {
    const on = row.nodes.every((k) => this.selected.has(k));
    const el = h("div", { class: "row" + (on ? " on" : "") + (i % 2 ? " odd" : ""), role: "row", "aria-selected": on ? "true" : "false", "aria-rowindex": i + 1,
      onclick: (e: MouseEvent) => select(row.nodes, e.shiftKey || e.ctrlKey || e.metaKey) }, cols.map((c) => this.cell(row, c)));
    el.style.transform = `translateY(${i * ROW}px)`;
    return el;
  }

  private cell(row: Row, c: Column): HTMLElement {
    const v = this.value(row, c);
    let content: Node | string;
    if (typeof v === "number") content = c.unit ? datum(v, c.unit, c.key) : exact(v);
    else if (c.key === "bottleneck" || c.key === "trust") {
      const dot = h("i", { class: "dot" });
      dot.style.background = (c.key === "trust" ? TRUST : BOTTLENECK)[v] ?? "gray";
      content = h("span", {}, dot, words(v));
    } else content = row.layer || c.key !== "name" ? v : h("span", {}, v, h("small", {}, ` ${row.nodes.length}`));
    const el = h("span", { class: "cell" + (c.number ? " number" : ""), role: "cell", title: typeof v === "string" ? v : null }, content);
    el.style.width = c.wide + "px";
    if (c.sums && typeof v === "number" && v > 0) {
      const most = row.layer ? this.most[c.key]! : Math.max(1, this.rows.reduce((m, r) => Math.max(m, r === row ? v : 0), 0), this.most[c.key]!);
      const bar = h("i", { class: "bar" });
      bar.style.width = Math.min(100, (100 * v) / most) + "%";
      el.prepend(bar);
    }
    return el;
  }

  private press(e: KeyboardEvent): void {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const at = this.rows.findIndex((r) => r.nodes.every((n) => this.selected.has(n))), to = Math.max(0, Math.min(this.rows.length - 1, at + (e.key === "ArrowDown" ? 1 : -1)));
    e.preventDefault();
    if (!this.rows[to]) return;
    select(this.rows[to]!.nodes);
    const y = to * ROW;
    if (y < this.scroller.scrollTop) this.scroller.scrollTop = y;
    if (y + 2 * ROW > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = y + 3 * ROW - this.scroller.clientHeight;
  }

  csv(): string {
    const cols = this.columns();
    // A cell that a spreadsheet would take for a formula is quoted as text.
    const safe = (v: string): string => (/^[=+\-@\t\r]/.test(v) ? "'" + v : v);
    const quote = (v: number | string): string => (typeof v === "number" ? String(v) : /[",\n\r']/.test(safe(v)) ? `"${safe(v).replace(/"/g, '""')}"` : safe(v));
    return [cols.map((c) => c.key), ...this.rows.map((r) => cols.map((c) => this.value(r, c)))].map((r) => r.map(quote).join(",")).join("\n") + "\n";
  }

  private async copy(button: HTMLElement): Promise<void> {
    const text = this.csv();
    try {
      await navigator.clipboard.writeText(text);
    } catch { // no clipboard on this kind of address: the old way
      const area = h("textarea", { class: "offscreen" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy CSV"; }, 1200);
  }
}
