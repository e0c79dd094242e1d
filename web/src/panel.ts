// panel.ts - what is selected: one operator in full, or several in sum.
import { ancestors } from "./boxes";
import { BOTTLENECK, category, TRUST, words } from "./color";
import type { GraphFile, GraphValue, Layer, Model } from "./data";
import { fill, h } from "./dom";
import { attribute, bytes, datum, exact, number, percent, plural, runs, seconds, shape, type Unit } from "./format";
import { select, state, update } from "./state";
import { neighbours } from "./walk";

const SUMS: [keyof Layer, string, Unit, keyof Model["profile"]][] = [
  ["flops", "FLOPs", "count", "total_flops"], ["macs", "MACs", "count", "total_macs"], ["params", "Parameters", "count", "total_params"], ["memory", "Bytes moved", "bytes", "total_memory"],
  ["bytes_in", "read", "bytes", "bytes_in"], ["bytes_weights", "weights", "bytes", "bytes_weights"], ["bytes_out", "written", "bytes", "bytes_out"],
];

const MOST_OF_ONE = 400; // letters of an attribute

export class Panel {
  readonly el = h("aside", { class: "panel", "aria-label": "Selection", "aria-live": "polite" });
  private round = 0;

  async show(model: Model): Promise<void> {
    const round = ++this.round, ids = state.selection.filter((i) => i < model.layers.length);
    document.body.classList.toggle("has-panel", ids.length > 0);
    if (!ids.length) return fill(this.el);
    const body = ids.length === 1 ? await this.one(model, model.layers[ids[0]!]!) : await this.many(model, ids);
    if (round === this.round) fill(this.el, h("button", { type: "button", class: "close", "aria-label": "Clear the selection", onclick: () => select([]) }, "×"), body);
  }

  private sums(model: Model, of: (key: keyof Layer) => number): HTMLElement {
    return h("table", { class: "facts" }, h("tbody", {}, SUMS.map(([key, title, unit, total]) => {
      const x = of(key), all = Number(model.profile[total]) || 0;
      return h("tr", { class: title === title.toLowerCase() ? "minor" : null }, h("th", { scope: "row" }, title), h("td", {}, datum(x, unit, String(key))), h("td", { class: "share" }, all ? percent(x / all) : ""));
    })));
  }

  private crumbs(model: Model, l: Layer): HTMLElement {
    const parts = l.module ? l.module.split(".") : [];
    return h("nav", { class: "crumbs", "aria-label": "Module" }, parts.slice(0, 16).flatMap((p, i) => {
      const path = parts.slice(0, i + 1).join(".");
      return [i ? " › " : "", h("button", { type: "button", class: "link", onclick: () => select(model.layers.filter((x) => x.module === path || x.module.startsWith(path + ".")).map((x) => x.id)) }, p)];
    }));
  }

  private async times(model: Model, ids: number[]): Promise<HTMLElement | null> {
    if (!model.has("map") || !model.has("fusion")) return null;
    const [roofs, of] = await Promise.all([model.roofs(), model.subgraphs()]), wanted = new Set(ids.map((i) => of[i]!));
    return h("div", {}, h("h4", {}, wanted.size === 1 && !model.folded ? "Time of its fused subgraph" : model.folded ? "Time of the fused subgraphs that begin here" : `Time of its ${wanted.size} fused subgraphs`), h("table", { class: "facts" }, h("tbody", {}, roofs.devices.map((d, i) => {
      let t = 0;
      const bounds = new Set<string>();
      for (const s of d.subgraphs) if (wanted.has(s.id)) t += Math.max(0, s.seconds) * (s.folded ?? 1), bounds.add(s.bound);
      const dot = h("i", { class: "dot" });
      dot.style.background = category(i);
      return h("tr", {}, h("th", { scope: "row" }, dot, d.device), h("td", { title: String(t) }, seconds(t)), h("td", { class: "share" }, percent(t / (d.seconds || 1)), bounds.size === 1 ? ` · ${[...bounds][0]}` : ""));
    }))));
  }

  private values(title: string, ids: (number | null)[], graph: GraphFile): HTMLElement | null {
    const list = ids.map((v) => (v === null ? null : graph.values[v])).filter((v): v is GraphValue => !!v);
    if (!list.length) return null;
    return h("div", {}, h("h4", {}, title), h("ul", { class: "values" }, list.slice(0, 24).map((v) => h("li", { class: v.kind === "parameter" || v.kind === "buffer" || v.kind === "constant" ? "weight" : null },
      h("span", {}, v.name || `value ${v.id}`), h("small", {}, `${shape(v.shape)} ${v.dtype}${v.kind === "activation" ? "" : " · " + v.kind}`))), list.length > 24 ? h("li", {}, `and ${list.length - 24} more`) : null));
  }

  private go(model: Model, title: string, ids: number[]): HTMLElement | null {
    return ids.length ? h("div", {}, h("h4", {}, title), h("p", { class: "chips" }, ids.slice(0, 16).map((i) => h("button", { type: "button", class: "chip", onclick: () => select([i]) }, model.layers[i]!.name)), ids.length > 16 ? ` and ${ids.length - 16} more` : "")) : null;
  }

  private async one(model: Model, l: Layer): Promise<HTMLElement> {
    const graph = await model.graph(), node = graph.nodes[l.id], attrs = Object.entries(node?.attributes ?? {});
    const tag = (text: string, color: string | undefined): HTMLElement => {
      const dot = h("i", { class: "dot" });
      dot.style.background = color ?? "gray";
      return h("span", { class: "tag" }, dot, words(text));
    };
    return h("div", {}, this.crumbs(model, l), h("h2", {}, l.name), l.folded ? h("p", { class: "folded" }, `and ${plural(l.folded - 1, "operator")} like it; figures are their sum`) : null, h("p", { class: "kind" }, h("b", {}, l.type), l.origin && l.origin !== l.type ? ` from ${l.origin}` : "", l.source ? h("small", {}, " " + l.source) : null),
      h("p", {}, tag(l.trust, TRUST[l.trust]), tag(l.bottleneck, BOTTLENECK[l.bottleneck]), h("span", { class: "tag" }, `${number(l.arithmetic_intensity)} FLOP/byte`)),
      h("p", { class: "kind" }, "→ ", h("b", {}, shape(l.output_shape)), ` ${l.compute_dtype}`, l.times === undefined ? "" : h("small", {}, " " + runs(l.times))), this.sums(model, (k) => Number(l[k])), await this.times(model, [l.id]),
      this.difference(model, l),
      attrs.length ? h("div", {}, h("h4", {}, "Attributes"), h("table", { class: "facts" }, h("tbody", {}, attrs.slice(0, 40).map(([k, v]) => h("tr", {}, h("th", { scope: "row" }, k), h("td", { colspan: 2 }, attribute(v, MOST_OF_ONE))))))) : null,
      this.values("Reads", node?.inputs ?? [], graph), this.values("Writes", node?.outputs ?? [], graph),
      this.go(model, "Before", neighbours(graph, l.id, true)), this.go(model, "After", neighbours(graph, l.id, false)), this.links(model, [l.id]));
  }

  // Two models in one: what the layer was and is, and what that costs.
  private difference(model: Model, l: Layer): HTMLElement | null {
    const c = model.changes[l.id];
    if (!c) return model.changes.length ? h("p", { class: "kind" }, "the same in both") : null;
    const rows: ["flops" | "macs" | "params" | "memory", string, Unit][] = [["flops", "FLOPs", "count"], ["macs", "MACs", "count"], ["params", "Parameters", "count"], ["memory", "Bytes moved", "bytes"]];
    return h("div", {}, h("h4", {}, [c.change, ...c.what].join(" · ")), c.before && c.after && c.before.name !== c.after.name ? h("p", { class: "kind" }, `was ${c.before.name}`) : null,
      h("table", { class: "facts" }, h("thead", {}, h("tr", {}, ["", "before", "after", "difference"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows.map(([key, title, unit]) => {
        const was = c.before?.[key] ?? 0, is = c.after?.[key] ?? 0;
        return h("tr", {}, h("th", { scope: "row" }, title), h("td", {}, datum(was, unit, "before." + key)), h("td", {}, datum(is, unit, "after." + key)), h("td", {}, datum(is - was, unit)));
      }))));
  }

  private links(model: Model, ids: number[]): HTMLElement {
    return h("p", { class: "group" }, h("button", { type: "button", onclick: () => {
      const open = new Set(state.open ?? []);
      for (const i of ids.slice(0, 500)) for (const b of ancestors(model.layout, i)) open.add(b);
      update({ view: "graph", open: [...open].sort((a, b) => a - b) });
    } }, "In the graph"), h("button", { type: "button", onclick: () => update({ view: "table" }) }, "In the table"));
  }

  private async many(model: Model, ids: number[]): Promise<HTMLElement> {
    const layers = ids.map((i) => model.layers[i]!), types = new Map<string, number[]>();
    for (const l of layers) {
      const list = types.get(l.type);
      if (list) list.push(l.id);
      else types.set(l.type, [l.id]);
    }
    const sum = (key: keyof Layer): number => layers.reduce((s, l) => s + Number(l[key]), 0), p = model.profile;
    return h("div", {}, h("h2", {}, plural(model.operators(ids), "operator")), model.folded ? h("p", { class: "folded" }, `in ${plural(ids.length, "row")}`) : null, h("p", { class: "kind" }, common(layers)), this.sums(model, sum), await this.times(model, ids),
      h("div", {}, h("h4", {}, "Without them"), h("table", { class: "facts" }, h("tbody", {},
        h("tr", {}, h("th", { scope: "row" }, "FLOPs"), h("td", {}, datum(p.total_flops - sum("flops"), "count"))), h("tr", {}, h("th", { scope: "row" }, "Parameters"), h("td", {}, datum(p.total_params - sum("params"), "count"))),
        h("tr", {}, h("th", { scope: "row" }, "Bytes moved"), h("td", {}, bytes(p.total_memory - sum("memory"))))))),
      h("h4", {}, "Operators"), h("p", { class: "chips" }, [...types].sort((a, b) => b[1].length - a[1].length).slice(0, 20).map(([t, list]) => h("button", { type: "button", class: "chip", onclick: () => select(list) }, `${t} × ${exact(model.operators(list))}`))), this.links(model, ids));
  }
}

// The module that holds them all.
function common(layers: Layer[]): string {
  let parts = layers[0]?.module.split(".") ?? [];
  for (const l of layers) {
    const own = l.module.split(".");
    let i = 0;
    while (i < parts.length && parts[i] === own[i]) i++;
    parts = parts.slice(0, i);
  }
  return parts.length ? "in " + parts.join(".") : "";
}
