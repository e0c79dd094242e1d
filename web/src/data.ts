// data.ts - the blocks of the file, unpacked when they are first asked for.

export interface Layer {
  id: number; name: string; module: string; type: string; origin: string; source?: string;
  params: number; macs: number; flops: number; memory: number;
  bytes_in: number; bytes_out: number; bytes_weights: number;
  arithmetic_intensity: number; bottleneck: string; output_shape: number[] | null;
  trust: string; compute_dtype: string;
  times?: number; // how often it runs, when not once: in loops, and 0 in branches that are not counted
  folded?: number; // operators in this row, when the model is folded
}
export interface Port { name: string; shape: number[] | null; dtype: string }
export interface Profile {
  model: string; source: string; inputs: Port[]; outputs: Port[]; convention: string;
  operators: number; graph_nodes: number; total_params: number; unused_params: number;
  total_macs: number; total_flops: number; total_memory: number; weight_bytes: number;
  bytes_in: number; bytes_out: number; bytes_weights: number;
  arithmetic_intensity: number;
  coverage: Record<"exact" | "estimated" | "free" | "given" | "unknown", number> & { unknown_ops: unknown[] };
  op_types: Record<string, { count: number; flops: number; macs: number }>;
  bottlenecks: Record<string, number>; bottleneck_flops: Record<string, number>;
  layers: Layer[];
}
export interface Box {
  module: string; parent?: number; part?: number; parts?: number; repeats?: number;
  form: number; nodes: number; w: number; h: number; items: number[]; wires: number[];
  folded?: boolean; shut?: boolean; // the first of its repeats is drawn; its kinds of operators are
}
export interface Layout { boxes: Box[]; values: number[]; straight: number; crossings: number; rows?: number; hidden?: number }
export interface GraphValue { id: number; name: string; kind: string; dtype: string; shape: number[] | null }
export interface GraphNode { id: number; name: string; inputs: (number | null)[]; outputs: number[]; attributes?: Record<string, unknown> }
export interface GraphFile { values: GraphValue[]; nodes: GraphNode[]; inputs: number[]; outputs: number[] }
export interface Subgraph {
  id: number; node_names: string[]; operation_types: string[]; pattern: string; device: string | null;
  flops: number; macs: number; total_input_bytes: number; total_output_bytes: number; total_weight_bytes: number;
  internal_bytes: number; arithmetic_intensity: number; recommended_bottleneck: string; partition_reason: string; detail: string;
  folded?: number; operators?: number; // subgraphs like it; its operators, when names of some are given
}
export interface Support { op: string; origin: string; count: number; reason?: string }
export interface Placed { seconds: number; host_seconds: number; accelerator_seconds: number; transfer_seconds: number; moved_bytes: number; subgraphs: number; accelerator_nodes: number }
export interface Partition {
  strategy: string; placement?: { host: string; accelerator: string } & Record<"all_host" | "all_supported" | "optimum", Placed>;
  pipeline?: { unit: string; order: string; bottleneck: number; lower_bound: number; gap: number; stages: { cost: number; transfer: number; memory: number }[] };
  total_subgraphs: number; operators: number; total_memory: number; internal_bytes: number; unfused_memory: number;
  data_movement_reduction: number; average_fusion_size: number; max_fusion_size: number;
  patterns: { pattern: string; count: number; operators: number; flops: number; external_bytes: number; saved_bytes: number }[];
  subgraphs: Subgraph[];
  support?: { device: string; supported: number; total: number; percentage: number; unsupported: Support[] };
  minimum_subgraphs?: number; crossing_bytes?: number; certificate?: string[]; certificate_2?: string[]; certificate_length?: number;
  what_if?: { op: string; nodes: number; subgraphs: number; crossing_bytes: number; fewer_subgraphs: number; fewer_bytes: number; reason: string }[];
}
export interface Memory {
  steps: number; weight_bytes: number; peak_bytes: number; peak_step: number; peak_node: string; total_bytes: number;
  arena_bytes: number; arena_lower_bound: number; arena_planner: string; timeline: number[]; order: number[];
  span?: number; total_tensors?: number; // of a folded model: steps of an entry of timeline and order, and all tensors
  tensors: { name: string; bytes: number; first_step: number; last_step: number; offset: number }[];
}
export interface Concurrency {
  strategy: string; total_subgraphs: number; num_stages: number; max_parallel_ops_per_stage: number; weight_unit: string;
  work: number; span: number; work_span_speedup: number; critical_path: number[];
  hardware?: { name: string };
  critical_path_length: number;
  schedule?: { streams: number; makespan: number; lower_bound: number; utilisation: number };
  subgraphs: { id: number; name: string; pattern: string; stage: number; slack: number; critical: boolean; weight: number; slack_time: number; stream: number; start: number; finish: number }[];
}
export interface MapDevice {
  device: string; batch: number; rate: string; seconds: number; critical_path_seconds: number; launch_seconds: number;
  throughput: number; attained_ops: number; peak_share: number; joules: number | null; ridge: number; memory_bytes: number; fits: boolean; cannot: number;
  bound: Record<string, number>;
  subgraphs: { id: number; name: string; pattern: string; folded?: number; seconds: number; compute_seconds: number; memory_seconds: number; bound: string; occupancy: number; roof_share: number; arithmetic_intensity: number }[];
}
export interface Roofs { strategy: string; devices: MapDevice[] }
export interface Device { device: string; title: string; peak: number; peaks: Record<string, number>; bandwidth: number; memory: number }
export interface Meta { version: string; command: string; models: number; notes: string[]; warnings: string[] }
export interface Side { id: number; name: string; type: string; params: number; macs: number; flops: number; memory: number }
export interface Change { name: string; change: "added" | "removed" | "changed"; what: string[]; before: Side | null; after: Side | null }
export interface Total { model: string; [key: string]: number | string }
export interface Pair { type?: string; module?: string; count: (number | null)[]; params?: (number | null)[]; macs: (number | null)[]; flops: (number | null)[] }
export interface Compare { models: Total[]; types: Pair[]; modules: Pair[]; aligned: boolean; same: number; changed: number; added: number; removed: number; changes: Change[] }
// Two models as one graph: which node of each a node is, -1: of none.
export interface Both { before: number[]; after: number[] }
export const BOTH = 2; // its number, after those of the two models

const cache = new Map<string, Promise<unknown>>();

export const has = (name: string, model = 0): boolean => document.getElementById(`${name}-${model}`) !== null;

async function unpack(id: string): Promise<unknown> {
  const block = document.getElementById(id);
  if (!block) throw new Error(`this report has no ${id}`);
  const text = atob(block.textContent ?? ""), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

export function load<T>(name: string, model = 0): Promise<T> {
  const id = `${name}-${model}`;
  let found = cache.get(id);
  if (!found) cache.set(id, (found = unpack(id)));
  return found as Promise<T>;
}

// Everything the views share about one model.
export class Model {
  readonly byName = new Map<string, number>();
  changes: (Change | null)[] = []; // of each node of two models in one
  readonly loops: boolean; // some operators run more than once, or never
  private subgraphOf: Promise<Int32Array> | null = null;
  private graphOf: Promise<GraphFile> | null = null;
  constructor(readonly index: number, readonly profile: Profile, readonly layout: Layout) {
    for (const layer of profile.layers) this.byName.set(layer.name, layer.id);
    this.loops = profile.layers.some((l) => l.times !== undefined);
  }
  get layers(): Layer[] { return this.profile.layers; }
  get folded(): boolean { return this.layout.rows !== undefined; }
  // How many operators these rows are.
  operators(rows: Iterable<number>): number {
    let n = 0;
    for (const i of rows) n += this.layers[i]?.folded ?? 1;
    return n;
  }
  has(name: string): boolean { return has(name, this.index); }
  graph(): Promise<GraphFile> {
    this.graphOf ??= load<GraphFile>("graph", this.index).then((g) => {
      if (!this.folded) return g;
      const values: GraphValue[] = []; // by their numbers, of which a folded model has some
      for (const v of g.values) values[v.id] = v;
      return { ...g, values };
    });
    return this.graphOf;
  }
  fusion(): Promise<Partition> { return load("fusion", this.index); }
  capability(): Promise<Partition> { return load("capability", this.index); }
  placement(): Promise<Partition> { return load("placement", this.index); }
  pipeline(): Promise<Partition> { return load("pipeline", this.index); }
  memory(): Promise<Memory> { return load("memory", this.index); }
  concurrency(): Promise<Concurrency> { return load("concurrency", this.index); }
  roofs(): Promise<Roofs> { return load("map", this.index); }
  // The fused subgraph of every node.
  subgraphs(): Promise<Int32Array> {
    this.subgraphOf ??= this.fusion().then((f) => this.assign(f));
    return this.subgraphOf;
  }
  assign(cut: Partition): Int32Array {
    const of = new Int32Array(this.layers.length).fill(-1);
    for (const s of cut.subgraphs)
      for (const name of s.node_names) {
        const id = this.byName.get(name);
        if (id !== undefined) of[id] = s.id;
      }
    return of;
  }
  nodesOf(s: Subgraph): number[] {
    return s.node_names.map((n) => this.byName.get(n)).filter((n): n is number => n !== undefined);
  }
}

// What a layer costs is what it costs in its own model.
async function openBoth(): Promise<Model> {
  const [a, b, both, layout, compare] = await Promise.all([load<Profile>("profile", 0), load<Profile>("profile", 1), load<Both>("both"), load<Layout>("layout", BOTH), load<Compare>("compare")]);
  const layers = both.after.map((after, id) => ({ ...(after >= 0 ? b.layers[after]! : a.layers[both.before[id]!]!), id }));
  const model = new Model(BOTH, { ...b, model: `${a.model} and ${b.model}`, layers }, layout);
  const before = new Map(compare.changes.filter((c) => c.before && !c.after).map((c) => [c.before!.id, c])), after = new Map(compare.changes.filter((c) => c.after).map((c) => [c.after!.id, c]));
  model.changes = both.after.map((n, i) => (n >= 0 ? after.get(n) : before.get(both.before[i]!)) ?? null);
  return model;
}

export async function openModel(index: number): Promise<Model> {
  if (index === BOTH) return openBoth();
  const [profile, layout] = await Promise.all([load<Profile>("profile", index), load<Layout>("layout", index)]);
  return new Model(index, profile, layout);
}
