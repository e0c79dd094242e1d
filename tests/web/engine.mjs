// engine.mjs - the engine as WebAssembly answers what the command answers, byte
// for byte, on every ONNX file there is, and reads little of a large one. Skips
// by name without clang and wasi-libc (tools/deps web). timeout: 600, builds: plain
//
// All files go through one process and one compiled module.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { largeOnnx } from "./lib/large.mjs";

const root = process.env.CLEAVE_ROOT, build = root + "/build-web";
const SUITE = "/usr/share/libonnx-testdata/data";
let passed = 0, failed = 0, skipped = 0;
const ok = (name) => { passed++; console.log(`ok ${name}`); };
const bad = (name, why) => { failed++; console.log(`FAIL ${name}: ${why}`); };
const skip = (name, why) => { skipped++; console.log(`SKIP ${name}: ${why}`); };
const end = () => { console.log(`# ${passed} passed, ${failed} failed, ${skipped} skipped`); process.exit(failed ? 1 : 0); };

const tools = ["clang", "wasm-ld", "wasm-opt"].filter((t) => spawnSync("which", [t]).status !== 0);
if (tools.length || !existsSync("/usr/lib/wasm32-wasi/libc.a")) {
  skip("engine", `no ${tools[0] ?? "wasi-libc"} (tools/deps web installs it)`);
  end();
}
const made = spawnSync(root + "/web/engine/build", ["--engine", build], { encoding: "utf8" });
if (made.status !== 0) {
  bad("engine: build", (made.stdout + made.stderr).split("\n").find((l) => /error/.test(l)) ?? "failed");
  end();
}
const { System } = await import(build + "/wasi.mjs");
const wasm = new WebAssembly.Module(readFileSync(build + "/cleave.wasm"));
if (statSync(build + "/cleave.wasm").size <= 2 << 20) ok("size: at most 2 MB");
else bad("size: at most 2 MB", `${statSync(build + "/cleave.wasm").size} bytes`);

function source(path, name) {
  const fd = openSync(path, "r");
  return { name, size: statSync(path).size, close: () => closeSync(fd), read: (at, n) => {
    const bytes = new Uint8Array(n);
    return bytes.subarray(0, readSync(fd, bytes, 0, n, at));
  } };
}

// Runs the engine in a folder of one file.
function engine(path, ...args) {
  const name = basename(path), file = source(path, name), system = new System(["cleave", ...args.map((a) => (a === "MODEL" ? name : a))], [file]);
  try {
    const done = system.run(wasm);
    return { ...done, out: Buffer.from(done.out).toString("utf8"), read: system.read };
  } finally {
    file.close();
  }
}

function found(folder, list = []) {
  for (const f of existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [])
    if (f.isDirectory()) found(join(folder, f.name), list);
    else if (f.name.endsWith(".onnx")) list.push(join(folder, f.name));
  return list;
}

// The command's answer, as it prints it: one process per file.
function command(path, ...args) {
  const done = spawnSync("cleave", args.map((a) => (a === "MODEL" ? basename(path) : a)), { cwd: join(path, ".."), encoding: "utf8", maxBuffer: 1 << 28 });
  return { exit: done.status, out: done.stdout, err: done.stderr };
}

function same(what, files, ...args) {
  let n = 0;
  for (const path of files) {
    let e;
    try { e = engine(path, ...args); } catch (x) { e = { exit: -1, out: "", err: String(x) }; }
    const c = command(path, ...args);
    if (e.exit === c.exit && e.out === c.out && e.err === c.err) n++;
    else bad(`${what} ${path.replace(root + "/", "")}`, `exit ${e.exit} and ${c.exit}; ${e.err === c.err ? "other text" : `${e.err.trim().slice(0, 120)} / ${c.err.trim().slice(0, 120)}`}`);
  }
  if (n === files.length) ok(`${what}: ${n} files`);
}

const ours = found(root + "/tests/data/onnx"), suite = found(SUITE);
same("profile, tests/data/onnx", ours, "profile", "MODEL", "--json");
if (suite.length) same("profile, the ONNX suite", suite, "profile", "MODEL", "--json");
else skip("profile, the ONNX suite", "no libonnx-testdata");

// Other reports, and files that are no models.
const few = ours.filter((_, i) => i % 40 === 0);
for (const [what, ...args] of [["partition", "--strategy", "fusion"], ["memory"], ["concurrency"], ["partition", "--strategy", "capability", "--backend", "nvidia-dla"], ["map", "--hardware", "h100-sxm"], ["diagnose"]])
  same(what, few, what, "MODEL", ...args.slice(0), "--json");
writeFileSync("empty.onnx", "");
writeFileSync("text.onnx", "this is no model\n".repeat(5000));
writeFileSync("cut.onnx", readFileSync(ours[0]).subarray(0, 300));
const here = process.cwd() + "/";
same("files that are no models", ["empty.onnx", "text.onnx", "cut.onnx"].map((f) => here + f), "profile", "MODEL", "--json");

// Other formats, packed archives among them.
const others = ["torch", "tflite", "stablehlo"].flatMap((d) => (existsSync(`${root}/tests/data/${d}`) ? readdirSync(`${root}/tests/data/${d}`) : []).filter((f) => /\.(pt2|pt|tflite|mlir)$/.test(f)).slice(0, 12).map((f) => `${root}/tests/data/${d}/${f}`));
if (others.length) same("other formats", others, "profile", "MODEL", "--json");
else skip("other formats", "no files");

// A large file: the same answer, and little of it is read.
const size = largeOnnx("large.onnx", 36, 2048);
same(`a file of ${Math.round(size / 1e6)} MB`, [here + "large.onnx"], "profile", "MODEL", "--json");
const { read } = engine(here + "large.onnx", "report", "MODEL", "-o", "/dev/stdout");
if (read < size / 100) ok("a large file: less than a hundredth is read");
else bad("a large file: less than a hundredth is read", `${read} of ${size} bytes`);
const over = { name: "over.onnx", size: 5e9, read: (_, n) => new Uint8Array(n) };
const refused = new System(["cleave", "profile", "over.onnx"], [over]).run(wasm);
if (refused.exit === 3 && /4 GB at most/.test(refused.err) && refused.err.trim().split("\n").length === 1) ok("a file of 5 GB: one line");
else bad("a file of 5 GB: one line", refused.err.slice(0, 200));
end();
