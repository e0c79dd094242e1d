// format.ts - numbers for people. The exact one is always kept beside it.
import { h } from "./dom";

const SI = ["", "K", "M", "G", "T", "P", "E"];

function scaled(x: number, base: number, units: string[]): string {
  if (!Number.isFinite(x)) return "–";
  let i = 0, v = Math.abs(x);
  while (v >= base * 0.9995 && i < units.length - 1) {
    v /= base;
    i++;
  }
  const digits = i === 0 && Number.isInteger(v) ? 0 : v >= 100 ? 0 : v >= 10 ? 1 : 2;
  return (x < 0 ? "−" : "") + v.toFixed(digits) + (units[i] ? "\u202f" + units[i] : "");
}

export const count = (x: number): string => scaled(x, 1000, SI);
export const bytes = (x: number): string =>
  Math.abs(x) < 1000 ? `${x}\u202fB` : scaled(x, 1000, SI).replace(/$/, "B");
export const exact = (x: number): string => Number.isInteger(x) ? x.toLocaleString("en-US").replace(/,/g, "\u202f") : String(x);

export function seconds(x: number): string {
  if (!Number.isFinite(x)) return "–";
  const units: [number, string][] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
  for (const [unit, name] of units)
    if (x >= unit) return (x / unit).toPrecision(3) + "\u202f" + name;
  return x === 0 ? "0\u202fs" : (x * 1e9).toPrecision(2) + "\u202fns";
}

// On an axis: no zeros after the point.
export const tick = (x: number, unit: Unit): string => show(x, unit).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

export const percent = (x: number): string =>
  !Number.isFinite(x) ? "–" : x === 0 ? "0%" : x > 0 && x < 0.001 ? "<0.1%" : (x * 100).toFixed(x < 0.0995 ? 1 : 0) + "%";

export const number = (x: number): string =>
  !Number.isFinite(x) ? "–" : x === 0 ? "0" : Math.abs(x) >= 1000 ? count(x) : String(Number(x.toPrecision(3)));

export const shape = (dims: number[] | null | undefined): string => dims ? (dims.length ? dims.join("×") : "scalar") : "?";

export type Unit = "count" | "bytes" | "seconds" | "number" | "percent";
const FORMATS: Record<Unit, (x: number) => string> = { count, bytes, seconds, number, percent };
export const show = (x: number, unit: Unit): string => FORMATS[unit](x);

// A number of the reports: what is shown is rounded, `value` is not.
export function datum(x: number, unit: Unit, key = ""): HTMLElement {
  return h("data", { value: String(x), title: unit === "count" || unit === "bytes" ? exact(x) : String(x), "data-key": key || null }, show(x, unit));
}

// Of an operator in a loop, or in a branch that is not counted.
export const runs = (times: number | undefined): string => (times === undefined ? "" : times ? `runs ${exact(times)} times` : "not counted: the other branch is");

export const plural = (n: number, word: string): string => `${exact(n)} ${word}${n === 1 ? "" : "s"}`;

// The value of an attribute, up to so many letters.
export function attribute(v: unknown, most: number): string {
  const text = Array.isArray(v) ? v.map((x) => (typeof x === "object" ? JSON.stringify(x) : String(x))).join(", ") : typeof v === "object" ? JSON.stringify(v) : String(v);
  return text.length > most ? text.slice(0, most) + "…" : text;
}
