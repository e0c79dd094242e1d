// chart.ts - a canvas that knows its size, and axes.
import { css } from "./color";
import { h } from "./dom";

export const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

export class Chart {
  readonly el: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  width = 0;
  height = 0;
  private pending = false;
  constructor(label: string, private readonly paint: (g: CanvasRenderingContext2D) => void, cls = "") {
    this.canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": label });
    this.el = h("div", { class: "chart " + cls }, this.canvas);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      const c = this.canvas, ratio = devicePixelRatio || 1;
      this.width = c.clientWidth;
      this.height = c.clientHeight;
      if (!this.width || !this.height) return;
      c.width = Math.round(this.width * ratio);
      c.height = Math.round(this.height * ratio);
      const g = c.getContext("2d")!;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.clearRect(0, 0, this.width, this.height);
      g.font = FONT;
      this.paint(g);
    });
  }
}

// Round steps: 1, 2 or 5 times a power of ten.
export function ticks(from: number, to: number, about: number): number[] {
  if (!(to > from)) return [from];
  const raw = (to - from) / about, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw) ?? raw;
  const out: number[] = [];
  for (let x = Math.ceil(from / step) * step; x <= to + step * 1e-9; x += step) out.push(x);
  return out;
}

export function grid(g: CanvasRenderingContext2D, x0: number, y: number, x1: number, label: string): void {
  g.strokeStyle = css("grid");
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(x0, Math.round(y) + 0.5);
  g.lineTo(x1, Math.round(y) + 0.5);
  g.stroke();
  g.fillStyle = css("quiet");
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.fillText(label, x0 - 6, y);
}

export function gridUp(g: CanvasRenderingContext2D, x: number, y0: number, y1: number, label: string): void {
  g.strokeStyle = css("grid");
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(Math.round(x) + 0.5, y0);
  g.lineTo(Math.round(x) + 0.5, y1);
  g.stroke();
  g.fillStyle = css("quiet");
  // The last one may not leave the canvas.
  const room = g.canvas.clientWidth - 2 - g.measureText(label).width / 2;
  g.textAlign = "center";
  g.textBaseline = "top";
  g.fillText(label, Math.min(x, room), y1 + 5);
}

export function axisName(g: CanvasRenderingContext2D, text: string, x: number, y: number, up = false): void {
  g.save();
  g.translate(x, y);
  if (up) g.rotate(-Math.PI / 2);
  g.fillStyle = css("quiet");
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(text, 0, 0);
  g.restore();
}
