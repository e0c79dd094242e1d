// main.ts - the frame: header, tabs, search, the view, the panel.
import { CompareView } from "./compare";
import { CutsView } from "./cuts";
import { BOTH, has, load, openModel, type Meta, type Model } from "./data";
import { fill, h } from "./dom";
import { count, plural } from "./format";
import { GraphView } from "./graph";
import { MemoryView } from "./memory";
import { Panel } from "./panel";
import { RooflineView } from "./roofline";
import { find, learn } from "./search";
import { onChange, readHash, refresh, select, state, update } from "./state";
import { SummaryView } from "./summary";
import { TableView } from "./table";
import { TimelineView } from "./timeline";
import { tooltip } from "./tooltip";
import type { View } from "./view";
import { WhatIfView } from "./whatif";

const VIEWS: [string, string, () => View][] = [
  ["summary", "Summary", () => new SummaryView()], ["graph", "Graph", () => new GraphView()], ["table", "Table", () => new TableView()],
  ["roofline", "Roofline", () => new RooflineView()], ["timeline", "Timeline", () => new TimelineView()], ["memory", "Memory", () => new MemoryView()],
  ["cuts", "Cuts", () => new CutsView()], ["whatif", "What if", () => new WhatIfView()], ["compare", "Compare", () => new CompareView()],
];

const made = new Map<string, View>();
const models: (Model | undefined)[] = [];
const tabs = h("nav", { class: "tabs", role: "tablist", "aria-label": "Views" });
const stage = h("main", { id: "view" });
const panel = new Panel();
let shown = "";

async function model(): Promise<Model> {
  const i = has("layout", state.model) ? state.model : 0;
  models[i] ??= await openModel(i);
  return models[i]!;
}

const known = (): typeof VIEWS => VIEWS.filter(([k]) => (k !== "compare" && k !== "whatif") || has(k));
// Two models in one have no schedule, no memory and no cuts.
const FOR_BOTH = new Set(["graph", "table", "compare"]);

async function showView(): Promise<void> {
  const both = state.model === BOTH && has("both"), row = known().find(([k]) => k === state.view && (!both || FOR_BOTH.has(k))) ?? known()[both ? 1 : 0]!, m = await model();
  for (const tab of tabs.children) (tab as HTMLButtonElement).disabled = both && !FOR_BOTH.has((tab as HTMLElement).dataset["view"]!);
  let view = made.get(row[0]);
  if (!view) made.set(row[0], (view = row[2]()));
  for (const tab of tabs.children) {
    const chosen = (tab as HTMLElement).dataset["view"] === row[0];
    tab.setAttribute("aria-selected", String(chosen));
    if (chosen) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  tooltip.hide();
  if (stage.firstChild !== view.el) fill(stage, view.el);
  shown = row[0];
  await view.show(m);
  performance.mark("ready");
  stage.dataset["ready"] = `${row[0]}-${m.index}`;
}

function theme(): void {
  const wanted = state.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset["theme"] = wanted;
}

function header(meta: Meta): HTMLElement {
  const search = h("input", { type: "search", placeholder: "conv 3x3 >100M", "aria-label": "Search operators", spellcheck: "false", autocomplete: "off", value: state.query });
  const found = h("span", { class: "found", role: "status" });
  const tell = (): void => {
    const m = models[state.model];
    fill(found, state.query && m ? plural(find(m, state.query).length, "match").replace("matchs", "matches") : "");
  };
  search.addEventListener("input", () => update({ query: search.value }));
  search.addEventListener("keydown", (e) => {
    const m = models[state.model];
    if (e.key === "Enter" && m) select(find(m, state.query));
    if (e.key === "Escape") {
      search.value = "";
      update({ query: "" });
      search.blur();
    }
  });
  onChange((keys) => { if (keys.has("query") || keys.has("model")) tell(); });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !(e.target instanceof HTMLInputElement)) {
      e.preventDefault();
      search.focus();
    }
  });
  const switcher = meta.models > 1 ? h("select", { "aria-label": "Model", onchange: () => update({ model: switcher!.selectedIndex, selection: [], open: null, color: switcher!.selectedIndex === BOTH ? "difference" : state.color === "difference" ? "flops" : state.color }) }) : null;
  const names = (): Promise<void> => Promise.all([0, 1].map((i) => load<{ model: string }>("profile", i))).then((p) => fill(switcher!, [...p.map((x) => x.model), ...(has("both") ? ["the difference"] : [])].map((x, i) => h("option", { selected: i === state.model }, x))));
  if (switcher) void names();
  onChange((keys) => { if (switcher && keys.has("model")) switcher.selectedIndex = state.model; });
  const name = h("strong", { class: "model" });
  void model().then((m) => { name.textContent = m.profile.model; tell(); });
  return h("header", { class: "top" }, h("span", { class: "brand", "aria-hidden": "true" }, "cleave"), switcher ?? name, tabs,
    h("span", { class: "search" }, search, found),
    h("button", { type: "button", class: "icon", "aria-label": "Light or dark", title: "Light or dark", onclick: () => update({ theme: document.documentElement.dataset["theme"] === "dark" ? "light" : "dark" }) }, "◐"));
}

function fail(e: unknown): void {
  fill(stage, h("p", { class: "empty", role: "alert" }, `This report cannot be shown: ${e instanceof Error ? e.message : String(e)}`));
}

async function start(): Promise<void> {
  readHash();
  theme();
  const meta = await load<Meta>("meta");
  for (const [key, title] of known())
    tabs.append(h("button", { type: "button", role: "tab", "data-view": key, onclick: () => update({ view: key }) }, title));
  fill(document.getElementById("app")!, h("a", { class: "skip", href: "#", onclick: (e: Event) => { e.preventDefault(); stage.focus(); } }, "Skip to the view"), header(meta), h("div", { class: "body" }, stage, panel.el));
  tabs.addEventListener("keydown", (e) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0, all = [...tabs.querySelectorAll<HTMLButtonElement>("button:enabled")], at = all.indexOf(document.activeElement as HTMLButtonElement);
    if (!by || at < 0) return;
    const to = all[(at + by + all.length) % all.length]!;
    to.focus();
    to.click();
  });
  tooltip.mount();
  onChange((keys) => {
    if (keys.has("theme")) theme();
    if (keys.has("view") || keys.has("model")) void showView().then(async () => panel.show(await model())).catch(fail);
    else {
      made.get(shown)?.changed(keys as Set<string>);
      if (keys.has("selection")) void model().then((m) => panel.show(m)).catch(fail);
    }
  });
  addEventListener("hashchange", () => {
    readHash();
    theme();
    void showView().then(async () => panel.show(await model())).catch(fail);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    theme();
    made.get(shown)?.changed(new Set(["theme"]));
  });
  await showView();
  const m = await model();
  await panel.show(m);
  setTimeout(() => void m.graph().then((g) => {
    learn(m, g);
    refresh("query");
  }).catch(fail), 300);
  document.documentElement.dataset["cleave"] = count(m.layers.length);
}

start().catch(fail);
