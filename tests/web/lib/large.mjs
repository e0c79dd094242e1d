// large.mjs - writes an ONNX file of LAYERS products whose weights are holes: as
// large as a real one, and no bytes on the disk.
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";

function varint(n) {
  const out = [];
  for (let x = BigInt(n); ; x >>= 7n) {
    if (x < 128n) return Buffer.from([...out, Number(x)]);
    out.push(Number(x & 127n) | 128);
  }
}
const int = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const head = (field, size) => Buffer.concat([varint((field << 3) | 2), varint(size)]);
const bytes = (field, b) => Buffer.concat([head(field, Buffer.byteLength(b)), Buffer.from(b)]);
const shape = (dims) => bytes(2, Buffer.concat(dims.map((d) => bytes(1, int(1, d)))));
const port = (name, dims) => Buffer.concat([bytes(1, name), bytes(2, bytes(1, Buffer.concat([int(1, 1), shape(dims)])))]);

export function largeOnnx(path, layers, width) {
  const raw = width * width * 4, pieces = []; // buffers, and lengths of holes
  const node = (i) => bytes(1, Buffer.concat([bytes(1, `x${i}`), bytes(1, `w${i}`), bytes(2, `x${i + 1}`), bytes(3, `m${i}`), bytes(4, "MatMul")]));
  for (let i = 0; i < layers; i++) pieces.push(node(i));
  pieces.push(bytes(2, "large"));
  for (let i = 0; i < layers; i++) {
    const tensor = Buffer.concat([int(1, width), int(1, width), int(2, 1), bytes(8, `w${i}`), head(9, raw)]);
    pieces.push(Buffer.concat([head(5, tensor.length + raw), tensor]), raw);
  }
  pieces.push(bytes(11, port("x0", [1, width])), bytes(12, port(`x${layers}`, [1, width])));
  const size = pieces.reduce((n, p) => n + (typeof p === "number" ? p : p.length), 0);
  const fd = openSync(path, "w");
  let at = 0;
  for (const p of [int(1, 8), bytes(8, int(2, 17)), head(7, size), ...pieces]) {
    if (typeof p !== "number") writeSync(fd, p, 0, p.length, at);
    at += typeof p === "number" ? p : p.length;
  }
  ftruncateSync(fd, at);
  closeSync(fd);
  return at;
}
