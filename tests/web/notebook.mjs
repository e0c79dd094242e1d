// notebook.mjs - what `graph.show()` gives a notebook, in real browsers: the frame
// shows the whole report, cut off from the page around it. timeout: 600
//
// Needs Python 3 and the built extension; Firefox is tried where it is there.
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const root = process.env.CLEAVE_ROOT, build = process.env.CLEAVE_BUILD;
function skip(why) {
  console.log(`SKIP ${why}`);
  console.log("# 0 passed, 0 failed, 1 skipped");
  process.exit(0);
}
if (!existsSync(`${build}/python/cleave/_cleave.abi3.so`)) skip("the Python extension was not built");

let skipped = 0;
const { chromium, _bidiFirefox } = createRequire(root + "/web/")("playwright-core");
const FIREFOX = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((p) => existsSync(p));
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((p) => existsSync(p));
const BROWSERS = [["chromium", () => chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"] })]];
if (FIREFOX) BROWSERS.push(["firefox", () => _bidiFirefox.launch({ executablePath: FIREFOX, timeout: 120000 })]);
else console.log("SKIP no firefox (Debian: firefox-esr)"), skipped++;
const VIEWS = ["summary", "graph", "table", "roofline", "timeline", "memory", "cuts"];
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

// As a notebook does it: the output of a cell is put into the page as HTML.
const code = "import cleave, json; print(json.dumps(cleave.load('resnet18').show(height=700)._repr_html_()))";
let html;
try {
  html = JSON.parse(execFileSync("python3", ["-c", code], { env: { ...process.env, PYTHONPATH: `${build}/python` }, maxBuffer: 1 << 26, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
} catch {
  skip("this python3 cannot import the extension");
}
const host = "<!doctype html><meta charset=utf-8><title>notebook</title><div id=out></div>";
writeFileSync("notebook.html", host);
const profile = JSON.parse(execFileSync("cleave", ["profile", "resnet18", "--json", "--quiet"], { encoding: "utf8" }));

for (const [name, launch] of BROWSERS) {
  const browser = await launch();
  for (const width of [1280, 390])
    await test(`${name} at ${width}`, async () => {
      const page = await browser.newPage({ viewport: { width, height: 800 } }), troubles = [];
      page.on("console", (m) => { if (["error", "warning"].includes(m.type())) troubles.push(m.text()); });
      page.on("pageerror", (e) => troubles.push(e.message));
      page.on("request", (r) => { if (!/^(file|blob|about|data):/.test(r.url())) troubles.push("request of " + r.url().slice(0, 80)); });
      await page.goto(`file://${process.cwd()}/notebook.html`);
      await page.evaluate((text) => { document.getElementById("out").innerHTML = text; }, html);
      const frame = page.frameLocator("iframe");
      await frame.locator("main[data-ready]").waitFor(WAIT);
      equal(await frame.locator("h1").textContent(), "resnet18", "the title");
      equal(Number(await frame.locator("data[data-key=total_flops]").first().getAttribute("value")), profile.total_flops, "FLOPs");
      for (const view of VIEWS) {
        await frame.locator(`.tabs [data-view=${view}]`).click();
        await frame.locator(`main[data-ready^="${view}-"]`).waitFor(WAIT);
      }
      await frame.locator(".tabs [data-view=table]").click();
      await frame.locator(".row >> nth=3").click();
      equal(await frame.locator(".panel h2").textContent(), profile.layers[3].name, "the panel");
      equal(page.url().includes("#"), false, "the address of the notebook changed");
      const inside = page.frames().find((f) => f !== page.mainFrame());
      const outside = await inside.evaluate(() => { try { return top.document.title; } catch { return "out of reach"; } });
      equal(outside, "out of reach", "the page around the frame");
      equal(troubles, [], "troubles");
      await page.close();
    });
  await browser.close();
}

console.log(`# ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed ? 1 : 0);
