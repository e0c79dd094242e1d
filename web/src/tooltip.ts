// tooltip.ts - the one small box that follows the pointer.
import { fill, h } from "./dom";

const el = h("div", { class: "tooltip", hidden: true, role: "tooltip" });

export const tooltip = {
  mount(): void { document.body.append(el); },
  show(x: number, y: number, ...children: Node[]): void {
    fill(el, children);
    el.hidden = false;
    const box = el.getBoundingClientRect();
    el.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    el.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + "px";
  },
  hide(): void { el.hidden = true; },
};
