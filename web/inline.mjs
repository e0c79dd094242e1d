// inline.mjs TEMPLATE SCRIPT STYLE OUT - puts script and style into the page,
// and their hashes into its policy.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [template, scriptFile, styleFile, out] = process.argv.slice(2);
const script = readFileSync(scriptFile, "utf8").trimEnd();
const style = readFileSync(styleFile, "utf8").trimEnd();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style))
    throw new Error("the program would end its own element");
const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
].join("; ");
const page = readFileSync(template, "utf8")
    .replace("@policy@", () => policy)
    .replace("@style@", () => style)
    .replace("@script@", () => script);
writeFileSync(out, page);
