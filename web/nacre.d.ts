/** Nacre in a page: models and voices that a worker runs. */

/** A URL, bytes, a File or Blob, or these with names. */
export type Source = string | URL | ArrayBuffer | ArrayBufferView | Blob | NamedSource;
export interface NamedSource {
  name: string;
  url?: string;
  bytes?: Uint8Array;
  blob?: Blob;
}

/** The element types of tensors, by name; others have their bytes in a Uint8Array. */
export interface Arrays {
  float32: Float32Array; float64: Float64Array; float16: Uint16Array; bfloat16: Uint16Array;
  int8: Int8Array; int16: Int16Array; int32: Int32Array; int64: BigInt64Array;
  uint8: Uint8Array; uint16: Uint16Array; uint32: Uint32Array; uint64: BigUint64Array;
  bool: Uint8Array; string: string[];
}

export interface Tensor<T extends keyof Arrays = keyof Arrays> {
  type: T;
  dims: number[];
  data: Arrays[T];
}
export interface Sequence { type: "sequence"; items: Value[] }
export interface TensorMap { type: "map"; keys: Tensor; values: Tensor }
/** An optional without an item is null. */
export type Value = Tensor | Sequence | TensorMap | null;

/** Left out, the type is the input's own, and dims are one axis. */
export type Input = Tensor | { type?: keyof Arrays; dims?: number[]; data: Arrays[keyof Arrays] | number[] };

export interface Progress {
  /** "load", "read", "prepare", "run" or "speak". */
  stage: string;
  file?: string;
  done?: number;
  /** 0 if it is not known. */
  total?: number;
}

export interface LoadOptions {
  onProgress?: (p: Progress) => void;
  signal?: AbortSignal;
  /** Keep what a URL has in the browser's cache. */
  keep?: boolean;
  engine?: Engine;
}

/** dims has names or "?" for extents that the model leaves open. */
export interface Info {
  name: string; kind: string; type: string; text: string; dims: (number | string)[]; ranked: boolean;
  required: boolean; doc: string;
}
export interface State { input: string; output: string; axis: number }
export interface ModelInfo {
  file: string; format: string; producer: string; producerVersion: string; doc: string;
  opsets: Record<string, number>; nodes: number; weightBytes: number; parameters: number;
  inputs: Info[]; outputs: Info[]; states: State[];
}

export class NacreError extends Error {
  kind: "stopped" | "network" | "memory" | "format" | "unsupported" | "input" | "sound" | "audio" | "other";
}

export class Engine {
  constructor(worker?: string | URL);
  readonly ready: Promise<void>;
  memory(): Promise<number>;
  close(): void;
}
export function engine(): Engine;

export interface RunOptions { signal?: AbortSignal }
export interface Results { outputs: Record<string, Value>; ms: number }

/** Reads a model, and makes it ready to run. In a list, the first is the model. */
export function load(source: Source | Source[], options?: LoadOptions): Promise<Session>;

export class Session {
  readonly info: ModelInfo;
  readonly inputs: Info[];
  readonly outputs: Info[];
  readonly bytes: number;
  readonly ms: number;
  /** Whether the file came from the browser's cache, and why it was not kept, if so. */
  readonly cached: boolean;
  readonly lost: string;
  run(inputs: Record<string, Input>, options?: RunOptions): Promise<Results>;
  stream(options?: { states?: State[]; room?: number }): Promise<Stream>;
  time(options?: {
    inputs?: Record<string, Input>; picture?: { input: string; blob: Blob }; sizes?: Record<string, number>;
    signal?: AbortSignal; onProgress?: (p: Progress) => void;
  }): Promise<Timing>;
  picture(options?: RunOptions): Promise<object>;
  free(): Promise<void>;
}

export interface Timing {
  runs: number; first: number; least: number; median: number;
  operators: { op: string; steps: number; ms: number }[];
  steps: { node: string; within: string; op: string; how: string; ms: number }[]; // within is empty in the main graph
  inputs: { name: string; text: string }[];
  assumed: string[];
  outputs: { name: string; text: string; first?: string[]; count?: number; best?: { at: number; value: number }[] }[];
}

export class Stream {
  readonly inputs: Info[];
  run(inputs: Record<string, Input>, options?: RunOptions): Promise<Results>;
  reset(): Promise<void>;
  free(): Promise<void>;
}

export interface VoiceOptions extends LoadOptions {
  /** The person that a voice of Chatterbox speaks like: WAV, FLAC or MP3. Left out, the first such file in its folder. */
  reference?: Source;
  /** The graphs of Chatterbox. Left out, the fastest that are there. */
  precision?: "fp32" | "fp16" | "quantized" | "q4" | "q4f16";
}
/**
 * Opens a voice: of Piper, VOICE.onnx and VOICE.onnx.json, else the files of a folder, with their paths as names. Files that
 * the voice does not need are not read. Of a URL that ends in .onnx, the JSON is found beside it; another URL is a folder.
 */
export function voice(source: Source | Source[], options?: VoiceOptions): Promise<Voice>;
/** The files of a folder of a server that lists it by links, or of a model of Hugging Face. */
export function folder(url: string, signal?: AbortSignal): Promise<NamedSource[]>;

export interface Sentence {
  /** From -1 to 1. */
  samples: Float32Array;
  rate: number; text: string; from: number; to: number; index: number; count: number;
  unspoken: string[]; seconds: number; ms: number;
  /** Of Chatterbox; else 0. */
  tokensPerSecond: number;
}
export interface Spoken { seconds: number; ms: number; tokens: number; tokensPerSecond: number }
export interface SpeakOptions {
  onSentence?: (s: Sentence) => void;
  onProgress?: (p: Progress) => void;
  signal?: AbortSignal;
  speed?: number; speaker?: string; seed?: number; noise?: number; noiseW?: number;
}
export class Voice {
  readonly name: string;
  readonly rate: number;
  readonly kind: string;
  readonly language: string;
  readonly speakers: string[];
  /** The file with the reference; empty if the voice has none. */
  readonly reference: string;
  readonly bytes: number;
  readonly cached: boolean;
  readonly lost: string;
  speak(text: string, options?: SpeakOptions): Promise<Spoken>;
  free(): Promise<void>;
}

/** Sound as a WAV file of 16 bits. */
export function wav(chunks: Float32Array[], rate: number): Blob;
