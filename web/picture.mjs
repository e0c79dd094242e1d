// picture.mjs PAGE OUT - a picture of the graph in a page, with one selection.
import { chromium } from "playwright-core";

const [page, out] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const tab = await browser.newPage({ viewport: { width: 1200, height: 720 } });
await tab.goto(`file://${page}#view=graph&color=bottleneck&open=`);
await tab.waitForSelector("main[data-ready]", { timeout: 120000 });
const click = (label) => tab.click(`text=${label}`);
await tab.fill("input[type=search]", "inception3a");
await tab.press("input[type=search]", "Enter");
await tab.fill("input[type=search]", "");
await click("Reveal");
await tab.waitForTimeout(600);
await tab.screenshot({ path: out });
await browser.close();
