// dom.ts - elements in one call. Text is always set as text, never as markup.

type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | EventListener | ((e: never) => void);

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attrs: Record<string, Value> = {}, ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on") && typeof value === "function")
      el.addEventListener(key.slice(2), value as EventListener);
    else if (key === "class") el.className = String(value);
    else el.setAttribute(key, value === true ? "" : String(value));
  }
  add(el, children);
  return el;
}

function add(el: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat())
    if (child !== null && child !== undefined && child !== false)
      el.append(typeof child === "number" ? String(child) : child);
}

export function fill(el: Element, ...children: (Child | Child[])[]): void {
  el.replaceChildren();
  add(el, children);
}
