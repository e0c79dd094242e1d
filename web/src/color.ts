// color.ts - the modes nodes are coloured by, their ramps and legends.
import { datum, percent, show, type Unit } from "./format";
import { h } from "./dom";
import type { Layer, MapDevice, Model, Partition, Subgraph } from "./data";

export const dark = (): boolean => document.documentElement.dataset["theme"] === "dark";

export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// Perceptually even ramps, from a quiet to a loud end.
const RAMPS: Record<"light" | "dark", [number, number, number][]> = {
  light: [[238, 242, 247], [198, 222, 235], [124, 188, 206], [52, 140, 160], [16, 88, 116], [9, 50, 78]],
  dark: [[38, 46, 58], [32, 74, 92], [28, 112, 128], [50, 156, 156], [126, 204, 172], [228, 244, 190]],
};

function mix(ramp: [number, number, number][], t: number): [number, number, number] {
  const at = Math.min(Math.max(t, 0), 1) * (ramp.length - 1), i = Math.min(Math.floor(at), ramp.length - 2), f = at - i;
  const a = ramp[i]!, b = ramp[i + 1]!;
  return [a[0] + (b[0] - a[0]) * f, a[1] + (b[1] - a[1]) * f, a[2] + (b[2] - a[2]) * f];
}

const rgb = (c: [number, number, number]): string => `rgb(${c.map(Math.round).join(",")})`;
export const ramp = (t: number): string => rgb(mix(RAMPS[dark() ? "dark" : "light"], t));

export function inkOn(color: string): string {
  const c = /(\d+),\s*(\d+),\s*(\d+)/.exec(color);
  const hex = /^#(..)(..)(..)$/.exec(color);
  const v = c ? [Number(c[1]), Number(c[2]), Number(c[3])] : hex ? [1, 2, 3].map((i) => parseInt(hex[i]!, 16)) : [255, 255, 255];
  return v[0]! * 0.299 + v[1]! * 0.587 + v[2]! * 0.114 > 140 ? "#14202b" : "#f4f8fb";
}

// Categories: distinct in both themes and with red-green blindness (after Okabe and Ito, softened).
const CATEGORIES = ["#5b8ff9", "#e8a33d", "#4fb286", "#d76a8a", "#9a7fd1", "#3fb3c9", "#b58b62", "#8aa63a", "#e07b54", "#7d8ca3", "#c95fc0", "#5f9e9e"];
export const category = (i: number): string => CATEGORIES[i % CATEGORIES.length]!;

export const BOTTLENECK: Record<string, string> = {
  compute_bound: "#4fb286", balanced: "#5b8ff9", memory_bound: "#e8a33d", bandwidth_bound: "#d76a5a",
};
export const TRUST: Record<string, string> = {
  exact: "#4fb286", estimated: "#e8a33d", free: "#9fb0c0", given: "#5b8ff9", unknown: "#d7495a",
};
export const DIFFERENCE: Record<string, string> = { same: "#9fb0c0", added: "#4fb286", removed: "#d7495a", changed: "#e8a33d" };
export const words = (s: string): string => s.replace(/_/g, " ");

export interface Mode {
  key: string; title: string;
  // One number per node that sums over a box, or a category.
  values?: Float64Array; unit?: Unit; total?: number;
  ratio?: (nodes: Iterable<number>) => number; // of sums: intensity
  classes?: Int32Array | Uint8Array; names?: string[]; colors?: string[];
  weights?: number[] | null; // operators of each row, when the model is folded
}

export const MODES: [string, string][] = [
  ["difference", "difference"],  ["flops", "FLOPs"], ["memory", "bytes moved"], ["params", "parameters"], ["time", "time"], ["intensity", "intensity"],
  ["bottleneck", "bottleneck"], ["type", "operator"], ["trust", "trust"], ["subgraph", "fused subgraph"], ["device", "device"],
  ["placement", "placement"], ["stage", "pipeline stage"],
];

function additive(model: Model, key: string, title: string, unit: Unit, of: (l: Layer) => number): Mode {
  const values = Float64Array.from(model.layers, of);
  return { key, title, unit, values, total: values.reduce((a, b) => a + b, 0) };
}

function classed(model: Model, key: string, title: string, of: (l: Layer) => string, colors?: Record<string, string>): Mode {
  const names: string[] = colors ? Object.keys(colors) : [], index = new Map(names.map((n, i) => [n, i]));
  const counts = new Map<string, number>();
  for (const l of model.layers) counts.set(of(l), (counts.get(of(l)) ?? 0) + (l.folded ?? 1));
  for (const [name] of [...counts].sort((a, b) => b[1] - a[1]))
    if (!index.has(name)) index.set(name, names.push(name) - 1);
  return {
    key, title, classes: Int32Array.from(model.layers, (l) => index.get(of(l))!), names: names.map(words),
    colors: names.map((n, i) => colors?.[n] ?? category(i)), weights: model.folded ? model.layers.map((l) => l.folded ?? 1) : null,
  };
}

function byTime(model: Model, device: MapDevice, of: Int32Array): Mode {
  // The time of a subgraph is that of its first node; the others are part of it.
  const first = new Map<number, number>(), values = new Float64Array(model.layers.length);
  of.forEach((s, node) => { if (s >= 0 && !first.has(s)) first.set(s, node); });
  for (const s of device.subgraphs) {
    const node = first.get(s.id);
    if (node !== undefined) values[node] = Math.max(0, s.seconds) * (s.folded ?? 1);
  }
  return { key: "time", title: `time on ${device.device}, per fused subgraph`, unit: "seconds", values, total: device.seconds };
}

function bySubgraph(cut: Partition, of: Int32Array): Mode {
  const patterns = new Map<string, number>(), names: string[] = [];
  const class_of = cut.subgraphs.map((s) => {
    const name = s.pattern || "single";
    if (!patterns.has(name)) patterns.set(name, names.push(name) - 1);
    return patterns.get(name)!;
  });
  return { key: "subgraph", title: "pattern of the fused subgraph", classes: of.map((s) => (s < 0 ? 0 : class_of[s]!)), names, colors: names.map((_, i) => category(i)) };
}

// The block of the file that a mode needs.
const NEEDS: Record<string, string> = { time: "map", subgraph: "fusion", device: "capability", placement: "placement", stage: "pipeline" };
export const modesOf = (model: Model): [string, string][] => MODES.filter(([k]) => (k !== "difference" || model.changes.length > 0) && (!NEEDS[k] || model.has(NEEDS[k])));

export const onHost = (s: Subgraph, cut: Partition): boolean => s.device === "cpu" || s.device === cut.placement?.host;

function byDevice(key: string, title: string, cut: Partition, of: Int32Array): Mode {
  const names = [...new Set(cut.subgraphs.map((s) => s.device ?? ""))], hosts = new Set(cut.subgraphs.filter((s) => onHost(s, cut)).map((s) => s.device ?? ""));
  return {
    key, title, classes: of.map((s) => (s < 0 ? 0 : names.indexOf(cut.subgraphs[s]!.device ?? ""))),
    names, colors: names.map((n) => (hosts.has(n) ? "#e8a33d" : "#4fb286")),
  };
}

function byStage(cut: Partition, of: Int32Array): Mode {
  return { key: "stage", title: "stage of the pipeline", classes: of.map((s) => Math.max(0, s)), names: cut.subgraphs.map((s) => `stage ${s.id}`), colors: cut.subgraphs.map((s) => category(s.id)) };
}

export async function makeMode(model: Model, key: string, device: number): Promise<Mode> {
  switch (key) {
    case "memory": return additive(model, key, "bytes moved", "bytes", (l) => l.memory);
    case "params": return additive(model, key, "parameters", "count", (l) => l.params);
    case "time": {
      const roofs = model.has("map") ? await model.roofs() : null, d = roofs?.devices[Math.min(device, roofs.devices.length - 1)];
      if (d) return byTime(model, d, await model.subgraphs());
      break;
    }
    case "intensity":
      return {
        key, title: "FLOPs per byte", unit: "number", ratio: (nodes) => {
          let f = 0, b = 0;
          for (const n of nodes) f += model.layers[n]!.flops, b += model.layers[n]!.memory;
          return b ? f / b : 0;
        },
      };
    case "bottleneck": return classed(model, key, "bottleneck", (l) => l.bottleneck, BOTTLENECK);
    case "trust": return classed(model, key, "how far a number can be believed", (l) => l.trust, TRUST);
    case "difference": if (model.changes.length) return classed(model, key, "difference", (l) => model.changes[l.id]?.change ?? "same", DIFFERENCE); break;
    case "type": return classed(model, key, "operator", (l) => l.type);
    case "subgraph": if (model.has("fusion")) return bySubgraph(await model.fusion(), await model.subgraphs()); break;
    case "device": if (model.has("capability")) {
      const cut = await model.capability();
      return byDevice(key, "device of the capability cut", cut, model.assign(cut));
    }
    break;
    case "placement": if (model.has("placement")) {
      const cut = await model.placement();
      return byDevice(key, "device of the fastest placement", cut, model.assign(cut));
    }
    break;
    case "stage": if (model.has("pipeline")) {
      const cut = await model.pipeline();
      return byStage(cut, model.assign(cut));
    }
  }
  return additive(model, "flops", "FLOPs", "count", (l) => l.flops);
}

// Intensity on a logarithmic scale from 0.1 to 1000; sums by their share, with a root so that small ones show.
export const heat = (mode: Mode, x: number): number =>
  mode.ratio ? (x <= 0 ? 0 : (Math.log10(x) + 1) / 4) : mode.total ? Math.sqrt(x / mode.total) : 0;

export function legend(mode: Mode): HTMLElement {
  const box = h("div", { class: "legend", role: "group", "aria-label": "Legend: " + mode.title }, h("b", {}, mode.title));
  if (mode.classes && mode.names) {
    const used = new Array<number>(mode.names.length).fill(0);
    mode.classes.forEach((c, i) => { used[c]! += mode.weights?.[i] ?? 1; });
    const rows = mode.names.map((name, i) => ({ name, i, n: used[i]! })).filter((r) => r.n).sort((a, b) => b.n - a.n);
    for (const r of rows.slice(0, 12)) {
      const dot = h("i", { class: "dot" });
      dot.style.background = mode.colors![r.i]!;
      box.append(h("span", { class: "key" }, dot, r.name, h("small", {}, String(r.n))));
    }
    if (rows.length > 12) box.append(h("small", {}, `and ${rows.length - 12} more`));
    return box;
  }
  const bar = h("div", { class: "ramp" });
  bar.style.background = `linear-gradient(90deg, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map(ramp).join(",")})`;
  const ends = mode.ratio ? ["0.1", "1", "10", "100", "1000"] : ["0", "4%", "16%", "36%", "64%", "100%"];
  box.append(h("div", { class: "scale" }, bar, h("div", { class: "ticks" }, ...ends.map((e) => h("small", {}, e)))));
  if (mode.total !== undefined && mode.unit) box.append(h("small", {}, "share of ", datum(mode.total, mode.unit)));
  return box;
}

export function valueText(mode: Mode, x: number): string {
  if (mode.ratio) return show(x, "number") + " FLOP/B";
  return mode.unit ? `${show(x, mode.unit)} (${percent(mode.total ? x / mode.total : 0)})` : "";
}
