// assemble.mjs OUT WASM VIEWER SCRIPT WORKER STYLE - one page of all of them.
//
// The frame that shows a report inherits the policy of this page, so that names
// the program and the style of the viewer too.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [out, wasm, viewer, ...texts] = process.argv.slice(2);
const [script, worker, style] = texts.map((f) => readFileSync(f, "utf8").trimEnd());
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
if ([script, worker].some((t) => /<\/script|<!--/i.test(t)) || /<\/style/i.test(style))
    throw new Error("the program would end its own element");
const [, programs] = /script-src ([^;]*)/.exec(readFileSync(viewer, "utf8"));
const [, styles] = /style-src ([^;]*)/.exec(readFileSync(viewer, "utf8"));
const policy = [
    "default-src 'none'",
    `script-src ${hash(script)} ${programs} 'wasm-unsafe-eval'`,
    `style-src ${hash(style)} ${styles}`,
    "worker-src blob:",
    "frame-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
].join("; ");
const page = readFileSync(new URL("../src/engine/page.html", import.meta.url), "utf8")
    .replace("@policy@", () => policy)
    .replace("@style@", () => style)
    .replace("@worker@", () => worker)
    .replace("@engine@", () => gzipSync(readFileSync(wasm), { level: 9 }).toString("base64"))
    .replace("@script@", () => script);
writeFileSync(out, page);
