// compare.ts - two models side by side: totals, operators, modules, layers.
import { DIFFERENCE } from "./color";
import { BOTH, has, load, type Both, type Change, type Compare, type Model, type Pair, type Total } from "./data";
import { fill, h } from "./dom";
import { datum, exact, percent, show, type Unit } from "./format";
import { select, state, update } from "./state";
import type { View } from "./view";

const ROWS: [string, string, Unit][] = [
  ["operators", "Operators", "count"], ["total_params", "Parameters", "count"], ["total_macs", "MACs", "count"], ["total_flops", "FLOPs", "count"],
  ["total_memory", "Bytes moved", "bytes"], ["weight_bytes", "Weights", "bytes"], ["peak_bytes", "Peak of live tensors", "bytes"], ["arithmetic_intensity", "FLOPs per byte", "number"],
];
const MOST = 300;

export class CompareView implements View {
  readonly el = h("section", { class: "scroll", "aria-label": "Compare" });

  async show(model: Model): Promise<void> {
    const c = await load<Compare>("compare"), [a, b] = c.models as [Total, Total];
    const num = (v: number | null | undefined, unit: Unit): Node | string => (v === null || v === undefined ? "–" : datum(v, unit));
    const pair = (rows: Pair[], key: "type" | "module"): HTMLElement => {
      // Of a module that is new or gone as a whole, the modules inside say nothing more.
      const whole = new Set(key === "module" ? rows.filter((r) => !r.count[0] || !r.count[1]).map((r) => r.module) : []);
      const inside = (path: string): boolean => path.split(".").some((_, i, parts) => i > 0 && whole.has(parts.slice(0, i).join(".")));
      const differ = rows.filter((r) => r.flops[0] !== r.flops[1] || r.count[0] !== r.count[1]), moved = differ.filter((r) => !inside(r.module ?? ""));
      return h("div", {}, this.table([key === "type" ? "Operator" : "Module", a.model, b.model, `FLOPs, ${a.model}`, `FLOPs, ${b.model}`, "Difference"], moved.slice(0, MOST).map((r) => ({
        go: () => select(model.layers.filter((l) => key === "type" ? l.type === r.type : l.module === r.module || l.module.startsWith(r.module + ".")).map((l) => l.id)),
        cells: [String(r[key] ?? ""), exact(r.count[0] ?? 0), exact(r.count[1] ?? 0), num(r.flops[0], "count"), num(r.flops[1], "count"), this.delta((r.flops[1] ?? 0) - (r.flops[0] ?? 0), "count")] }))),
        h("p", { class: "hint" }, `${rows.length - differ.length} ${key === "type" ? "types" : "modules"} are the same${differ.length > moved.length ? `; ${differ.length - moved.length} are inside modules that one of the two does not have` : ""}${moved.length > MOST ? `; the first ${MOST} of ${moved.length} are shown` : ""}.`));
    };
    const both = has("both") ? await load<Both>("both") : null, cost = (l: Change, key: "params" | "flops" | "memory"): number => (l.after?.[key] ?? 0) - (l.before?.[key] ?? 0);
    const draw = (ids: number[]): void => update({ model: BOTH, view: "graph", color: "difference", selection: ids, ...(state.model === BOTH ? {} : { open: null }) });
    const show = (l: Change): void => {
      if (both) draw([l.after ? both.after.indexOf(l.after.id) : both.before.indexOf(l.before!.id)]);
    };
    const kind = (l: Change): HTMLElement => {
      const dot = h("i", { class: "dot" });
      dot.style.background = DIFFERENCE[l.change]!;
      return h("span", {}, dot, [l.change, ...l.what].join(" "));
    };
    fill(this.el, h("header", { class: "title" }, h("h1", {}, `${a.model} and ${b.model}`), h("p", {}, (["same", "changed", "added", "removed"] as const).map((k) => `${exact(c[k])} ${k}`).join(" · ")),
      both ? h("p", {}, h("button", { type: "button", class: "draw", onclick: () => draw([]) }, "Draw both as one graph")) : null,
      c.aligned ? null : h("p", { class: "hint" }, "Few layers are in the same place in both: what is paired is a guess.")),
      this.table(["", a.model, b.model, "Difference", "Times"], ROWS.map(([key, title, unit]) => {
        const x = Number(a[key]), y = Number(b[key]);
        return { go: () => undefined, cells: [title, datum(x, unit, "0." + key), datum(y, unit, "1." + key), this.delta(y - x, unit), x ? `× ${(y / x).toPrecision(3)}` : "–"] };
      })),
      h("h3", {}, "Operators"), pair(c.types, "type"), h("h3", {}, "Modules"), pair(c.modules, "module"),
      c.changes.length ? h("h3", {}, "Layers") : null,
      c.changes.length ? this.table(["Layer", "What", "Parameters", "FLOPs", "Bytes moved"], c.changes.slice(0, MOST).map((l) => ({
        go: () => show(l),
        cells: [l.name, kind(l), this.delta(cost(l, "params"), "count"), this.delta(cost(l, "flops"), "count"), this.delta(cost(l, "memory"), "bytes")] }))) : null,
      c.changes.length > MOST ? h("p", { class: "hint" }, `the first ${MOST} of ${exact(c.changes.length)}`) : null,
      h("p", { class: "hint" }, "The list at the top of the page switches the other views to either model."));
  }

  changed(): void { /* nothing here follows the selection */ }

  private delta(x: number, unit: Unit): Node {
    return h("span", { class: x > 0 ? "more" : x < 0 ? "less" : "same" }, x === 0 ? "=" : (x > 0 ? "+" : "") + (unit === "percent" ? percent(x) : show(x, unit)));
  }

  private table(head: string[], rows: { go: () => void; cells: (Node | string)[] }[]): HTMLElement {
    return h("div", { class: "overflow panel-block" }, h("table", {}, h("thead", {}, h("tr", {}, head.map((t, i) => h("th", { class: i ? "number" : null, scope: "col" }, t)))),
      h("tbody", {}, rows.map((r) => h("tr", { onclick: r.go }, r.cells.map((c, i) => h("td", { class: i ? "number" : null }, c)))))));
  }
}
