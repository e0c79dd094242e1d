// walk.ts - what depends on what.
import type { GraphFile } from "./data";

const makers = new WeakMap<GraphFile, { maker: Map<number, number>; readers: Map<number, number[]> }>();

function links(graph: GraphFile): { maker: Map<number, number>; readers: Map<number, number[]> } {
  let found = makers.get(graph);
  if (!found) {
    found = { maker: new Map(), readers: new Map() };
    for (const n of graph.nodes) {
      for (const v of n.outputs) found.maker.set(v, n.id);
      for (const v of n.inputs) {
        if (v === null) continue;
        const list = found.readers.get(v);
        if (list) list.push(n.id);
        else found.readers.set(v, [n.id]);
      }
    }
    makers.set(graph, found);
  }
  return found;
}

export function neighbours(graph: GraphFile, node: number, up: boolean): number[] {
  const { maker, readers } = links(graph), n = graph.nodes[node];
  if (!n) return [];
  const all = up ? n.inputs.map((v) => (v === null ? undefined : maker.get(v))) : n.outputs.flatMap((v) => readers.get(v) ?? []);
  return [...new Set(all.filter((x): x is number => x !== undefined))];
}

// The nodes and everything they depend on, or that depends on them.
export function reach(graph: GraphFile, from: number[], up: boolean): Set<number> {
  const seen = new Set(from), stack = [...from];
  while (stack.length)
    for (const n of neighbours(graph, stack.pop()!, up))
      if (!seen.has(n)) {
        seen.add(n);
        stack.push(n);
      }
  return seen;
}
