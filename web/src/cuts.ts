// cuts.ts - the model cut into subgraphs: fused, and by what a device supports.
import { category, onHost, words } from "./color";
import type { Model, Partition, Placed, Subgraph } from "./data";
import { fill, h } from "./dom";
import { bytes, count, datum, exact, plural, type Unit } from "./format";
import { select, state, update } from "./state";
import type { View } from "./view";

const PAGE = 200; // rows shown at once

export class CutsView implements View {
  readonly el = h("section", { class: "scroll", "aria-label": "Cuts" });
  private model!: Model;
  private readonly lists: { cut: Partition; body: HTMLElement }[] = [];

  async show(model: Model): Promise<void> {
    this.model = model;
    this.lists.length = 0;
    const parts: (HTMLElement | null)[] = [];
    if (model.has("fusion")) parts.push(this.fusion(await model.fusion()));
    if (model.has("capability")) parts.push(this.capability(await model.capability()));
    if (model.has("placement")) parts.push(this.placement(await model.placement()));
    if (model.has("pipeline")) parts.push(this.pipeline(await model.pipeline()));
    fill(this.el, parts.length ? parts : h("p", { class: "empty" }, "No cut could be made; the notes in the summary say why."));
    this.mark();
  }

  changed(keys: Set<string>): void { if (keys.has("selection")) this.mark(); }

  private mark(): void {
    const chosen = new Set(state.selection);
    for (const { cut, body } of this.lists)
      for (const row of body.querySelectorAll<HTMLElement>("[data-subgraph]")) {
        const s = cut.subgraphs[Number(row.dataset["subgraph"])]!;
        row.classList.toggle("on", chosen.size > 0 && this.model.nodesOf(s).some((n) => chosen.has(n)));
      }
  }

  private card(label: string, value: Node, sub: string): HTMLElement {
    return h("div", { class: "card" }, h("span", { class: "label" }, label), h("span", { class: "big" }, value), h("span", { class: "sub" }, sub));
  }

  private fusion(cut: Partition): HTMLElement {
    return h("div", {}, h("h2", {}, "Fusion"), h("div", { class: "cards" },
      this.card("Subgraphs", datum(cut.total_subgraphs, "count", "total_subgraphs"), `of ${plural(cut.operators, "operator")}, at most ${cut.max_fusion_size} in one`),
      this.card("Bytes moved", datum(cut.total_memory, "bytes", "total_memory"), `${bytes(cut.unfused_memory)} one by one`),
      this.card("Saved", datum(cut.data_movement_reduction, "percent", "data_movement_reduction"), `${bytes(cut.internal_bytes)} stay inside`)),
      h("div", { class: "panel-block" }, h("h3", {}, "Patterns"), this.table(["Pattern", "Subgraphs", "Operators", "FLOPs", "Moved", "Saved"],
        cut.patterns.slice(0, PAGE).map((p) => ({ go: () => select(cut.subgraphs.filter((s) => s.pattern === p.pattern).flatMap((s) => this.model.nodesOf(s))),
          cells: [p.pattern || "(mixed)", exact(p.count), exact(p.operators), datum(p.flops, "count"), datum(p.external_bytes, "bytes"), datum(p.saved_bytes, "bytes")] })))),
      this.subgraphs(cut), this.onGraph("subgraph"));
  }

  private subgraphs(cut: Partition): HTMLElement {
    const body = h("div", { class: "panel-block" }, h("h3", {}, "Subgraphs ", h("small", {}, this.model.folded ? `in execution order; folded: ${exact(cut.subgraphs.length)} of ${exact(cut.total_subgraphs)}, each the first of those like it, with the figures of one` : "in execution order")));
    const table = this.table(["#", "Pattern", "Operators", "FLOPs", "Read", "Weights", "Written", "Why it ends"],
      cut.subgraphs.slice(0, PAGE).map((s) => ({ id: s.id, go: () => select(this.model.nodesOf(s)), cells: this.cells(s, cut) })));
    body.append(table);
    if (cut.subgraphs.length > PAGE) body.append(h("p", { class: "hint" }, `the first ${PAGE} of ${plural(cut.subgraphs.length, "subgraph")}; all of them: cleave partition --json`));
    this.lists.push({ cut, body });
    return body;
  }

  private cells(s: Subgraph, cut: Partition): (Node | string)[] {
    const dot = h("i", { class: "dot" });
    dot.style.background = onHost(s, cut) ? "#e8a33d" : s.device ? "#4fb286" : category(s.id);
    const n = s.operators ?? s.node_names.length;
    return [String(s.id), h("span", {}, dot, s.device ? `${s.device}: ` : "", s.pattern || plural(n, "operator"), s.folded ? ` × ${exact(s.folded)}` : ""), exact(n), datum(s.flops, "count"), datum(s.total_input_bytes, "bytes"), datum(s.total_weight_bytes, "bytes"), datum(s.total_output_bytes, "bytes"),
      words(s.partition_reason) + (s.detail ? `: ${s.detail}` : "")];
  }

  private capability(cut: Partition): HTMLElement {
    const s = cut.support;
    return h("div", {}, h("h2", {}, `What ${s?.device ?? "the device"} supports`), h("div", { class: "cards" },
      s ? this.card("Supported", datum(s.percentage / 100, "percent", "percentage"), `${s.supported} of ${plural(s.total, "arithmetic operator")}`) : null,
      this.card("Subgraphs", datum(cut.total_subgraphs, "count", "capability.total_subgraphs"), cut.minimum_subgraphs ? `no cut has fewer than ${cut.minimum_subgraphs}` : ""),
      this.card("Crossing", datum(cut.crossing_bytes ?? 0, "bytes", "crossing_bytes"), "between the devices")),
      s?.unsupported.length ? h("div", { class: "panel-block" }, h("h3", {}, "Not supported"), this.table(["Operator", "How often", "Why"], s.unsupported.slice(0, PAGE).map((u) => ({
        go: () => select(this.model.layers.filter((l) => l.type === u.op && (!u.origin || l.origin === u.origin)).map((l) => l.id)), cells: [u.origin || u.op, exact(u.count), u.reason ?? ""] })))) : null,
      cut.what_if?.length ? h("div", { class: "panel-block" }, h("h3", {}, "If one more kind were supported"), this.table(["Operator", "Subgraphs", "Fewer", "Crossing", "Less"], cut.what_if.map((w) => ({
        go: () => select(this.model.layers.filter((l) => l.type === w.op || l.origin === w.op).map((l) => l.id)), cells: [w.op, exact(w.subgraphs), exact(w.fewer_subgraphs), datum(w.crossing_bytes, "bytes"), datum(w.fewer_bytes, "bytes")] })))) : null,
      this.proof(cut), this.subgraphs(cut), this.onGraph("device"));
  }

  private onGraph(color: string): HTMLElement {
    return h("p", {}, h("button", { type: "button", onclick: () => update({ view: "graph", color }) }, "Show on the graph"));
  }

  // Two devices: everything on one, on the other, and the least time there is.
  private placement(cut: Partition): HTMLElement {
    const p = cut.placement!, rows: [string, Placed][] = [[`all on ${p.host}`, p.all_host], [`all on ${p.accelerator}`, p.all_supported], ["the fastest", p.optimum]];
    return h("div", {}, h("h2", {}, `Placed on ${p.accelerator} and ${p.host}`), h("div", { class: "cards" },
      this.card("Time", datum(p.optimum.seconds, "seconds", "optimum.seconds"), "no placement takes less"),
      this.card("Subgraphs", datum(p.optimum.subgraphs, "count", "placement.total_subgraphs"), `${plural(p.optimum.accelerator_nodes, "operator")} of ${exact(cut.operators)} on ${p.accelerator}`),
      this.card("Crossing", datum(p.optimum.moved_bytes, "bytes", "moved_bytes"), "between the devices")),
      h("div", { class: "panel-block" }, this.table(["", "Time", p.host, p.accelerator, "Transfer", "Crossing", "Subgraphs"], rows.map(([title, r]) => ({ go: () => undefined,
        cells: [title, datum(r.seconds, "seconds"), datum(r.host_seconds, "seconds"), datum(r.accelerator_seconds, "seconds"), datum(r.transfer_seconds, "seconds"), datum(r.moved_bytes, "bytes"), exact(r.subgraphs)] })))),
      this.subgraphs(cut), this.onGraph("placement"));
  }

  // Stages one after the other: the slowest says how many batches there are in a second.
  private pipeline(cut: Partition): HTMLElement {
    const p = cut.pipeline!, unit: Unit = p.unit === "s" ? "seconds" : "count";
    return h("div", {}, h("h2", {}, `Pipeline of ${plural(cut.total_subgraphs, "stage")}`), h("div", { class: "cards" },
      this.card("Slowest stage", datum(p.bottleneck, unit, "bottleneck"), p.unit === "s" ? "sets the pace" : "in FLOPs; sets the pace"),
      this.card("No cut is below", datum(p.lower_bound, unit, "lower_bound"), "an equal share, or the heaviest operator"),
      this.card("From that bound", datum(p.gap, "percent", "gap"), `operators in the order ${p.order}`)),
      h("div", { class: "panel-block" }, this.table(["Stage", "Compute", "Transfer", "Memory", "Operators", "First", "Last"], p.stages.map((t, i) => {
        const s = cut.subgraphs[i]!;
        return { id: i, go: () => select(this.model.nodesOf(s)), cells: [String(i), datum(t.cost, unit), datum(t.transfer, unit), datum(t.memory, "bytes"), exact(s.node_names.length), s.node_names[0] ?? "", s.node_names[s.node_names.length - 1] ?? ""] };
      }))), this.onGraph("stage"));
  }

  // The path that proves the minimum: each node runs on the other device than the one before.
  private proof(cut: Partition): HTMLElement | null {
    const paths = [cut.certificate ?? [], cut.certificate_2 ?? []].filter((p) => p.length > 1);
    if (!paths.length) return null;
    return h("div", { class: "panel-block" }, h("h3", {}, "Why not fewer"), h("p", { class: "hint" }, "Each of these depends on the one before and runs on the other device:"),
      ...paths.map((path) => h("p", { class: "path" }, path.slice(0, 60).flatMap((name, i) => [i ? " → " : "", h("button", { type: "button", class: "link", onclick: () => select([this.model.byName.get(name) ?? 0]) }, name)]), path.length > 60 ? ` … ${count(cut.certificate_length ?? path.length)} in all` : "")));
  }

  private table(head: string[], rows: { id?: number; go: () => void; cells: (Node | string)[] }[]): HTMLElement {
    const numeric = (c: Node | string | undefined): string | null => (c instanceof HTMLDataElement || (typeof c === "string" && /^[\d\u202f]+$/.test(c)) ? "number" : null);
    return h("div", { class: "overflow" }, h("table", {}, h("thead", {}, h("tr", {}, head.map((t, i) => h("th", { class: numeric(rows[0]?.cells[i]), scope: "col" }, t)))),
      h("tbody", {}, rows.map((r) => h("tr", { tabindex: 0, "data-subgraph": r.id ?? null, onclick: r.go, onkeydown: (e: KeyboardEvent) => { if (e.key === "Enter") r.go(); } },
        r.cells.map((c) => h("td", { class: numeric(c) }, c)))))));
  }
}

