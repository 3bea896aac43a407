// Runs a model in ONNX Runtime Web, in Node on one thread, for the benchmarks of this folder.
//
//     node onnxruntime_web.mjs PACKAGE MODEL [SYMBOL=SIZE ...]
//
// Answers "run [N]", "bound [N]" (the same here), "save PATH", "memory" and "forget" as
// onnxruntime.py does, with the same inputs. Without a model it prints the version.
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

const [folder, model, ...rest] = process.argv.slice(2);
if (!model) {
  console.log(JSON.parse(readFileSync(`${folder}/package.json`)).version);
  process.exit(0);
}
const ort = await import(resolve(folder, 'dist/ort.wasm.bundle.min.mjs'));
ort.env.wasm.numThreads = 1;
const sizes = Object.fromEntries(rest.map((a) => a.split('=')));

function held(field) {
  const line = readFileSync('/proc/self/status', 'utf8').split('\n').find((l) => l.startsWith(`${field}:`));
  return line ? 1024 * parseInt(line.slice(field.length + 1), 10) : 0;
}

const arrays = {
  float32: Float32Array, float64: Float64Array, int64: BigInt64Array, uint8: Uint8Array,
};

function ramp(meta) {
  const dims = meta.shape.map((d) => (typeof d === 'number' ? d : Number(sizes[d])));
  const data = new arrays[meta.type](dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length; i++) {
    const n = i % 97;
    data[i] = meta.type === 'int64' ? BigInt(n) : meta.type === 'uint8' ? n : n / 97;
  }
  return new ort.Tensor(meta.type, data, dims);
}

const before = held('VmRSS');
const start = performance.now();
const session = await ort.InferenceSession.create(readFileSync(model), { executionProviders: ['wasm'] });
const opened = (performance.now() - start) / 1e3;
const feeds = Object.fromEntries(session.inputMetadata.map((m) => [m.name, ramp(m)]));

async function answer(request, args) {
  switch (request) {
    case 'run':
    case 'bound': {
      const n = Number(args[0] ?? 1);
      const begin = performance.now();
      for (let i = 0; i < n; i++) await session.run(feeds);
      return (performance.now() - begin) / 1e3 / n;
    }
    case 'save': {
      const out = openSync(args[0], 'w');
      for (const t of Object.values(await session.run(feeds))) writeSync(out, Buffer.from(Float32Array.from(t.data, Number).buffer));
      return 'saved';
    }
    case 'memory':
      return `${held('VmRSS') - before} ${held('VmHWM') - before}`;
    case 'forget':
      writeFileSync('/proc/self/clear_refs', '5');
      return 'forgotten';
    default:
      throw new Error(request);
  }
}

console.log('ready', opened);
for await (const line of createInterface({ input: process.stdin })) {
  const [request, ...args] = line.split(' ');
  console.log(await answer(request, args));
}
