// whatif.ts - another batch, type or device, and operators in int8, on the CPU or
// gone: the totals at once, and the command that gives the same.
//
// The arithmetic is that of `cleave whatif`, step by step, so that both come to
// the same bits: polynomials in the batch for every operator, a roofline for its
// time, tensors that cross between the device and the CPU.
import { load, type Model } from "./data";
import { fill, h } from "./dom";
import { datum, exact, plural, type Unit } from "./format";
import { state, update, type State } from "./state";
import type { View } from "./view";

type Column = number[][];
interface Rated { device: string; title: string; units: number; bandwidth: number; launch: number; peaks: number[] }
interface TypeTable { dtype: string; rate: number[]; values: Column; [column: string]: string | number[] | Column }
interface WhatIfFile {
  batch: number; batches: boolean; why: string; flags: string; unused_params: number; link: number; latency: number;
  host: Rated; devices: Rated[]; types: TypeTable[]; tensors: number[];
}
const TYPES = 4; // as it is, fp16, bf16 and int8
export interface Sums {
  total_params: number; total_macs: number; total_flops: number; total_memory: number; bytes_in: number; bytes_weights: number; bytes_out: number;
  crossing_bytes: number; crossing_tensors: number; seconds: number; device_seconds: number; host_seconds: number; transfer_seconds: number; cannot: number;
}
interface Scenario { batch: number; type: number; device: number; int8: Set<number>; cpu: Set<number>; gone: Set<number> }

const ROWS: [keyof Sums, string, Unit][] = [
  ["total_params", "Parameters", "count"], ["total_macs", "MACs", "count"], ["total_flops", "FLOPs", "count"], ["total_memory", "Bytes moved", "bytes"],
  ["bytes_in", "read", "bytes"], ["bytes_weights", "weights", "bytes"], ["bytes_out", "written", "bytes"], ["crossing_bytes", "To and from the CPU", "bytes"],
  ["seconds", "Time, operator by operator", "seconds"], ["device_seconds", "on the device", "seconds"], ["host_seconds", "on the CPU", "seconds"], ["transfer_seconds", "between them", "seconds"],
];
const FATES = [["int8", "int8", "in int8"], ["cpu", "Move to the CPU", "on the CPU"], ["gone", "Remove", "gone"]] as const;
const FLAGS = { int8: "--int8", cpu: "--cpu-nodes", gone: "--remove" } as const;

function at(column: Column, row: number, n: number): number {
  return column[0]![row]! + (column[1]?.[row] ?? 0) * (n - 1) + (column[2]?.[row] ?? 0) * (((n - 1) * (n - 2)) / 2);
}

function seconds(d: Rated, rate: number, flops: number, bytes: number, threads: number): number {
  const peak = d.peaks[rate]!;
  if (bytes <= 0 && flops === 0) return 0;
  if (peak <= 0) return -1;
  const occupancy = threads > 0 && threads < d.units ? threads / d.units : 1;
  const compute = flops / (peak * occupancy), memory = d.bandwidth > 0 ? bytes / d.bandwidth : 0;
  return d.launch + (compute >= memory ? compute : memory);
}

export function sums(f: WhatIfFile, params: number[], s: Scenario): Sums {
  const out: Sums = { total_params: f.unused_params, total_macs: 0, total_flops: 0, total_memory: 0, bytes_in: 0, bytes_weights: 0, bytes_out: 0, crossing_bytes: 0, crossing_tensors: 0, seconds: 0, device_seconds: 0, host_seconds: 0, transfer_seconds: 0, cannot: 0 };
  const int8 = f.types.findIndex((t) => t.dtype === "int8"), device = f.devices[s.device];
  const get = (type: number, key: string, row: number): number => at((f.types[type]![key] ?? f.types[0]![key]) as Column, row, s.batch);
  for (let i = 0; i < params.length; i++) {
    if (s.gone.has(i)) continue;
    const t = s.int8.has(i) ? int8 : s.type, read = get(t, "bytes_in", i), weights = get(t, "bytes_weights", i), written = get(t, "bytes_out", i), flops = get(t, "flops", i);
    out.total_params += params[i]!;
    out.total_macs += get(t, "macs", i);
    out.total_flops += flops;
    out.bytes_in += read;
    out.bytes_weights += weights;
    out.bytes_out += written;
    if (!device) continue;
    const there = s.cpu.has(i), time = seconds(there ? f.host : device, f.types[t]!.rate[i]!, flops, read + weights + written, get(t, "threads", i));
    if (time < 0) out.cannot++;
    else if (there) out.host_seconds += time;
    else out.device_seconds += time;
  }
  if (s.cpu.size) cross(f, s, out);
  out.total_memory = out.bytes_in + out.bytes_weights + out.bytes_out;
  if (!device) out.transfer_seconds = 0;
  out.seconds = out.device_seconds + out.host_seconds + out.transfer_seconds;
  return out;
}

function cross(f: WhatIfFile, s: Scenario, out: Sums): void {
  const list = f.tensors, values = f.types[s.type]!.values;
  for (let k = 0, row = 0; k < list.length; row++) {
    const here = list[k]! >= 0 && s.cpu.has(list[k]!), readers = list[k + 1]!;
    let moves = false;
    for (let r = 0; r < readers; r++) {
      const reader = list[k + 2 + r]!;
      if (!s.gone.has(reader) && s.cpu.has(reader) !== here) moves = true;
    }
    k += 2 + readers;
    if (!moves) continue;
    const bytes = at(values, row, s.batch);
    out.crossing_tensors++;
    out.crossing_bytes += bytes;
    out.transfer_seconds += f.latency + bytes / f.link;
  }
}

// 1,2,3,7 as "#1-3,#7"
function numbers(list: number[]): string {
  const out: string[] = [];
  for (let i = 0; i < list.length;) {
    let k = i;
    while (k + 1 < list.length && list[k + 1] === list[k]! + 1) k++;
    out.push(k > i ? `#${list[i]}-${list[k]}` : `#${list[i]}`);
    i = k + 1;
  }
  return out.join(",");
}

export class WhatIfView implements View {
  readonly el = h("section", { class: "scroll whatif", "aria-label": "What if" });
  private model!: Model;
  private file!: WhatIfFile;
  private params: number[] = [];

  async show(model: Model): Promise<void> {
    this.model = model;
    this.file = await load<WhatIfFile>("whatif", model.index);
    this.params = model.layers.map((l) => l.params);
    this.draw();
  }

  changed(): void { this.draw(); }

  private scenario(): Scenario {
    const f = this.file, own = (list: number[]): Set<number> => new Set(list.filter((i) => i < this.params.length)), int8 = f.types.some((t) => t.dtype === "int8");
    return { batch: f.batches && state.batch > 0 ? state.batch : f.batch, type: Math.min(state.type, f.types.length - 1), device: Math.min(state.device, f.devices.length - 1), int8: own(int8 ? state.int8 : []), cpu: own(state.cpu), gone: own(state.gone) };
  }

  private command(s: Scenario): string {
    const f = this.file, words = [`cleave whatif ${f.flags}`], device = f.devices[s.device];
    if (device) words.push(`--hardware ${device.device}`);
    if (f.batches && s.batch !== f.batch) words.push(`--batch ${s.batch}`);
    if (f.types[s.type]!.dtype) words.push(`--dtype ${f.types[s.type]!.dtype}`);
    for (const [key] of FATES) if (s[key].size) words.push(`${FLAGS[key]} '${numbers([...s[key]].sort((a, b) => a - b))}'`);
    return words.join(" ");
  }

  // The selection meets this fate, and no other.
  private give(key: "int8" | "cpu" | "gone" | null): void {
    const change: Partial<State> = {}, chosen = new Set(state.selection);
    for (const [k] of FATES) {
      const kept = state[k].filter((i) => !chosen.has(i));
      change[k] = (k === key ? [...kept, ...chosen] : kept).sort((a, b) => a - b);
    }
    update(change);
  }

  private controls(s: Scenario): HTMLElement {
    const f = this.file;
    const batch = h("input", { type: "number", min: 1, max: 1e6, value: s.batch, disabled: !f.batches, "aria-label": "Batch", onchange: () => update({ batch: Math.max(1, Math.floor(Number(batch.value) || 1)) }) });
    const choose = (label: string, options: string[], now: number, f2: (i: number) => void): HTMLElement => {
      const box = h("select", { "aria-label": label, onchange: () => f2(box.selectedIndex) }, options.map((t, i) => h("option", { selected: i === now }, t)));
      return h("label", {}, label + " ", box);
    };
    return h("div", { class: "tools", role: "toolbar", "aria-label": "Scenario" }, h("label", {}, "Batch ", batch),
      choose("Type", f.types.map((t) => t.dtype || "as it is"), s.type, (i) => update({ type: i })),
      choose("Device", f.devices.map((d) => d.title), s.device, (i) => update({ device: i })),
      h("button", { type: "button", onclick: () => update({ batch: 0, type: 0, int8: [], cpu: [], gone: [] }) }, "As it is"));
  }

  private fates(s: Scenario): HTMLElement {
    const n = state.selection.length;
    return h("div", { class: "panel-block" }, h("p", {}, n ? `${plural(n, "operator")} selected:` : "Select operators here, in the graph or in the table to change them alone."),
      h("p", { class: "group" }, FATES.map(([key, label]) => h("button", { type: "button", disabled: !n || (key === "int8" && !this.file.types.some((t) => t.dtype === "int8")), onclick: () => this.give(key) }, label)), h("button", { type: "button", disabled: !n, onclick: () => this.give(null) }, "Leave as it is")),
      h("p", { class: "chips" }, FATES.filter(([key]) => s[key].size).map(([key, , title]) => h("span", { class: "chip" }, h("button", { type: "button", class: "link", onclick: () => update({ selection: [...s[key]] }) }, `${plural(s[key].size, "operator")} ${title}`),
        h("button", { type: "button", class: "link", "aria-label": `None ${title}`, onclick: () => update({ [key]: [] }) }, " ×")))),
      h("p", { class: "chips" }, "Heaviest: ", [...this.model.layers].sort((a, b) => b.flops - a.flops).slice(0, 12).map((l) => h("button", { type: "button", class: "chip", "aria-pressed": state.selection.includes(l.id) ? "true" : "false", onclick: () => update({ selection: state.selection.includes(l.id) ? state.selection.filter((i) => i !== l.id) : [...state.selection, l.id].sort((a, b) => a - b) }) }, l.name))));
  }

  private draw(): void {
    const f = this.file, s = this.scenario(), none = new Set<number>();
    const before = sums(f, this.params, { batch: f.batch, type: 0, device: s.device, int8: none, cpu: none, gone: none }), after = sums(f, this.params, s), line = this.command(s);
    const code = h("code", { class: "command" }, line);
    fill(this.el, h("header", { class: "title" }, h("h1", {}, "What if"), h("p", {}, f.batches ? "Every figure is a polynomial in the batch, checked at a batch that it was not made from." : `Of batch ${exact(f.batch)} alone: ${f.why}`), f.types.length < TYPES ? h("p", {}, "Types in which the model is another graph (operators come or go) are left out.") : null),
      this.controls(s), this.fates(s),
      h("div", { class: "overflow panel-block" }, h("table", { class: "sums" }, h("thead", {}, h("tr", {}, ["", "As it is", "What if", "Times"].map((t, i) => h("th", { scope: "col", class: i ? "number" : null }, t)))),
        h("tbody", {}, ROWS.map(([key, title, unit]) => h("tr", { class: /^[a-z]/.test(title) ? "minor" : null }, h("th", { scope: "row" }, title), h("td", { class: "number" }, datum(before[key], unit, "before." + key)), h("td", { class: "number" }, datum(after[key], unit, "after." + key)),
          h("td", { class: "number" }, before[key] > 0 ? `× ${(after[key] / before[key]).toPrecision(3)}` : "–")))))),
      after.cannot ? h("p", { class: "hint" }, `${plural(after.cannot, "operator")} in a type that the device has no rate for take no time here.`) : null,
      h("h3", {}, "The same from the command line"), h("p", { class: "panel-block" }, code, " ", h("button", { type: "button", onclick: () => void navigator.clipboard?.writeText(line) }, "Copy")));
  }
}
