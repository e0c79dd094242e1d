// wasi.ts - the system that the engine runs on: a folder of files that are read
// in pieces, standard output and error, a clock. As much of WASI (preview 1) as
// wasi-libc asks for; all else answers "no such call".
import { inflateSync } from "fflate";

// A file whose bytes are read when they are asked for.
export interface Source { name: string; size: number; read(at: number, n: number): Uint8Array }
export interface Result { exit: number; out: Uint8Array; err: string }

const OK = 0, BADF = 8, EXIST = 20, INVAL = 28, ISDIR = 31, NOENT = 44, NOSYS = 52, SPIPE = 70, NOTCAPABLE = 76;
const CHARACTER = 2, DIRECTORY = 3, REGULAR = 4;
const FOLDERS = [".", "/dev"], FIRST = 3; // preopened, from this descriptor on
const CREATES = 1 | 8; // flags of path_open: create, truncate

class Exit { constructor(readonly code: number) {} }

// Bytes that come in pieces.
class Sink {
  private parts: Uint8Array[] = [];
  private size = 0;
  add(bytes: Uint8Array): void { this.parts.push(bytes.slice()); this.size += bytes.length; }
  take(): Uint8Array {
    const all = new Uint8Array(this.size);
    let at = 0;
    for (const p of this.parts) { all.set(p, at); at += p.length; }
    return all;
  }
}

interface Open { kind: number; file?: Source; sink?: Sink; at: number; folder?: string }

export class System {
  private memory!: WebAssembly.Memory;
  private readonly out = new Sink();
  private readonly err = new Sink();
  private readonly open = new Map<number, Open>();
  private next = FIRST + FOLDERS.length;
  read = 0; // bytes of files, for those who ask
  constructor(private readonly args: string[], private readonly files: Source[]) {
    this.open.set(0, { kind: CHARACTER, at: 0 });
    this.open.set(1, { kind: CHARACTER, sink: this.out, at: 0 });
    this.open.set(2, { kind: CHARACTER, sink: this.err, at: 0 });
    FOLDERS.forEach((folder, i) => this.open.set(FIRST + i, { kind: DIRECTORY, at: 0, folder }));
  }
  private get view(): DataView { return new DataView(this.memory.buffer); }
  private bytes(at: number, n: number): Uint8Array { return new Uint8Array(this.memory.buffer, at, n); }
  private u32(at: number, x: number): void { this.view.setUint32(at, x, true); }
  private u64(at: number, x: number): void { this.view.setBigUint64(at, BigInt(x), true); }
  private text(at: number, n: number): string { return new TextDecoder().decode(this.bytes(at, n)); }

  // The file or device that a path means.
  private find(fd: number, at: number, n: number): Open | null {
    const folder = this.open.get(fd)?.folder, path = this.text(at, n);
    if (folder === "/dev" && path === "stdout") return { kind: CHARACTER, sink: this.out, at: 0 };
    if (path === "." || path === "") return { kind: DIRECTORY, at: 0 };
    const file = folder === "." ? this.files.find((f) => f.name === path) : undefined;
    return file ? { kind: REGULAR, file, at: 0 } : null;
  }
  private stat(o: Open, at: number): void {
    this.bytes(at, 64).fill(0);
    this.bytes(at + 16, 1)[0] = o.kind;
    this.u64(at + 24, 1);
    this.u64(at + 32, o.file?.size ?? 0);
  }
  private strings(list: string[], table: number, at: number): number {
    for (const [i, s] of list.entries()) {
      const bytes = new TextEncoder().encode(s + "\0");
      this.u32(table + 4 * i, at);
      this.bytes(at, bytes.length).set(bytes);
      at += bytes.length;
    }
    return OK;
  }
  private sizes(list: string[], count: number, size: number): number {
    this.u32(count, list.length);
    this.u32(size, list.reduce((n, s) => n + new TextEncoder().encode(s).length + 1, 0));
    return OK;
  }
  // Reads at a place into the pieces that a table lists.
  private fill(f: Source, place: number, table: number, n: number): number {
    let done = 0;
    for (let i = 0; i < n; i++) {
      const to = this.view.getUint32(table + 8 * i, true), want = Math.min(this.view.getUint32(table + 8 * i + 4, true), f.size - place - done);
      if (want <= 0) continue;
      const got = f.read(place + done, want);
      this.bytes(to, got.length).set(got);
      done += got.length;
    }
    this.read += done;
    return done;
  }

  private imports(): Record<string, (...a: never[]) => number> {
    return {
      args_sizes_get: (count: number, size: number) => this.sizes(this.args, count, size),
      args_get: (table: number, at: number) => this.strings(this.args, table, at),
      environ_sizes_get: (count: number, size: number) => this.sizes([], count, size),
      environ_get: () => OK,
      clock_res_get: (_id: number, at: number) => (this.u64(at, 1000), OK),
      clock_time_get: (_id: number, _precision: bigint, at: number) => (this.u64(at, Math.round(performance.now() * 1e6)), OK),
      random_get: (at: number, n: number) => (crypto.getRandomValues(this.bytes(at, n)), OK),
      proc_exit: (code: number) => { throw new Exit(code); },
      fd_prestat_get: (fd: number, at: number) => {
        const folder = this.open.get(fd)?.folder;
        if (folder === undefined) return BADF;
        this.u32(at, 0);
        this.u32(at + 4, folder.length);
        return OK;
      },
      fd_prestat_dir_name: (fd: number, at: number, n: number) => {
        const folder = this.open.get(fd)?.folder;
        if (folder === undefined || n < folder.length) return BADF;
        this.bytes(at, folder.length).set(new TextEncoder().encode(folder));
        return OK;
      },
      fd_fdstat_get: (fd: number, at: number) => {
        const o = this.open.get(fd);
        if (!o) return BADF;
        this.bytes(at, 24).fill(0);
        this.bytes(at, 1)[0] = o.kind;
        // Without the right to seek a device is a terminal to wasi-libc.
        this.view.setBigUint64(at + 8, 0xffffffffn, true);
        this.view.setBigUint64(at + 16, 0xffffffffn, true);
        return OK;
      },
      fd_filestat_get: (fd: number, at: number) => {
        const o = this.open.get(fd);
        if (!o) return BADF;
        this.stat(o, at);
        return OK;
      },
      path_filestat_get: (fd: number, _flags: number, path: number, n: number, at: number) => {
        const o = this.find(fd, path, n);
        if (!o) return NOENT;
        this.stat(o, at);
        return OK;
      },
      path_open: (fd: number, _follow: number, path: number, n: number, flags: number, _r: bigint, _i: bigint, _f: number, to: number) => {
        const o = this.find(fd, path, n);
        if (flags & CREATES) return o ? EXIST : NOTCAPABLE;
        if (!o) return NOENT;
        this.open.set(this.next, o);
        this.u32(to, this.next++);
        return OK;
      },
      fd_close: (fd: number) => (this.open.delete(fd) ? OK : BADF),
      fd_seek: (fd: number, by: bigint, from: number, to: number) => {
        const o = this.open.get(fd);
        if (!o?.file) return o ? SPIPE : BADF;
        const at = Number(by) + (from === 0 ? 0 : from === 1 ? o.at : o.file.size);
        if (at < 0) return INVAL;
        this.u64(to, (o.at = at));
        return OK;
      },
      fd_pread: (fd: number, table: number, n: number, at: bigint, to: number) => {
        const f = this.open.get(fd)?.file;
        if (!f) return BADF;
        this.u32(to, this.fill(f, Number(at), table, n));
        return OK;
      },
      fd_read: (fd: number, table: number, n: number, to: number) => {
        const o = this.open.get(fd);
        if (!o) return BADF;
        if (o.kind === DIRECTORY) return ISDIR;
        const got = o.file ? this.fill(o.file, o.at, table, n) : 0;
        o.at += got;
        this.u32(to, got);
        return OK;
      },
      fd_write: (fd: number, table: number, n: number, to: number) => {
        const sink = this.open.get(fd)?.sink;
        if (!sink) return BADF;
        let done = 0;
        for (let i = 0; i < n; i++) {
          const size = this.view.getUint32(table + 8 * i + 4, true);
          sink.add(this.bytes(this.view.getUint32(table + 8 * i, true), size));
          done += size;
        }
        this.u32(to, done);
        return OK;
      },
    };
  }

  // Inflates n bytes to at most `size`; returns how many, or -1.
  private inflate(from: number, n: number, to: number, size: number): number {
    try {
      const made = inflateSync(this.bytes(from, n), { out: new Uint8Array(size + 1) });
      if (made.length > size) return -1;
      this.bytes(to, made.length).set(made);
      return made.length;
    } catch {
      return -1;
    }
  }

  // Runs the command to its end.
  run(engine: WebAssembly.Module): Result {
    const calls: Record<string, WebAssembly.ImportValue> = this.imports() as never;
    for (const { module, name } of WebAssembly.Module.imports(engine))
      if (module !== "cleave") calls[name] ??= () => NOSYS;
    const instance = new WebAssembly.Instance(engine, {
      wasi_snapshot_preview1: calls,
      cleave: { inflate: (from: number, n: number, to: number, size: number) => this.inflate(from >>> 0, n >>> 0, to >>> 0, size >>> 0) },
    });
    this.memory = instance.exports["memory"] as WebAssembly.Memory;
    let exit = 0;
    try {
      (instance.exports["_start"] as () => void)();
    } catch (e) {
      if (!(e instanceof Exit)) throw e;
      exit = e.code;
    }
    return { exit, out: this.out.take(), err: new TextDecoder().decode(this.err.take()) };
  }
}
