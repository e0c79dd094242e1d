// app.ts - the page cleave.html: files are dropped or chosen, the engine writes
// their report, a frame shows it. Nothing leaves the page.
import type { Answer, Ask } from "./worker";

const MOST = 2; // models in a report

const $ = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const status = $("status"), place = $("place"), choose = $<HTMLInputElement>("choose"), save = $<HTMLButtonElement>("save"), flags = $<HTMLInputElement>("flags");
let last: File[] = [];
let worker: Worker | null = null, shown = "", page = "", name = "report";

function say(text: string, bad = false): void {
  status.textContent = text;
  status.className = bad ? "bad" : "";
}

async function unpacked(text: string, format: CompressionFormat): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream(format))).arrayBuffer());
}

async function start(): Promise<Worker> {
  const url = URL.createObjectURL(new Blob([$("worker").textContent ?? ""], { type: "text/javascript" }));
  const made = new Worker(url);
  const engine = (await unpacked($("engine").textContent ?? "", "gzip")).buffer as ArrayBuffer;
  made.postMessage({ engine } satisfies Ask, [engine]);
  return made;
}

const ask = (w: Worker, files: File[]): Promise<Answer> => new Promise((done) => {
  w.onmessage = (e: MessageEvent<Answer>) => done(e.data);
  w.onerror = (e) => done({ why: `the engine failed: ${e.message}` });
  w.postMessage({ files, flags: flags.value.split(/\s+/).filter(Boolean) } satisfies Ask);
});

function show(bytes: Uint8Array): void {
  if (shown) URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(new Blob([bytes as BlobPart], { type: "text/html" }));
  const frame = document.createElement("iframe");
  frame.title = "Report";
  frame.addEventListener("load", () => {
    if (frame.contentDocument) accept(frame.contentDocument);
    document.documentElement.dataset["cleave"] = "shown";
  });
  frame.src = shown + location.hash;
  place.replaceChildren(frame);
}

export async function open(files: File[]): Promise<void> {
  if (files.length === 0) return;
  last = files;
  if (files.length > MOST) return say(`${files.length} files; a report takes one model, or two to compare`, true);
  say(`Reading ${files.map((f) => f.name).join(" and ")} ...`);
  document.documentElement.dataset["cleave"] = "busy";
  worker ??= await start();
  const answer = await ask(worker, files);
  if (!answer.page) {
    document.documentElement.dataset["cleave"] = "failed";
    return say(answer.why ?? "no answer", true);
  }
  page = new TextDecoder().decode(answer.page);
  name = files.map((f) => f.name.replace(/\.[^.]*$/, "")).join("-");
  document.title = `${name} - cleave`;
  document.body.className = "full";
  save.hidden = false;
  say(`${files.map((f) => f.name).join(" and ")}: read ${answer.read!.toLocaleString("en")} of ${answer.size!.toLocaleString("en")} bytes in ${Math.round(answer.ms!)} ms; nothing left this page`);
  show(answer.page);
}

// Packs a block for a file: the engine leaves that to the browser.
async function packed(block: string): Promise<string> {
  const plain = await unpacked(block, "deflate");
  const bytes = new Uint8Array(await new Response(new Blob([plain as BlobPart]).stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 3 * 8192) text += btoa(String.fromCharCode(...bytes.subarray(i, i + 3 * 8192)));
  return text;
}

async function keep(): Promise<void> {
  const parts = page.split(/(?<=<script type="application\/x-cleave" id="[\w-]+">)([A-Za-z0-9+/=]*)(?=<\/script>)/);
  for (let i = 1; i < parts.length; i += 2) parts[i] = await packed(parts[i]!);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/html" }));
  link.download = `${name}.html`;
  link.click();
}

function accept(doc: Document): void {
  doc.addEventListener("dragover", (e) => e.preventDefault());
  doc.addEventListener("drop", (e) => {
    e.preventDefault();
    void open([...(e.dataTransfer?.files ?? [])]);
  });
}

accept(document);
choose.addEventListener("change", () => {
  const files = [...(choose.files ?? [])];
  choose.value = ""; // the same file may be chosen again
  void open(files);
});
flags.addEventListener("change", () => void open(last)); // as `cleave report` takes them
save.addEventListener("click", () => void keep());
