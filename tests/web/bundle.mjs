// bundle.mjs - the committed page is what the sources give. timeout: 200
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const root = process.env.CLEAVE_ROOT, out = process.cwd() + "/page.html";
execFileSync(root + "/web/build", [out], { stdio: "inherit" });
const same = readFileSync(out).equals(readFileSync(root + "/web/dist/page.html"));
console.log(same ? "ok bundle" : "FAIL web/dist/page.html is not what web/src gives; run web/build");
console.log(`# ${same ? 1 : 0} passed, ${same ? 0 : 1} failed, 0 skipped`);
process.exit(same ? 0 : 1);
