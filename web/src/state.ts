// state.ts - what is shown and selected, kept in the address (#view=graph&...).
// One selection of nodes is shared by all views.

export interface State {
  model: number; view: string; selection: number[]; open: number[] | null;
  color: string; device: number; query: string; sort: string; group: string; theme: string;
  batch: number; type: number; int8: number[]; cpu: number[]; gone: number[]; // what if
}

const START: State = {
  model: 0, view: "summary", selection: [], open: null, color: "flops", device: 0, query: "", sort: "", group: "", theme: "",
  batch: 0, type: 0, int8: [], cpu: [], gone: [],
};
export const state: State = { ...START };
type Key = keyof State;
const listeners: ((changed: Set<Key>) => void)[] = [];
const MOST_IN_ADDRESS = 400; // more numbers than this make no address

// 1,2,3,7 as "1-3.7"
function writeList(list: number[]): string {
  const out: string[] = [];
  for (let i = 0; i < list.length;) {
    let k = i;
    while (k + 1 < list.length && list[k + 1] === list[k]! + 1) k++;
    out.push(k > i ? `${list[i]}-${list[k]}` : `${list[i]}`);
    i = k + 1;
  }
  return out.length > MOST_IN_ADDRESS ? "" : out.join(".");
}

function readList(text: string): number[] {
  const out: number[] = [];
  for (const part of text.split(".")) {
    const match = /^(\d{1,8})(?:-(\d{1,8}))?$/.exec(part);
    if (!match) continue;
    const from = Number(match[1]), to = match[2] ? Number(match[2]) : from;
    for (let i = from; i <= to && out.length < 1e6; i++) out.push(i);
  }
  return out;
}

function writeHash(): void {
  const p = new URLSearchParams();
  p.set("view", state.view);
  if (state.model) p.set("model", String(state.model));
  if (state.selection.length) p.set("sel", writeList(state.selection));
  if (state.open) p.set("open", writeList(state.open));
  if (state.color !== START.color) p.set("color", state.color);
  if (state.device) p.set("device", String(state.device));
  if (state.query) p.set("q", state.query);
  if (state.sort) p.set("sort", state.sort);
  if (state.group) p.set("group", state.group);
  if (state.theme) p.set("theme", state.theme);
  if (state.batch) p.set("batch", String(state.batch));
  if (state.type) p.set("type", String(state.type));
  for (const key of ["int8", "cpu", "gone"] as const) if (state[key].length) p.set(key, writeList(state[key]));
  const hash = "#" + p.toString();
  if (hash !== location.hash) history.replaceState(null, "", location.href.replace(/#.*|$/, hash)); // in a notebook "#..." is the notebook's
}

const whole = (text: string | null): number => Math.min(1e6, Math.max(0, Math.floor(Number(text) || 0)));

export function readHash(): void {
  const p = new URLSearchParams(location.hash.slice(1));
  const open = p.get("open");
  Object.assign(state, START, {
    view: p.get("view") ?? START.view,
    model: [1, 2].find((i) => i === Number(p.get("model"))) ?? 0,
    selection: readList(p.get("sel") ?? ""),
    open: open === null ? null : readList(open),
    color: p.get("color") ?? START.color,
    device: whole(p.get("device")),
    query: p.get("q") ?? "",
    sort: p.get("sort") ?? "",
    group: p.get("group") ?? "",
    theme: p.get("theme") ?? "",
    batch: whole(p.get("batch")),
    type: whole(p.get("type")),
    int8: readList(p.get("int8") ?? ""),
    cpu: readList(p.get("cpu") ?? ""),
    gone: readList(p.get("gone") ?? ""),
  });
}

export function update(change: Partial<State>): void {
  const changed = new Set<Key>();
  for (const key of Object.keys(change) as Key[]) {
    const value = change[key];
    if (JSON.stringify(value) === JSON.stringify(state[key])) continue;
    (state as unknown as Record<string, unknown>)[key] = value;
    changed.add(key);
  }
  if (!changed.size) return;
  writeHash();
  for (const f of listeners) f(changed);
}

// Tells everybody about something that did not change, but means more now.
export function refresh(key: Key): void {
  if (state[key]) for (const f of listeners) f(new Set([key]));
}

export function select(nodes: Iterable<number>, add = false): void {
  const all = new Set(nodes);
  if (add) {
    const known = new Set(state.selection), every = [...all].every((n) => known.has(n));
    for (const n of all) every ? known.delete(n) : known.add(n);
    update({ selection: [...known].sort((a, b) => a - b) });
  } else update({ selection: [...all].sort((a, b) => a - b) });
}

export const onChange = (f: (changed: Set<Key>) => void): void => { listeners.push(f); };
