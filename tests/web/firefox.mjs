// firefox.mjs - the page of `cleave report` in Firefox: every view opens at both
// widths, draws something, says what --json says, and asks for nothing. timeout: 600
//
// Needs Debian's firefox-esr (or a firefox), driven by WebDriver BiDi.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { manyOnnx } from "./lib/large.mjs";

const root = process.env.CLEAVE_ROOT;
const FIREFOX = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((p) => existsSync(p));
if (!FIREFOX) {
  console.log("SKIP no firefox (Debian: firefox-esr)");
  console.log("# 0 passed, 0 failed, 1 skipped");
  process.exit(0);
}
const { _bidiFirefox } = createRequire(root + "/web/")("playwright-core");
const VIEWS = ["summary", "graph", "table", "roofline", "timeline", "memory", "cuts", "whatif"];
const WAIT = { timeout: 120000 };

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
function equal(got, want, what) { if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`); }

const cleave = (...args) => execFileSync("cleave", [...args, "--quiet"], { maxBuffer: 1 << 28, encoding: "utf8" });

const browser = await _bidiFirefox.launch({ executablePath: FIREFOX, timeout: 120000 });

async function open(file, hash, width) {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  page.troubles = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) page.troubles.push(m.text()); });
  page.on("pageerror", (e) => page.troubles.push(e.message));
  page.on("request", (r) => { if (!/^(file|blob):/.test(r.url())) page.troubles.push("request of " + r.url().slice(0, 80)); });
  await page.goto(`file://${process.cwd()}/${file}#${hash}`);
  await page.waitForSelector("main[data-ready]", WAIT);
  return page;
}

// How many colours the largest canvas of the view has; none without a canvas.
const colours = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const c = [...document.querySelectorAll("main canvas:not(.minimap)")].sort((a, b) => b.width * b.height - a.width * a.height)[0];
  if (!c) return done(null);
  const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4) seen.add(`${d[i]} ${d[i + 1]} ${d[i + 2]} ${d[i + 3]}`);
  done(seen.size);
})));

manyOnnx("many.onnx", { stages: 60, blocks: 250, grows: true });
const MODELS = ["alexnet", "resnet50", "densenet121", `${root}/tests/data/report/hostile.onnx`, "many.onnx"];
for (const model of MODELS) {
  const name = model.replace(/.*\//, "");
  for (const width of [1280, 390])
    await test(`${name} at ${width}`, async () => {
      cleave("report", model, "-o", "page.html");
      const page = await open("page.html", "view=summary", width);
      const p = JSON.parse(cleave("profile", model, "--json"));
      const shown = Object.fromEntries(await page.$$eval("main data[data-key]", (all) => all.map((d) => [d.dataset.key, Number(d.value)])));
      for (const key of ["total_params", "total_macs", "total_flops", "total_memory"]) equal(shown[key], p[key], key);
      for (const view of VIEWS) {
        if (!(await page.$(`.tabs [data-view=${view}]`)) && view === "whatif") continue; // said in the notes
        await page.click(`.tabs [data-view=${view}]`);
        await page.waitForSelector(`main[data-ready^="${view}-"]`, WAIT);
        equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${view} is too wide`);
        const n = await page.evaluate(colours);
        if (n !== null && n < 3) throw new Error(`${view} is blank`);
      }
      equal(await page.evaluate(() => window.pwned ?? null), null, "a name that ran");
      equal(page.troubles, [], "troubles");
      await page.close();
    });
}

await test("one selection, and the keyboard", async () => {
  cleave("report", "resnet50", "-o", "page.html");
  const page = await open("page.html", "view=table&sort=-flops", 1280);
  await page.click(".row >> nth=0");
  const name = await page.textContent(".panel h2");
  await page.click(".tabs [data-view=graph]");
  await page.waitForSelector("main[data-ready^=graph]", WAIT);
  equal(await page.textContent(".panel h2"), name, "the panel in the graph");
  await page.focus(".stage canvas");
  for (const key of ["f", "ArrowDown", "+", "0", "Escape"]) await page.keyboard.press(key);
  equal(await page.$(".has-panel"), null, "the selection after Escape");
  await page.fill("input[type=search]", "type:conv2d");
  equal(await page.textContent(".found"), `${JSON.parse(cleave("profile", "resnet50", "--json")).op_types.conv2d.count} matches`, "matches");
  equal(page.troubles, [], "troubles");
  await page.close();
});

await browser.close();
console.log(`# ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
