// search.ts - the query language of graph and table: words, and comparisons.
//
//   conv 3x3 >100M        convolutions with a 3x3 kernel and over 100 M FLOPs
//   params>1M layer4      by another column
//   type:relu             one field alone
import type { GraphFile, Layer, Model } from "./data";

const UNITS: Record<string, number> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 };
const FIELDS: Record<string, keyof Layer> = {
  flops: "flops", macs: "macs", params: "params", memory: "memory", bytes: "memory", ai: "arithmetic_intensity",
  intensity: "arithmetic_intensity", in: "bytes_in", out: "bytes_out", weights: "bytes_weights", runs: "times",
};
const TEXTS: Record<string, (l: Layer) => string> = {
  name: (l) => l.name, type: (l) => l.type, op: (l) => l.type, module: (l) => l.module, trust: (l) => l.trust,
  bottleneck: (l) => l.bottleneck, origin: (l) => l.origin, dtype: (l) => l.compute_dtype,
};

// Words that a node is found by; once the graph is read, lists among attributes and
// shapes of weights too.
const words = new WeakMap<Model, string[]>();

function list(value: unknown): string {
  return Array.isArray(value) && value.every((v) => typeof v === "number") ? value.join("x") : "";
}

const weight = (graph: GraphFile, v: number): unknown => (graph.values[v]?.kind === "parameter" ? graph.values[v]!.shape : null);

export function learn(model: Model, graph: GraphFile): void {
  const text = wordsOf(model);
  for (const node of graph.nodes)
    if (text[node.id] !== undefined)
      text[node.id] += " " + [...Object.values(node.attributes ?? {}), ...node.inputs.map((v) => (v === null ? null : weight(graph, v)))].map(list).join(" ");
}

function wordsOf(model: Model): string[] {
  let text = words.get(model);
  if (!text) {
    text = model.layers.map((l) => `${l.name} ${l.type} ${l.module} ${l.origin} ${(l.output_shape ?? []).join("x")} ${l.bottleneck} ${l.trust}`.toLowerCase());
    words.set(model, text);
  }
  return text;
}

type Test = (l: Layer, words: string) => boolean;

function testOf(word: string): Test {
  const compare = /^([a-z]*)(<=|>=|<|>|=)([\d.]+)([kmgtp]?)b?$/.exec(word);
  if (compare) {
    const field = FIELDS[compare[1] || "flops"], limit = Number(compare[3]) * UNITS[compare[4]!]!;
    if (field)
      return (l) => {
        const x = Number(field === "times" ? l.times ?? 1 : l[field]);
        switch (compare[2]) {
          case "<": return x < limit;
          case "<=": return x <= limit;
          case ">": return x > limit;
          case ">=": return x >= limit;
          default: return x === limit;
        }
      };
  }
  const colon = word.indexOf(":"), field = colon > 0 ? TEXTS[word.slice(0, colon)] : undefined;
  if (field) {
    const rest = word.slice(colon + 1);
    return (l) => field(l).toLowerCase().includes(rest);
  }
  return (_, text) => text.includes(word);
}

export function find(model: Model, query: string): number[] {
  const tests = query.toLowerCase().split(/\s+/).filter(Boolean).map((w) => testOf(w.replace(/[\u00d7*]/g, "x")));
  const text = wordsOf(model), out: number[] = [];
  for (const l of model.layers)
    if (tests.every((t) => t(l, text[l.id]!))) out.push(l.id);
  return out;
}
