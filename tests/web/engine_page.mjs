// engine_page.mjs - cleave.html in a real browser: files that are dropped or
// chosen are shown by the report, with the command's numbers; bad ones are one
// line; nothing is requested; no name runs. Skips by name without clang and
// wasi-libc. timeout: 300, builds: plain
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { largeOnnx } from "./lib/large.mjs";

const root = process.env.CLEAVE_ROOT, build = root + "/build-web";
const { chromium } = createRequire(root + "/web/")("playwright-core");
const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((p) => existsSync(p));
let passed = 0, failed = 0, skipped = 0;
const end = () => { console.log(`# ${passed} passed, ${failed} failed, ${skipped} skipped`); process.exit(failed ? 1 : 0); };
async function test(name, f) {
  try {
    const more = await f();
    passed++;
    console.log(`ok ${name}${more ? ` (${more})` : ""}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${String(e.message).split("\n")[0]}`);
  }
}
function check(cond, why) { if (!cond) throw new Error(why); }

const tools = ["clang", "wasm-ld", "wasm-opt"].filter((t) => spawnSync("which", [t]).status !== 0);
if (tools.length || !existsSync("/usr/lib/wasm32-wasi/libc.a")) {
  skipped++;
  console.log(`SKIP engine_page: no ${tools[0] ?? "wasi-libc"} (tools/deps web installs it)`);
  end();
}
const made = spawnSync(root + "/web/engine/build", [build], { encoding: "utf8" });
check(made.status === 0, made.stdout + made.stderr);

const json = (...args) => JSON.parse(execFileSync("cleave", [...args, "--json", "--quiet"], { maxBuffer: 1 << 28, encoding: "utf8" }));
const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });

async function start() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  page.troubles = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) page.troubles.push(m.text()); });
  page.on("pageerror", (e) => page.troubles.push(e.message));
  page.on("request", (r) => { if (!/^(file|blob):/.test(r.url())) page.troubles.push("request of " + r.url().slice(0, 80)); });
  await page.goto(`file://${build}/cleave.html`);
  return page;
}

async function settled(page) {
  await page.waitForFunction(() => ["shown", "failed"].includes(document.documentElement.dataset.cleave), null, { timeout: 120000 });
  const frame = page.frames()[1];
  if ((await page.evaluate(() => document.documentElement.dataset.cleave)) === "shown") await frame.waitForSelector("main[data-ready]", { timeout: 120000 });
  return frame;
}

const dropped = (page, name, data) => page.evaluate(([n, b64]) => {
  const t = new DataTransfer();
  t.items.add(new File([Uint8Array.from(atob(b64), (c) => c.charCodeAt(0))], n));
  document.documentElement.dataset.cleave = "";
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: t, bubbles: true, cancelable: true }));
}, [name, data.toString("base64")]);

const block = (frame, id) => frame.evaluate(async (i) => {
  const packed = Uint8Array.from(atob(document.getElementById(i).textContent), (c) => c.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
}, id);

async function sameTotals(frame, path, i = 0, ...flags) {
  const want = json("profile", path, ...flags), got = await block(frame, `profile-${i}`);
  for (const key of ["total_flops", "total_macs", "total_params", "total_memory", "operators", "weight_bytes"])
    check(got[key] === want[key], `${key}: ${got[key]}, the command says ${want[key]}`);
  check(got.layers.length === want.layers.length, "as many layers");
}

function quiet(page) { check(page.troubles.length === 0, page.troubles[0]); }

const FILES_OF_TORCH = ["net.pt2", "legacy.pt"].map((f) => root + "/tests/data/torch/" + f);
execFileSync("cleave", ["export", "resnet18", "-o", "resnet18.onnx"], { stdio: "ignore" });
const two = process.cwd() + "/resnet18.onnx";

await test("a file is dropped, then another: each is shown", async () => {
  const page = await start();
  await dropped(page, "resnet18.onnx", readFileSync(two));
  let frame = await settled(page);
  await sameTotals(frame, two);
  for (const view of ["graph", "table", "roofline", "timeline", "memory", "cuts"]) {
    await frame.click(`.tabs [data-view=${view}]`);
    await frame.waitForSelector(`main[data-ready^="${view}-"]`);
  }
  execFileSync("cleave", ["export", "squeezenet1_0", "-o", "squeezenet1_0.onnx"], { stdio: "ignore" });
  await dropped(page, "squeezenet1_0.onnx", readFileSync("squeezenet1_0.onnx"));
  frame = await settled(page);
  await sameTotals(frame, "squeezenet1_0.onnx");
  quiet(page);
  await page.close();
});

await test("two files are compared; the saved report is packed", async () => {
  const page = await start();
  await page.setInputFiles("#choose", [two, process.cwd() + "/squeezenet1_0.onnx"]);
  const frame = await settled(page);
  await sameTotals(frame, two, 0);
  await sameTotals(frame, "squeezenet1_0.onnx", 1);
  check(await frame.$(".tabs [data-view=compare]"), "no view of the difference");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  await saved.saveAs("saved.html");
  execFileSync("cleave", ["report", two, "squeezenet1_0.onnx", "-o", "native.html"]);
  const size = readFileSync("saved.html").length, native = readFileSync("native.html").length;
  check(size < 1.2 * native, `${size} bytes, the command's ${native}`);
  quiet(page);
  await page.close();
});

await test("every format that is read; weights beside a model are not needed", async () => {
  const page = await start(), data = root + "/tests/data";
  for (const path of [data + "/tflite/add.tflite", data + "/stablehlo/mlp.mlir", data + "/onnx_external/model.onnx", ...FILES_OF_TORCH]) {
    await page.evaluate(() => { document.documentElement.dataset.cleave = ""; });
    await page.setInputFiles("#choose", path);
    const frame = await settled(page);
    check(frame && (await page.$("#status:not(.bad)")), `${path}: ${await page.textContent("#status")}`);
    await sameTotals(frame, path);
  }
  await page.setInputFiles("#choose", root + "/tests/data/torch/scripted.pt"); // has no shapes
  await page.waitForSelector("#status.bad:has-text('--input-shape')");
  await page.fill("#flags", "--input-shape 1,3,32,32");
  await page.evaluate(() => { document.documentElement.dataset.cleave = ""; });
  await page.press("#flags", "Enter");
  const frame = await settled(page);
  await sameTotals(frame, root + "/tests/data/torch/scripted.pt", 0, "--input-shape", "1,3,32,32");
  quiet(page);
  await page.close();
});

await test("no name of a model or a file runs or becomes markup", async () => {
  const page = await start(), hostile = readFileSync(root + "/tests/data/report/hostile.onnx");
  await dropped(page, "<img src=x onerror=window.pwned=1>.onnx", hostile);
  const frame = await settled(page);
  for (const view of ["summary", "graph", "table", "cuts"]) {
    await frame.click(`.tabs [data-view=${view}]`);
    await frame.waitForSelector(`main[data-ready^="${view}-"]`);
    check((await frame.evaluate(() => window.pwned ?? document.querySelectorAll("img, main script").length)) === 0, `a name ran in ${view}`);
  }
  check((await page.evaluate(() => window.pwned ?? document.querySelectorAll("img").length)) === 0, "a name ran");
  quiet(page);
  await page.close();
});

await test("policy: no other script runs, nothing is fetched", async () => {
  const page = await start();
  const policy = await page.$eval("meta[http-equiv=Content-Security-Policy]", (m) => m.content);
  check(policy.startsWith("default-src 'none'; script-src 'sha256-") && !/unsafe-(inline|eval)(?!-)|https?:|\*/.test(policy.replace("'wasm-unsafe-eval'", "")), policy);
  const got = await page.evaluate(async () => {
    const s = document.createElement("script");
    s.textContent = "window.ran = 1";
    document.body.append(s);
    return [window.ran ?? 0, await fetch("https://example.org/").then(() => 1, () => 0)];
  });
  check(got.join() === "0,0", `ran, fetched: ${got}`);
  await page.close();
});

await test("bad files are one line", async () => {
  const page = await start();
  for (const [name, data, why] of [["empty.onnx", "", /empty/], ["bad.onnx", "\x08\x08\x3a\xff\xff\xff\x7f", /./], ["<b>.txt", "hello", /./]]) {
    await dropped(page, name, Buffer.from(data, "latin1"));
    await settled(page);
    const text = await page.textContent("#status.bad");
    check(why.test(text) && !text.includes("\n") && text.includes(name), `${name}: ${text}`);
  }
  quiet(page);
  await page.close();
});

await test("of a file of 604 MB only the graph is read", async () => {
  largeOnnx("large.onnx", 36, 2048);
  const page = await start();
  await dropped(page, "resnet18.onnx", readFileSync(two)); // the engine is there
  await settled(page);
  const times = [];
  for (let i = 0; i < 3; i++) {
    await page.evaluate(() => { document.documentElement.dataset.cleave = ""; });
    const began = performance.now();
    await page.setInputFiles("#choose", "large.onnx");
    const frame = await settled(page);
    times.push(Math.round(performance.now() - began));
    await sameTotals(frame, "large.onnx");
  }
  const said = await page.textContent("#status"), [read, all] = said.match(/[\d,]+(?= (of|bytes))/g).map((n) => +n.replaceAll(",", ""));
  check(all > 600e6 && read < 2e6, said);
  quiet(page);
  await page.close();
  return `${times} ms; ${said}`;
});

for (const path of (process.env.CLEAVE_OPEN ?? "").split(":").filter(Boolean))
  await test(`open ${path}`, async () => {
    const page = await start(), began = performance.now();
    await page.setInputFiles("#choose", path);
    const frame = await settled(page), ms = performance.now() - began;
    await sameTotals(frame, path);
    quiet(page);
    const said = await page.textContent("#status");
    await page.close();
    return `${Math.round(ms)} ms to the first view; ${said}`;
  });

await browser.close();
end();
