// report.mjs - `cleave report` in a real browser: every view opens, every number
// is the one of --json, the selection is shared, the address restores it, nothing
// is requested, no name runs. timeout: 600
//
// Run by tests/run with CLEAVE_ROOT and the command in PATH; prints `ok NAME` or
// `FAIL NAME: why` and ends with a line of counts, as all tests do.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { inflateSync } from "node:zlib";
import { manyOnnx } from "./lib/large.mjs";

const root = process.env.CLEAVE_ROOT;
const { chromium } = createRequire(root + "/web/")("playwright-core");
const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((p) => existsSync(p));
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const VIEWS = ["summary", "graph", "table", "roofline", "timeline", "memory", "cuts", "whatif"];

let passed = 0, failed = 0;
async function test(name, f) {
  try {
    await f();
    passed++;
    console.log(`ok ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${String(e.message).split("\n")[0]}`);
  }
}
function check(cond, why) { if (!cond) throw new Error(why); }
function equal(got, want, what) { check(JSON.stringify(got) === JSON.stringify(want), `${what}: got ${JSON.stringify(got)?.slice(0, 200)}, want ${JSON.stringify(want)?.slice(0, 200)}`); }

const cleave = (...args) => execFileSync("cleave", [...args, "--quiet"], { maxBuffer: 1 << 28, encoding: "utf8" });
const json = (...args) => JSON.parse(cleave(...args, "--json"));

function block(html, id) {
  const found = new RegExp(`<script type="application/x-cleave" id="${id}">([A-Za-z0-9+/=]*)</script>`).exec(html);
  check(found, `no block ${id}`);
  return JSON.parse(inflateSync(Buffer.from(found[1], "base64")).toString("utf8"));
}

// What is shown, as a number: "8.22 G" is 8.22e9.
function shown(text) {
  const m = /^([\u2212-]?[\d.]+)\s?(ns|µs|ms|s|[KMGTPE]?)(B?)(%?)$/u.exec(text.replace(/[\u202f\s]/g, ""));
  if (!m) return NaN;
  const unit = { "": 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1 }[m[2]];
  return Number(m[1].replace("\u2212", "-")) * unit * (m[4] ? 0.01 : 1);
}

function files(model, ...more) {
  const name = model.replace(/.*\//, "").replace(/\W+/g, "_") + ".html";
  cleave("report", model, ...more, "-o", name);
  return { path: process.cwd() + "/" + name, html: readFileSync(name, "utf8") };
}

const browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS });

async function open(path, hash, width = 1280) {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  page.setDefaultTimeout(120000); // machines are busy
  page.troubles = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) page.troubles.push(m.text()); });
  page.on("pageerror", (e) => page.troubles.push(e.message));
  page.on("request", (r) => { if (!/^(file|blob):/.test(r.url())) page.troubles.push("request of " + r.url().slice(0, 80)); });
  await page.goto(`file://${path}#${hash}`);
  await page.waitForSelector("main[data-ready]", { timeout: 120000 });
  return page;
}

async function show(page, view) {
  await page.click(`.tabs [data-view=${view}]`);
  await page.waitForSelector(`main[data-ready^="${view}-"]`, { timeout: 120000 });
}

// Every view of a page, at one width.
async function everyView(path, width, views = VIEWS) {
  const page = await open(path, "view=summary", width);
  for (const view of views) {
    if (!(await page.$(`.tabs [data-view=${view}]`)) && view === "whatif") continue; // said in the notes
    await show(page, view);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `${view} is ${wide} px wider than the window`);
    check((await page.$$(".row")).length < 80, `${view} draws rows that are out of sight`);
    if (view === "graph") {
      const over = await page.evaluate(() => {
        const key = document.querySelector(".legend-at").getBoundingClientRect(), field = document.querySelector(".stage canvas").getBoundingClientRect();
        return innerWidth < 900 && key.top < field.bottom - 1;
      });
      check(!over, "the legend covers the graph");
    }
    const empty = await page.evaluate(() => document.querySelector("main").textContent.trim().length === 0);
    check(!empty, `${view} is empty`);
  }
  equal(page.troubles, [], "troubles");
  await page.close();
}

// Numbers in the page against the commands: key, value and what is shown.
async function numbers(page, wanted) {
  const found = await page.$$eval("main data[data-key]", (all) => all.map((d) => [d.dataset.key, Number(d.value), d.textContent]));
  check(found.length > 0, "no numbers");
  const seen = new Set();
  for (const [key, value, text] of found) {
    if (!(key in wanted)) continue;
    const list = [wanted[key]].flat();
    check(list.includes(value), `${key} is ${value}, not ${list.slice(0, 3)}`);
    const off = Math.abs(shown(text) - value);
    check(text === "<0.1%" || off <= Math.abs(value) * 0.006 + 0.0051 * (text.includes("%") ? 1 : 0) || off === 0, `${key} = ${value} is shown as ${text}`);
    seen.add(key);
  }
  for (const key of Object.keys(wanted)) check(seen.has(key), `${key} is not shown`);
}

const MODELS = ["alexnet", "resnet50", "densenet121", "swin_t", "googlenet",
  `${root}/tests/data/onnx/ssdlite320_mobilenet_v3_large.legacy.onnx`, `${root}/tests/data/report/hostile.onnx`,
  "yolo11n-seg", "vit_b_16", `${root}/tests/data/onnx/control_flow.onnx`, `${root}/tests/data/onnx/mobilenet_v2-qdq.onnx`, `${root}/tests/data/stablehlo/transformer.mlir`, `${root}/tests/data/onnx/maskrcnn_resnet50_fpn.legacy.onnx`, `${root}/tests/data/tflite/lstm_loop.tflite`];
const made = {};

// A 30,000-node export: a deep network written as ONNX, flat as exporters without
// module names leave it.
manyOnnx("export.onnx", { stages: 30, blocks: 250, named: false, grows: true, mixed: true });
MODELS.push("export.onnx");

await Promise.all(MODELS.map((model) =>
  test(`views of ${model.replace(/.*\//, "")}`, async () => {
    made[model] = files(model);
    const { path, html } = made[model];
    await everyView(path, 1280);
    const profile = json("profile", model);
    for (const layer of profile.layers) delete layer.parallelism;
    equal(block(html, "profile-0"), profile, "the profile in the page");
    equal(block(html, "memory-0"), json("memory", model), "memory in the page");
  })));

await Promise.all(MODELS.map((model) =>
  test(`narrow window: ${model.replace(/.*\//, "")}`, () => everyView(made[model].path, 390))));

await test("sizes", async () => {
  const viewer = readFileSync(root + "/web/dist/page.html").length, page = made["resnet50"].html.length;
  check(viewer <= 150e3, `the viewer has ${viewer} bytes`);
  check(page <= 250e3, `resnet50's report has ${page} bytes`);
});

await test("policy", async () => {
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(made["alexnet"].html)[1];
  check(policy.startsWith("default-src 'none'; script-src 'sha256-"), policy);
  check(!policy.includes("unsafe"), policy);
  const page = await open(made["alexnet"].path, "");
  const ran = await page.evaluate(() => {
    const s = document.createElement("script");
    s.textContent = "window.ran = 1";
    document.body.append(s);
    return window.ran === 1;
  });
  check(!ran, "another script ran");
  await page.close();
});

await test("numbers of the summary", async () => {
  for (const model of ["resnet50", "swin_t"]) {
    const p = json("profile", model), m = json("memory", model);
    const d = json("map", model, "--hardware", "h100-sxm,jetson-agx-orin,i7-12700k").devices;
    const page = await open(made[model].path, "view=summary");
    await numbers(page, {
      total_params: p.total_params, total_macs: p.total_macs, total_flops: p.total_flops, total_memory: p.total_memory,
      arithmetic_intensity: p.arithmetic_intensity, peak_bytes: m.peak_bytes, seconds: d.map((x) => x.seconds),
      "coverage.exact": p.coverage.exact, "bottlenecks.compute_bound": p.bottlenecks.compute_bound, "op_types.linear.flops": p.op_types.linear.flops,
    });
    await page.close();
  }
});

await test("numbers of the other views", async () => {
  const model = "googlenet", page = await open(made[model].path, "view=memory");
  const m = json("memory", model);
  await numbers(page, { peak_bytes: m.peak_bytes, weight_bytes: m.weight_bytes, total_bytes: m.total_bytes, arena_bytes: m.arena_bytes });
  const f = json("partition", model, "--strategy", "fusion"), c = json("partition", model, "--strategy", "capability", "--backend", "nvidia-dla");
  await show(page, "cuts");
  await numbers(page, { total_subgraphs: f.total_subgraphs, total_memory: f.total_memory, data_movement_reduction: f.data_movement_reduction,
    percentage: c.support.percentage / 100, crossing_bytes: c.crossing_bytes, "capability.total_subgraphs": c.total_subgraphs });
  const place = json("partition", model, "--strategy", "placement", "--hardware", "h100-sxm").placement.optimum;
  const pipe = json("partition", model, "--strategy", "pipeline", "--stages", "4", "--hardware", "h100-sxm").pipeline;
  await numbers(page, { "optimum.seconds": place.seconds, "placement.total_subgraphs": place.subgraphs, moved_bytes: place.moved_bytes,
    bottleneck: pipe.bottleneck, lower_bound: pipe.lower_bound, gap: pipe.gap });
  const t = json("concurrency", model, "--strategy", "fusion", "--streams", "4", "--hardware", "h100-sxm");
  await show(page, "timeline");
  await numbers(page, { work: t.work, span: t.span, makespan: t.schedule.makespan, max_parallel_ops_per_stage: t.max_parallel_ops_per_stage });
  const r = json("map", model, "--hardware", "h100-sxm,jetson-agx-orin,i7-12700k").devices;
  await show(page, "roofline");
  await numbers(page, { seconds: r.map((x) => x.seconds), throughput: r.map((x) => x.throughput), peak_share: r.map((x) => x.peak_share) });
  await page.close();
});

await test("table: all rows, sorted, filtered, grouped", async () => {
  const p = json("profile", "resnet50"), page = await open(made["resnet50"].path, "view=table&sort=-flops");
  const most = p.layers.reduce((a, b) => (b.flops > a.flops ? b : a));
  equal(await page.textContent(".row .cell:nth-child(2)"), most.name, "the first row");
  const cells = await page.$$eval(".row", (rows) => rows.map((r) => [r.children[1].textContent, Number(r.querySelector("[data-key=flops]").value), Number(r.querySelector("[data-key=params]").value)]));
  for (const [name, flops, params] of cells) {
    const layer = p.layers.find((l) => l.name === name);
    equal([flops, params], [layer.flops, layer.params], name);
  }
  await page.fill("input[type=search]", "conv2d 3x3 >200M");
  await page.waitForFunction(() => /^1\d match/.test(document.querySelector(".found").textContent), null, { timeout: 120000 });
  await page.fill("input[type=search]", "type:conv2d");
  equal(await page.textContent(".found"), `${p.op_types.conv2d.count} matches`, "matches");
  await page.fill("input[type=search]", "");
  await page.selectOption(".tools select", "type");
  const groups = await page.$$eval(".row", (rows) => rows.map((r) => [r.children[0].firstElementChild.firstChild.textContent, Number(r.querySelector("[data-key=flops]").value)]));
  for (const [type, flops] of groups) equal(flops, p.op_types[type].flops, type);
  await page.close();
});

await test("one selection, kept in the address", async () => {
  const page = await open(made["resnet50"].path, "view=table");
  await page.click(".row >> nth=4");
  const name = await page.textContent(".panel h2");
  check(page.url().includes("sel=4"), page.url());
  await show(page, "graph");
  equal(await page.textContent(".panel h2"), name, "the panel in the graph");
  await page.click("text=Reveal");
  const url = page.url(), again = await open(made["resnet50"].path, url.slice(url.indexOf("#") + 1));
  equal(await again.textContent(".panel h2"), name, "the panel after opening the address again");
  equal(await again.getAttribute("main", "data-ready"), "graph-0", "the view");
  equal([...page.troubles, ...again.troubles], [], "troubles");
  await page.close();
  await again.close();
});

await test("graph: modules open and close, keys and mouse", async () => {
  const page = await open(made["resnet50"].path, "view=graph&open=");
  const items = async () => Number((await page.textContent(".stage .status")).match(/^[\d\u202f]+/)[0].replace(/\u202f/g, ""));
  const closed = await items();
  await page.click("text=Open all");
  equal(await items(), 175, "items when all are open");
  await page.click("text=Fold all");
  equal(await items(), closed, "items when all are closed");
  await page.focus(".stage canvas");
  for (const key of ["ArrowDown", "w", "+", "-", "0", "n", "n", "Enter", "f", "Backspace", "Escape"]) await page.keyboard.press(key);
  await page.selectOption(".tools select", "bottleneck");
  await page.waitForSelector(".legend:has-text('bottleneck')");
  await page.mouse.move(500, 400);
  await page.mouse.wheel(0, 300);
  await page.mouse.down();
  await page.mouse.move(450, 300);
  await page.mouse.up();
  await page.click("text=Critical path");
  await page.waitForSelector(".panel h2");
  equal(page.troubles, [], "troubles");
  await page.close();
});

await test("no name of a model runs or becomes markup", async () => {
  const page = await open(made[MODELS[6]].path, "view=summary");
  for (const view of VIEWS) {
    if (!(await page.$(`.tabs [data-view=${view}]`)) && view === "whatif") continue;
    await show(page, view);
    for (let i = view === "table" ? 0 : 10; i < 13; i++) await page.evaluate((k) => { location.hash = location.hash.replace(/&sel=\d*|$/, "&sel=" + k); }, i);
    await page.waitForSelector(".panel h2");
    const state = await page.evaluate(() => [window.pwned ?? null, document.querySelectorAll("img, main script, main style, .panel script").length]);
    equal(state, [null, 0], view);
  }
  equal(page.troubles, [], "troubles");
  await page.close();
});

await test("two models", async () => {
  cleave("report", "resnet18", "resnet34", "-o", "two.html");
  const c = json("compare", "resnet18", "resnet34"), page = await open(process.cwd() + "/two.html", "view=compare");
  const wanted = {};
  c.models.forEach((m, i) => { for (const k of ["operators", "total_params", "total_macs", "total_flops", "total_memory", "peak_bytes"]) wanted[`${i}.${k}`] = m[k]; });
  await numbers(page, wanted);
  await page.selectOption(".top select", { index: 1 });
  await show(page, "summary");
  equal(await page.textContent("h1"), "resnet34", "the other model");
  await show(page, "compare");
  await page.click("text=Draw both as one graph");
  await page.waitForSelector("main[data-ready='graph-2']");
  equal(await page.$eval(".tools select", (s) => s.value), "difference", "the colour");
  const legend = Object.fromEntries(await page.$$eval(".legend .key", (keys) => keys.map((k) => [k.childNodes[1].textContent, Number(k.querySelector("small").textContent)])));
  equal(legend, { same: c.same, added: c.added }, "the legend");
  await show(page, "compare");
  await page.click("td:has-text('added') >> nth=0");
  await page.waitForSelector(".panel h2");
  const first = c.changes[0];
  equal(await page.textContent(".panel h2"), first.name, "the layer");
  const sides = Object.fromEntries(await page.$$eval(".panel data[data-key*='.']", (all) => all.map((d) => [d.dataset.key, Number(d.value)])));
  for (const k of ["flops", "macs", "params", "memory"]) equal([sides["before." + k], sides["after." + k]], [0, first.after[k]], k);
  check(await page.$eval("[data-view=memory]", (b) => b.disabled), "memory of two models");
  equal(page.troubles, [], "troubles");
  await page.close();
});

// Every figure of the page is that of the command it names, to the last bit.
await test("what if", async () => {
  const file = (name) => root + "/tests/data/onnx/" + name;
  const scenes = [["resnet50", "batch=16&type=1&device=1&int8=40-60&cpu=170.171&gone=3-5"], ["resnet50", "batch=3&type=3"], ["swin_t", "batch=5&cpu=10-40.77&device=2"],
    [file("bert_tiny.legacy.onnx"), "type=2&int8=1-30&gone=60.70-80"], ["densenet121", "batch=1000&type=3&device=2&cpu=1.3.5.7.9"], [file("yolov8n.legacy.onnx"), "batch=2&int8=0-400"],
    [root + "/tests/data/stablehlo/transformer.mlir", "type=2&int8=1-5&cpu=3-9&gone=20"]]; // in int8 it has more operators
  for (const [model, hash] of scenes) {
    const page = await open((made[model] ?? files(model)).path, "view=whatif&" + hash);
    const line = await page.textContent("code.command"), wanted = JSON.parse(execFileSync("bash", ["-c", line + " --json --quiet"], { encoding: "utf8" }));
    const found = await page.$$eval(".sums data[data-key]", (all) => all.map((d) => [d.dataset.key, Number(d.value)]));
    check(found.length === 24, `${found.length} figures`);
    for (const [key, value] of found) {
      const [side, name] = key.split(".");
      equal(value, wanted[side][name], `${line}: ${key}`);
    }
    equal(page.troubles, [], "troubles");
    await page.close();
  }
});

await test("what if: the selection", async () => {
  const page = await open(made["resnet50"].path, "view=whatif");
  const flops = () => page.$eval("[data-key='after.total_flops']", (d) => Number(d.value)), all = await flops();
  await page.click(".whatif .chips .chip >> nth=0");
  await page.click("text=Remove");
  const p = json("profile", "resnet50"), most = p.layers.reduce((a, b) => (b.flops > a.flops ? b : a));
  equal(await flops(), all - most.flops, "without the heaviest");
  await page.click("text=Leave as it is");
  equal(await flops(), all, "with it again");
  await page.fill("[aria-label=Batch]", "4");
  await page.press("[aria-label=Batch]", "Enter");
  equal(await flops(), json("profile", "resnet50", "--batch", "4").total_flops, "batch 4");
  check(page.url().includes("batch=4"), page.url());
  await page.close();
});

// A model of very many operators is folded: what repeats is shown once, nothing is
// lost, and the page says so.
await test("folded", async () => {
  const made = [["many", { stages: 60, blocks: 250 }], ["flat", { stages: 60, blocks: 250, named: false }], ["wider", { stages: 60, blocks: 250, grows: true }],
    ["mixed", { stages: 60, blocks: 250, named: false, mixed: true }], ["modules", { stages: 60, blocks: 250, mixed: true }]];
  for (const [name, how] of made) {
    const nodes = manyOnnx(`${name}.onnx`, how), { path, html } = files(`${name}.onnx`), p = json("profile", `${name}.onnx`), rows = block(html, "profile-0");
    check(html.length < 1.5e6, `${name}: the report has ${html.length} bytes`);
    check(rows.layers.length < 10000, `${name}: ${rows.layers.length} rows`);
    const { layers, coverage, ...totals } = p, { layers: shown, coverage: trust, ...whole } = rows;
    equal(whole, totals, `${name}: totals`);
    equal({ ...trust, unknown_ops: [] }, { ...coverage, unknown_ops: [] }, `${name}: trust`);
    equal(shown.reduce((n, l) => n + (l.folded ?? 1), 0), nodes, `${name}: operators`);
    for (const [key, total] of [["flops", "total_flops"], ["macs", "total_macs"], ["params", "total_params"], ["memory", "total_memory"], ["bytes_in", "bytes_in"], ["bytes_out", "bytes_out"], ["bytes_weights", "bytes_weights"]])
      equal(shown.reduce((n, l) => n + l[key], 0), p[total], `${name}: ${key}`);
    for (const [type, t] of Object.entries(p.op_types)) {
      const mine = shown.filter((l) => l.type === type);
      equal([mine.reduce((n, l) => n + (l.folded ?? 1), 0), mine.reduce((n, l) => n + l.flops, 0)], [t.count, t.flops], `${name}: ${type}`);
    }
    const cut = block(html, "fusion-0");
    equal(cut.subgraphs.reduce((n, s) => n + (s.folded ?? 1), 0), cut.total_subgraphs, `${name}: subgraphs`);
    equal(cut.subgraphs.map((s) => s.id), cut.subgraphs.map((_, i) => i), `${name}: their numbers`);
    equal(Math.max(...block(html, "memory-0").timeline), json("memory", `${name}.onnx`).peak_bytes, `${name}: the peak`);
    for (const width of [1280, 390]) await everyView(path, width);
    const page = await open(path, "view=summary");
    await numbers(page, { total_params: p.total_params, total_flops: p.total_flops, total_memory: p.total_memory });
    check((await page.textContent("p.folded")).startsWith("Folded: 60"), `${name}: the summary does not say so`);
    await show(page, "graph");
    check((await page.textContent(".stage .status")).includes("folded"), `${name}: the graph does not say so`);
    await page.click("text=Open all");
    await page.focus(".stage canvas");
    for (const key of ["n", "n", "f", "Enter", "Backspace", "0"]) await page.keyboard.press(key);
    await page.waitForSelector(".panel h2");
    await page.click("text=↓ Outputs");
    for (const color of ["bottleneck", "time", "subgraph", "device", "trust", "type", "intensity"]) await page.selectOption(".tools select", color);
    await show(page, "table");
    check((await page.textContent(".tools .status")).includes("operators, folded"), `${name}: the table does not say so`);
    await page.click("text=Select all");
    await page.waitForFunction((n) => document.querySelector(".panel h2")?.textContent.replace(/\D/g, "") === n, String(nodes));
    for (const view of ["memory", "timeline", "cuts", "roofline"]) await show(page, view);
    equal(page.troubles, [], `${name}: troubles`);
    await page.close();
  }
});

await test("two folded models", async () => {
  cleave("report", "many.onnx", "wider.onnx", "-o", "folded.html");
  const c = json("compare", "many.onnx", "wider.onnx"), page = await open(process.cwd() + "/folded.html", "view=compare");
  await numbers(page, { "0.total_flops": c.models[0].total_flops, "1.total_flops": c.models[1].total_flops });
  equal(await page.$("text=Draw both as one graph"), null, "a drawing of both");
  equal(page.troubles, [], "troubles");
  await page.close();
});

await test("light, dark and print", async () => {
  const page = await open(made["alexnet"].path, "view=summary");
  const before = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.click("[aria-label='Light or dark']");
  check(before !== (await page.evaluate(() => document.documentElement.dataset.theme)), "the theme did not change");
  await page.emulateMedia({ media: "print" });
  equal(await page.evaluate(() => getComputedStyle(document.querySelector(".tabs")).display), "none", "tabs in print");
  const unnamed = await page.$$eval("button, input, select, canvas", (all) => all.filter((e) => !(e.textContent.trim() || e.ariaLabel || e.title || e.labels?.length || e.ariaHidden === "true")).map((e) => e.outerHTML.slice(0, 80)));
  equal(unnamed, [], "controls without a name");
  await page.emulateMedia({ media: "screen" });
  await show(page, "table");
  await page.setViewportSize({ width: 1280, height: 300 });
  const rows = async () => (await page.$$(".row")).length, all = json("profile", "alexnet").layers.length;
  check((await rows()) < all, "rows out of sight are drawn");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  equal(await rows(), all, "rows in print");
  await page.close();
});

await browser.close();
console.log(`# ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
