// worker.ts - runs the engine beside the page, which stays quick. Files are read
// in slices, as the engine touches them.
import { System, type Source } from "./wasi";

interface Slices { readAsArrayBuffer(b: Blob): ArrayBuffer }
declare const FileReaderSync: new () => Slices;

export interface Ask { engine?: ArrayBuffer; files?: File[]; flags?: string[] }
export interface Answer { page?: Uint8Array; why?: string; read?: number; size?: number; ms?: number }

let engine: Promise<WebAssembly.Module> | undefined;

function source(file: File, name: string): Source {
  const reader = new FileReaderSync();
  return { name, size: file.size, read: (at, n) => new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + n))) };
}

// Two files may have one name.
function named(files: File[]): Source[] {
  const seen = new Set<string>();
  return files.map((f) => {
    let name = f.name.replace(/[/\\]/g, "_").replace(/^-/, "_");
    while (seen.has(name)) name = "other-" + name;
    seen.add(name);
    return source(f, name);
  });
}

async function report(files: File[], flags: string[]): Promise<Answer> {
  const began = performance.now(), sources = named(files);
  const system = new System(["cleave", "report", ...sources.map((s) => s.name), ...flags, "-o", "/dev/stdout"], sources);
  const done = system.run(await engine!);
  if (done.exit !== 0) return { why: done.err.trim().replace(/^cleave: /, "") || `the engine ended with ${done.exit}` };
  return { page: done.out, read: system.read, size: files.reduce((n, f) => n + f.size, 0), ms: performance.now() - began };
}

onmessage = (e: MessageEvent<Ask>): void => {
  if (e.data.engine) engine = WebAssembly.compile(e.data.engine);
  if (e.data.files)
    report(e.data.files, e.data.flags ?? []).catch((x: unknown): Answer => ({ why: `the engine failed: ${x instanceof Error ? x.message : String(x)}` }))
      .then((answer) => postMessage(answer));
};
