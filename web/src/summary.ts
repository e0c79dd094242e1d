// summary.ts - the model on one page: totals, trust, where the work goes.
import { BOTTLENECK, category, ramp, inkOn, TRUST, words } from "./color";
import { load, type MapDevice, type Meta, type Model } from "./data";
import { fill, h } from "./dom";
import { bytes, count, datum, exact, number, percent, plural, shape, show, type Unit } from "./format";
import { select, state, update } from "./state";
import { tooltip } from "./tooltip";
import type { View } from "./view";

interface Slice { name: string; path: string; value: number; nodes: number[]; parts: Map<string, Slice> }

const METRICS: [string, string, Unit][] = [["flops", "FLOPs", "count"], ["memory", "bytes moved", "bytes"], ["params", "parameters", "count"]];

const NAMED = 26; // px from which on a slice has room for its name

export class SummaryView implements View {
  readonly el = h("section", { class: "scroll summary", "aria-label": "Summary" });
  private model!: Model;
  private metric = 0;
  private readonly flame = h("div", { class: "flame", role: "group", "aria-label": "Modules by their share" });

  async show(model: Model): Promise<void> {
    this.model = model;
    const p = model.profile, meta = await load<Meta>("meta");
    const memory = model.has("memory") ? await model.memory() : null, roofs = model.has("map") ? (await model.roofs()).devices : [];
    fill(this.el, this.head(meta), h("div", { class: "cards" },
      this.card("Parameters", datum(p.total_params, "count", "total_params"), `${bytes(p.weight_bytes)} of weights`),
      this.card("MACs", datum(p.total_macs, "count", "total_macs"), "multiply-adds"),
      this.card(p.convention === "full" ? "FLOPs" : `FLOPs (${p.convention})`, datum(p.total_flops, "count", "total_flops"), p.convention === "full" ? "a multiply-add is two" : `as ${p.convention} counts`),
      this.card("Bytes moved", datum(p.total_memory, "bytes", "total_memory"), "operator by operator"),
      this.card("Intensity", datum(p.arithmetic_intensity, "number", "arithmetic_intensity"), "FLOPs per byte"),
      memory ? this.card("Peak memory", datum(memory.peak_bytes, "bytes", "peak_bytes"), `of live tensors, at ${memory.peak_node}`) : null),
      this.coverage(), roofs.length ? this.times(roofs) : null,
      h("div", { class: "two" }, this.types(), this.bottlenecks()),
      h("h3", {}, "Where the work is ", this.metrics()), this.flame,
      this.top(), this.ports(), this.notes(meta));
    this.drawFlame();
  }

  changed(keys: Set<string>): void {
    if (keys.has("selection") || keys.has("theme")) this.drawFlame();
  }

  private head(meta: Meta): HTMLElement {
    const p = this.model.profile;
    return h("header", { class: "title" }, h("h1", {}, p.model),
      h("p", {}, `${plural(p.operators, "operator")} from ${p.source} · input ${p.inputs.map((i) => `${i.name} ${shape(i.shape)} ${i.dtype}`).join(", ") || "none"}`),
      h("code", {}, meta.command), this.folded());
  }

  private folded(): HTMLElement | null {
    const m = this.model;
    return m.folded ? h("p", { class: "folded" }, `Folded: ${plural(m.profile.operators, "operator")} in ${plural(m.layers.length, "row")}. What repeats (modules, and sequences of the same operators with the same shapes) is shown once; the figures of a row are the sum over its operators, and totals are those of the whole model.`) : null;
  }

  private card(label: string, value: Node, sub: string): HTMLElement {
    return h("div", { class: "card" }, h("span", { class: "label" }, label), h("span", { class: "big" }, value), h("span", { class: "sub" }, sub));
  }

  private bar(parts: { name: string; value: number; color: string; unit?: Unit; go: () => void }[], total: number, label: string): HTMLElement {
    return h("div", { class: "stack", role: "group", "aria-label": label }, parts.filter((p) => p.value > 0).map((p) => {
      const el = h("button", { type: "button", title: `${p.name}: ${show(p.value, p.unit ?? "count")}`, "aria-label": `${p.name}: ${show(p.value, p.unit ?? "count")}`, onclick: p.go });
      el.style.flexGrow = String(Math.max(p.value / total, 0.004));
      el.style.background = p.color;
      return el;
    }));
  }

  private coverage(): HTMLElement {
    const c = this.model.profile.coverage, kinds = ["exact", "estimated", "given", "free", "unknown"] as const;
    const total = kinds.reduce((s, k) => s + c[k], 0) || 1;
    return h("div", { class: "panel-block" }, h("h3", {}, "Trust"),
      this.bar(kinds.map((k) => ({ name: k, value: c[k], color: TRUST[k]!, go: () => select(this.model.layers.filter((l) => l.trust === k).map((l) => l.id)) })), total, "Trust"),
      h("p", { class: "keys" }, kinds.filter((k) => c[k]).map((k) => {
        const dot = h("i", { class: "dot" });
        dot.style.background = TRUST[k]!;
        return h("span", { class: "key" }, dot, k + " ", datum(c[k], "count", "coverage." + k));
      })),
      c.unknown ? h("p", { class: "warn" }, `${plural(c.unknown, "operator")} not known: counted as nothing. Totals are lower bounds.`) : h("p", { class: "hint" }, "Every operator is known; nothing is silently zero."));
  }

  private times(devices: MapDevice[]): HTMLElement {
    const most = Math.max(...devices.map((d) => d.seconds));
    return h("div", { class: "panel-block" }, h("h3", {}, "Estimated time ", h("small", {}, "roofline of the fused model")),
      h("div", { class: "list" }, devices.map((d, i) => {
        const bar = h("i", { class: "fillbar" });
        bar.style.width = Math.max(0.5, (100 * d.seconds) / most) + "%";
        bar.style.background = category(i);
        return h("button", { type: "button", class: "line", onclick: () => update({ view: "roofline", device: i }) }, bar, h("span", {}, d.device),
          h("span", { class: "end" }, datum(d.seconds, "seconds", "seconds"), h("small", {}, ` ${number(d.throughput)}/s · ${percent(d.peak_share)} of peak`)));
      })));
  }

  private types(): HTMLElement {
    const p = this.model.profile, rows = Object.entries(p.op_types).sort((a, b) => b[1].flops - a[1].flops || b[1].count - a[1].count), most = rows[0]?.[1].flops || 1;
    return h("div", { class: "panel-block" }, h("h3", {}, "Operators"), h("div", { class: "list" }, rows.slice(0, 12).map(([type, t]) => {
      const bar = h("i", { class: "fillbar" });
      bar.style.width = (100 * t.flops) / most + "%";
      return h("button", { type: "button", class: "line", onclick: () => select(this.model.layers.filter((l) => l.type === type).map((l) => l.id)) }, bar, h("span", {}, type, h("small", {}, ` × ${t.count}`)),
        h("span", { class: "end" }, datum(t.flops, "count", `op_types.${type}.flops`), h("small", {}, " " + percent(t.flops / (p.total_flops || 1)))));
    }), rows.length > 12 ? h("p", { class: "hint" }, `and ${rows.length - 12} more types`) : null));
  }

  private bottlenecks(): HTMLElement {
    const p = this.model.profile, kinds = Object.keys(BOTTLENECK);
    const go = (k: string) => () => select(this.model.layers.filter((l) => l.bottleneck === k).map((l) => l.id));
    return h("div", { class: "panel-block" }, h("h3", {}, "Bottlenecks"),
      h("p", { class: "hint" }, "by FLOPs"), this.bar(kinds.map((k) => ({ name: words(k), value: p.bottleneck_flops[k] ?? 0, color: BOTTLENECK[k]!, go: go(k) })), p.total_flops || 1, "Bottlenecks by FLOPs"),
      h("p", { class: "hint" }, "by operators"), this.bar(kinds.map((k) => ({ name: words(k), value: p.bottlenecks[k] ?? 0, color: BOTTLENECK[k]!, go: go(k) })), p.operators || 1, "Bottlenecks by operators"),
      h("div", { class: "list" }, kinds.map((k) => {
        const dot = h("i", { class: "dot" });
        dot.style.background = BOTTLENECK[k]!;
        return h("button", { type: "button", class: "line", onclick: go(k) }, h("span", {}, dot, words(k)), h("span", { class: "end" }, datum(p.bottlenecks[k] ?? 0, "count", "bottlenecks." + k), h("small", {}, ` · ${percent((p.bottleneck_flops[k] ?? 0) / (p.total_flops || 1))} of FLOPs`)));
      })));
  }

  private metrics(): HTMLElement {
    return h("span", { class: "group" }, METRICS.map(([, title], i) => {
      const b = h("button", { type: "button", "aria-pressed": i === this.metric ? "true" : "false", onclick: () => {
        this.metric = i;
        for (const [k, other] of [...b.parentElement!.children].entries()) other.setAttribute("aria-pressed", k === i ? "true" : "false");
        this.drawFlame();
      } }, title);
      return b;
    }));
  }

  private tree(): Slice {
    const key = METRICS[this.metric]![0] as "flops", root: Slice = { name: this.model.profile.model, path: "", value: 0, nodes: [], parts: new Map() };
    for (const l of this.model.layers) {
      let at = root;
      const steps = [root];
      for (const part of [...(l.module ? l.module.split(".") : []).slice(0, 12), ...(l.module === l.name || l.module.endsWith(l.name) ? [] : [l.name.slice(l.name.lastIndexOf(".") + 1)])]) {
        let next = at.parts.get(part);
        if (!next) at.parts.set(part, (next = { name: part, path: at.path ? at.path + "." + part : part, value: 0, nodes: [], parts: new Map() }));
        steps.push((at = next));
      }
      for (const s of steps) {
        s.value += l[key];
        s.nodes.push(l.id);
      }
    }
    return root;
  }

  // Modules as an icicle: width is the share, depth goes down.
  private drawFlame(): void {
    const root = this.tree(), unit = METRICS[this.metric]![2], chosen = new Set(state.selection), rows: HTMLElement[] = [], total = root.value || 1;
    const wide = this.flame.clientWidth || 1000;
    let deepest = 0, made = 0;
    const put = (s: Slice, from: number, depth: number): void => {
      const share = s.value / total;
      if (share < 0.0015 || depth > 7 || made > 1500) return;
      made++;
      deepest = Math.max(deepest, depth);
      const on = chosen.size > 0 && s.nodes.some((n) => chosen.has(n));
      const el = h("button", { type: "button", class: "slice" + (share * wide > NAMED ? " named" : "") + (on ? " on" : ""), "aria-label": `${s.path || s.name}: ${show(s.value, unit)}, ${percent(share)}`, onclick: (e: MouseEvent) => select(s.nodes, e.shiftKey),
        onpointermove: (e: PointerEvent) => tooltip.show(e.clientX, e.clientY, h("b", {}, s.path || s.name), h("span", {}, `${show(s.value, unit)} · ${percent(share)}`), h("span", {}, plural(this.model.operators(s.nodes), "operator"))), onpointerleave: () => tooltip.hide() },
        share * wide > NAMED ? s.name : "");
      const color = depth === 0 ? ramp(0.12) : ramp(Math.sqrt(share) * 0.9 + 0.08);
      Object.assign(el.style, { left: from * 100 + "%", width: `calc(${share * 100}% - 1px)`, top: depth * 27 + "px", background: color, color: inkOn(color) });
      rows.push(el);
      let at = from;
      for (const part of s.parts.values()) {
        put(part, at, depth + 1);
        at += part.value / total;
      }
    };
    put(root, 0, 0);
    fill(this.flame, rows);
    this.flame.style.height = (deepest + 1) * 27 + "px";
  }

  private top(): HTMLElement {
    const rows = [...this.model.layers].sort((a, b) => b.flops - a.flops || a.id - b.id).slice(0, 10), total = this.model.profile.total_flops || 1, most = rows[0]?.flops || 1;
    return h("div", { class: "panel-block" }, h("h3", {}, "Most FLOPs"), h("div", { class: "list" }, rows.map((l) => {
      const bar = h("i", { class: "fillbar" });
      bar.style.width = (100 * l.flops) / most + "%";
      return h("button", { type: "button", class: "line", onclick: () => select([l.id]) }, bar, h("span", {}, l.name, h("small", {}, ` ${l.type}${l.folded ? ` × ${exact(l.folded)}` : ""} ${shape(l.output_shape)}`)),
        h("span", { class: "end" }, datum(l.flops, "count"), h("small", {}, ` ${percent(l.flops / total)} · ${number(l.arithmetic_intensity)} FLOP/B`)));
    })));
  }

  private ports(): HTMLElement {
    const p = this.model.profile, row = (kind: string, list: typeof p.inputs): HTMLElement[] => list.slice(0, 50).map((v) => h("div", { class: "line" }, h("span", {}, h("small", {}, kind + " "), v.name), h("span", { class: "end" }, `${shape(v.shape)} ${v.dtype}`)));
    return h("div", { class: "panel-block" }, h("h3", {}, "Inputs and outputs"), h("div", { class: "list" }, ...row("in", p.inputs), ...row("out", p.outputs)));
  }

  private notes(meta: Meta): HTMLElement {
    const all = [...meta.notes.map((n) => "Left out: " + n), ...meta.warnings];
    return h("footer", {}, all.length ? h("details", { open: meta.notes.length > 0 }, h("summary", {}, plural(all.length, "note")), h("ul", {}, all.slice(0, 200).map((n) => h("li", {}, n)))) : null,
      h("p", { class: "hint" }, `cleave ${meta.version}. All numbers are those of `, h("code", {}, "cleave … --json"), `; ${count(this.model.profile.operators)} operators, nothing loaded from elsewhere.`));
  }
}
