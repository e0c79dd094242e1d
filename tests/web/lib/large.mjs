// large.mjs - writes large ONNX files. largeOnnx: LAYERS products whose weights are
// holes, as large as a real one, and no bytes on the disk. manyOnnx: a node after
// the other, as many as are asked for.
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

// STAGES times BLOCKS residual blocks of four nodes, in modules by their names when
// NAMED. The width grows by one from stage to stage when GROWS. With MIXED the last
// node of a block is one of many, by chance.
export function manyOnnx(path, { stages, blocks, named = true, grows = false, mixed = false }) {
  const OPS = ["Relu", "Tanh", "Sigmoid", "Exp", "Neg", "Abs", "Erf", "Softplus"];
  const pieces = [], weights = [], wide = (s) => 8 + (grows ? s : 0);
  const node = (op, name, ins, out) => pieces.push(bytes(1, Buffer.concat([...ins.map((i) => bytes(1, i)), bytes(2, out), bytes(3, name), bytes(4, op)])));
  let x = "x", seed = 7;
  for (let s = 0; s < stages; s++) {
    if (grows && s) {
      weights.push([`t${s}`, [wide(s - 1), wide(s)]]);
      node("MatMul", `/stage${s}/wider/MatMul`, [x, `t${s}`], `y${s}`);
      x = `y${s}`;
    }
    weights.push([`w${s}`, [wide(s), wide(s)]]);
    for (let b = 0; b < blocks; b++) {
      const at = named ? `/stage${s}/block${b}/` : `n${s}_${b}_`, v = `${s}_${b}`;
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      node("MatMul", at + "MatMul", [x, `w${s}`], "a" + v);
      node("Relu", at + "Relu", ["a" + v], "b" + v);
      node("Add", at + "Add", [x, "b" + v], "c" + v);
      node(mixed ? OPS[seed >>> 29] : "Tanh", at + "Act", ["c" + v], "d" + v);
      x = "d" + v;
    }
  }
  pieces.push(bytes(2, "many"));
  for (const [name, [m, n]] of weights)
    pieces.push(bytes(5, Buffer.concat([int(1, m), int(1, n), int(2, 1), bytes(8, name), bytes(9, Buffer.alloc(m * n * 4, 1))])));
  pieces.push(bytes(11, port("x", [1, wide(0)])), bytes(12, port(x, [1, wide(stages - 1)])));
  const graph = Buffer.concat(pieces), fd = openSync(path, "w");
  writeSync(fd, Buffer.concat([int(1, 8), bytes(8, int(2, 17)), head(7, graph.length), graph]));
  closeSync(fd);
  return stages * blocks * 4 + (grows ? stages - 1 : 0);
}
