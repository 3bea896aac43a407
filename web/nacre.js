// Nacre in a page: models and voices that a worker runs. nacre.d.ts has the types.
//
//   import { load } from "./nacre.js";
//   const session = await load("model.onnx", { onProgress: (p) => console.log(p.done / p.total) });
//   const { outputs } = await session.run({ x: { dims: [1, 3], data: new Float32Array([1, 2, 3]) } });

// NacreError is an error of the worker. Its kind tells what went wrong: "stopped", "network",
// "memory", "format", "unsupported", "input", "sound", "audio" or "other".
export class NacreError extends Error {
  constructor(message, kind = "other") {
    super(message);
    this.name = "NacreError";
    this.kind = kind;
  }
}

// Engine is a worker with the program. Objects of one engine share its memory.
export class Engine {
  constructor(url = new URL("./worker.js", import.meta.url)) {
    this.pending = new Map();
    this.last = 0;
    this.worker = new Worker(url, { type: "module", name: "nacre" });
    this.ready = new Promise((resolve, reject) => { [this.started, this.failed] = [resolve, reject]; });
    this.ready.catch(() => {}); // every call reports it
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (e) => this.end(new NacreError(`The worker could not be started: ${e.message || "worker.js or wasm_exec.js is missing"}`));
  }

  receive({ number, ready, fatal, event, result, error }) {
    if (ready) return this.started();
    if (fatal) return this.end(new NacreError(fatal, fatal.includes("memory") ? "memory" : "other"));
    const call = this.pending.get(number);
    if (!call) return;
    if (event) return call.signal?.aborted ? undefined : call.onEvent?.(event);
    this.pending.delete(number);
    call.signal?.removeEventListener("abort", call.stop);
    error ? call.reject(new NacreError(error.message, error.kind)) : call.resolve(result);
  }

  // end fails all calls, present and future.
  end(error) {
    this.failed(error);
    for (const call of this.pending.values()) call.reject(error);
    this.pending.clear();
    this.worker.terminate();
  }

  // call asks the worker for something. The signal stops the work.
  async call(name, fields = {}, { signal, onEvent, transfer = [] } = {}) {
    await this.ready;
    if (signal?.aborted) throw new NacreError("stopped", "stopped");
    const number = ++this.last;
    return new Promise((resolve, reject) => {
      const stop = () => this.worker.postMessage({ call: "stop", target: number });
      this.pending.set(number, { resolve, reject, onEvent, signal, stop });
      signal?.addEventListener("abort", stop, { once: true });
      this.worker.postMessage({ ...fields, call: name, number }, transfer);
    });
  }

  // memory returns the bytes that the program takes.
  async memory() {
    return (await this.call("memory")).bytes;
  }

  // close ends the worker.
  close() {
    this.end(new NacreError("The engine is closed.", "stopped"));
  }
}

let shared;

// engine returns the engine that load and voice use unless they are given another.
export const engine = () => (shared ??= new Engine());

// filesOf returns a source as files of a message: a URL, bytes, a Blob or File, or a list of such
// or of {name, url | bytes | blob}. The first is the model.
function filesOf(source) {
  return (Array.isArray(source) ? source : [source]).map((s) => {
    if (typeof s === "string" || s instanceof URL) {
      const url = new URL(s, document.baseURI).href;
      return { name: decodeURIComponent(new URL(url).pathname.split("/").pop()) || url, url };
    }
    if (s instanceof Blob) return { name: s.webkitRelativePath || s.name || "model.onnx", blob: s };
    if (s instanceof ArrayBuffer) return { name: "model.onnx", bytes: new Uint8Array(s) };
    if (ArrayBuffer.isView(s)) return { name: "model.onnx", bytes: new Uint8Array(s.buffer, s.byteOffset, s.byteLength) };
    return s;
  });
}

async function open(call, source, { engine: e = engine(), onProgress, signal, keep = false, ...fields }) {
  const onEvent = (event) => onProgress?.(event);
  return [e, await e.call(call, { files: filesOf(source), keep, ...fields }, { signal, onEvent })];
}

// load reads a model, and makes it ready to run.
export async function load(source, options = {}) {
  const [e, result] = await open("open", source, { prepare: true, ...options });
  return new Session(e, result);
}

// Session is a model that runs.
export class Session {
  constructor(engine, { object, ...about }) {
    Object.assign(this, { engine, object }, about);
  }

  get inputs() { return this.info.inputs; }
  get outputs() { return this.info.outputs; }

  // run computes the outputs, by name, from the inputs, by name.
  run(inputs, { signal } = {}) {
    return this.engine.call("run", { object: this.object, inputs }, { signal });
  }

  // stream begins a sequence of runs that keep the states of the model.
  async stream({ states, room } = {}) {
    return new Stream(this.engine, await this.engine.call("stream", { object: this.object, states, room }));
  }

  // time measures runs on given inputs, a picture, or random inputs, by operator and by node.
  time({ inputs, picture, sizes, signal, onProgress } = {}) {
    return this.engine.call("time", { object: this.object, inputs, picture, sizes }, { signal, onEvent: onProgress });
  }

  // picture returns the drawing of the model, for the viewer.
  async picture({ signal } = {}) {
    return (await this.engine.call("picture", { object: this.object }, { signal })).drawing;
  }

  // free gives the memory back.
  free() {
    return this.engine.call("free", { object: this.object });
  }
}

// Stream is a sequence of runs, each of which reads and updates the states.
export class Stream {
  constructor(engine, { object, inputs }) {
    Object.assign(this, { engine, object, inputs });
  }

  run(inputs, { signal } = {}) {
    return this.engine.call("run", { object: this.object, inputs }, { signal });
  }

  // reset goes back to the beginning.
  reset() {
    return this.engine.call("reset", { object: this.object });
  }

  free() {
    return this.engine.call("free", { object: this.object });
  }
}

// folder returns the files of a folder of a server, by the links of the page that the server shows for
// it and for the folders in it. The files of a model of Hugging Face are listed by its service.
export async function folder(address, signal) {
  const get = async (url) => {
    const response = await fetch(url, { signal }).catch((e) => {
      throw new NacreError(`${url} cannot be reached (${e.message}). Check the address; its server must allow pages of others to ` +
        "read it (CORS).", signal?.aborted ? "stopped" : "network");
    });
    if (!response.ok) throw new NacreError(`${url}: the server answers ${response.status} ${response.statusText}`, "network");
    return response;
  };
  const [, id, branch = "main"] = /^https:\/\/huggingface\.co\/([^/]+\/[^/]+)(?:\/tree\/([^/]+))?\/?$/.exec(address) ?? [];
  if (id) {
    const { siblings } = await (await get(`https://huggingface.co/api/models/${id}/revision/${branch}`)).json();
    return siblings.map(({ rfilename: name }) => ({
      name: `${id.split("/")[1]}/${name}`, url: `https://huggingface.co/${id}/resolve/${branch}/${name}`,
    }));
  }
  const top = new URL(address.replace(/\/?$/, "/"), document.baseURI), files = new Map(), most = 50;
  const base = decodeURIComponent(top.pathname.split("/").at(-2)) || top.host, pages = [top.href];
  for (const page of pages) {
    const { links } = new DOMParser().parseFromString(await (await get(page)).text(), "text/html");
    for (const link of links) {
      const to = new URL(link.getAttribute("href"), page).href.replace(/[?#].*/, "");
      if (!to.startsWith(page) || to === page) continue;
      if (!to.endsWith("/")) files.set(to, { name: `${base}/${decodeURIComponent(to.slice(top.href.length))}`, url: to });
      else if (pages.length < most && !pages.includes(to)) pages.push(to);
    }
  }
  if (!files.size) throw new NacreError(`${top.href}: the server lists no files of this folder. Save it, and choose it here.`, "network");
  return [...files.values()];
}

// voice opens a voice: of Piper, the files VOICE.onnx and VOICE.onnx.json, else the files of a folder. Of a
// URL that ends in .onnx, the second is found beside it; another URL is a folder.
export async function voice(source, { reference, ...options } = {}) {
  let list = filesOf(source);
  if (list.length === 1 && list[0].url) {
    const json = new URL(list[0].url);
    json.pathname += ".json";
    list = json.pathname.endsWith(".onnx.json") ? [list[0], { name: list[0].name + ".json", url: json.href }]
      : await folder(list[0].url, options.signal);
  }
  const [e, result] = await open("voice", list, { ...options, reference: reference && filesOf(reference)[0] });
  return new Voice(e, result);
}

// Voice speaks texts.
export class Voice {
  constructor(engine, { object, ...about }) {
    Object.assign(this, { engine, object }, about);
  }

  // speak computes the sound of a text. onSentence gets each sentence when it is there:
  // {samples, rate, text, from, to, index, count, unspoken, seconds, ms, tokensPerSecond}.
  speak(text, { onSentence, onProgress, signal, speed, speaker, seed, noise, noiseW } = {}) {
    const onEvent = (event) => (event.stage === "sentence" ? onSentence?.(event) : onProgress?.(event));
    return this.engine.call("speak", { object: this.object, text, speed, speaker, seed, noise, noiseW }, { signal, onEvent });
  }

  free() {
    return this.engine.call("free", { object: this.object });
  }
}

// wav returns sound as a WAV file of 16 bits, a Blob.
export function wav(chunks, rate) {
  const n = chunks.reduce((sum, c) => sum + c.length, 0), v = new DataView(new ArrayBuffer(44 + 2 * n));
  const text = (at, s) => [...s].forEach((c, i) => v.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF"); v.setUint32(4, 36 + 2 * n, true); text(8, "WAVEfmt ");
  v.setUint32(16, 16, true); v.setUint16(20, 1, true); v.setUint16(22, 1, true);
  v.setUint32(24, rate, true); v.setUint32(28, 2 * rate, true); v.setUint16(32, 2, true); v.setUint16(34, 16, true);
  text(36, "data"); v.setUint32(40, 2 * n, true);
  let at = 44;
  for (const c of chunks) for (const x of c) { v.setInt16(at, Math.round(Math.max(-1, Math.min(1, x)) * 32767), true); at += 2; }
  return new Blob([v], { type: "audio/wav" });
}
