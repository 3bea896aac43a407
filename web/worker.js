// The worker of a page: it starts the program nacre.wasm, which answers messages (web/engine).
// Output of the program goes to the console; its end is a message {fatal}.
import "./wasm_exec.js";

const output = [];
const write = globalThis.fs.writeSync;
globalThis.fs.writeSync = (fd, bytes) => {
  output.push(new TextDecoder().decode(bytes));
  if (output.length > 100) output.shift();
  return write(fd, bytes);
};

const simd = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

// start fetches the program and runs it to its end.
async function start() {
  if (typeof WebAssembly !== "object" || !WebAssembly.validate(simd)) {
    throw new Error("This browser cannot run the program, because it lacks WebAssembly SIMD. " +
      "Chrome and Edge from 91, Firefox from 89 and Safari from 16.4 have it.");
  }
  const go = new Go();
  const response = await fetch(new URL("./nacre.wasm", import.meta.url));
  if (!response.ok) throw new Error(`nacre.wasm: the server answers ${response.status} ${response.statusText}`);
  const typed = response.headers.get("content-type")?.startsWith("application/wasm");
  const { instance } = typed ? await WebAssembly.instantiateStreaming(response, go.importObject)
    : await WebAssembly.instantiate(await response.arrayBuffer(), go.importObject);
  await go.run(instance);
  const text = output.join("");
  throw new Error(/out of memory|cannot allocate/.test(text)
    ? "The page ran out of memory. A smaller model may fit; close other pages, and reload this one."
    : `The program ended: ${text.trim().split("\n")[0] || "no reason is known"}`);
}

start().catch((e) => postMessage({ fatal: e.message }));
