// The tab that speaks.
import { engine, voice, wav } from "./nacre.js";
import { Player } from "./player.js";
import { $, Job, bytes, count, figures, make, offered, seconds } from "./ui.js";

let loaded = null, sentences = [];
const job = new Job("speak");
const player = new Player($("wave"), (at) => say(sentences.findLast((s) => s.start <= at)));

function say(s) {
  const text = s ? s.text : "";
  if ($("spoken").textContent !== text) $("spoken").textContent = text;
}

export function begin(refresh) {
  // open opens a voice in place of the one before.
  const open = async (source, options = {}) => {
    const v = await job.run(async (signal, onProgress) => {
      await loaded?.free();
      loaded = null;
      $("say").disabled = true;
      $("voice-fact").textContent = "Loading…";
      return voice(source, { signal, onProgress, keep: true, ...options });
    });
    refresh();
    if (!v) {
      if (!loaded) $("voice-fact").textContent = "No voice yet.";
      return;
    }
    loaded = v;
    const name = options.name ?? nameOf(source);
    const from = v.cached ? "from this browser" : v.lost ? `not kept: ${v.lost}` : "";
    $("voice-fact").textContent = [name, v.language, v.speakers.length > 1 ? `${count(v.speakers.length)} speakers` : "",
      `${count(v.rate)} Hz`, bytes(v.bytes), from].filter(Boolean).join(" · ");
    $("speaker-field").hidden = v.speakers.length < 2;
    $("speaker").replaceChildren(...v.speakers.map((name) => make("option", {}, name)));
    $("say").disabled = false;
  };

  $("voice-files").addEventListener("change", ({ target }) => {
    const list = [...target.files].sort((a, b) => a.name.endsWith(".json") - b.name.endsWith(".json"));
    if (list.length) open(list);
    target.value = "";
  });
  $("voice-folder").addEventListener("change", ({ target }) => {
    const list = [...target.files], path = (f) => f.webkitRelativePath.split("/").slice(1).join("/") || f.name;
    const piper = list.find((f) => f.name.endsWith(".onnx") && list.some((g) => path(g) === path(f) + ".json"));
    target.value = "";
    if (!list.length) return;
    if (piper) return open([piper, list.find((g) => path(g) === path(piper) + ".json")]);
    open(list.map((f) => ({ name: path(f), blob: f })), { folder: true, name: list[0].webkitRelativePath.split("/")[0] });
  });
  $("voice-form").addEventListener("submit", (e) => {
    e.preventDefault();
    open($("voice-url").value);
  });
  $("speed").addEventListener("input", () => { $("speed-value").textContent = `${Number($("speed").value).toFixed(2)}×`; });
  $("say").addEventListener("click", () => speak(refresh));
  $("hush").addEventListener("click", () => {
    job.stop();
    player.stop();
    $("hush").disabled = true;
  });
  addEventListener("keydown", (e) => {
    if (e.key === "Escape" && !$("hush").disabled) $("hush").click();
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !$("say").disabled && !$("speak").hidden) $("say").click();
  });
  offered("voices", $("local"), $("voices"), open);
}

const nameOf = (source) => (typeof source === "string" ? new URL(source, location).pathname.split("/").pop() : source[0].name).replace(/\.onnx$/, "");

async function speak(refresh) {
  $("sound").hidden = false;
  player.reset();
  sentences = [];
  say(null);
  save(null);
  figures($("speak-figures"), []);
  const unspoken = new Set();
  $("unspoken").textContent = "";
  $("hush").disabled = false;
  let silent = null, first = 0, done = 0, tokens = 0;
  const device = player.open().catch((e) => { silent = e; job.fail(e); });
  const start = performance.now();
  const result = await job.run((signal, onProgress) => loaded.speak($("text").value, {
    signal, speed: Number($("speed").value), speaker: $("speaker").value,
    onProgress: (p) => {
      if (p.total > 1) tokens = p.index * p.total + p.done;
      onProgress(p);
      const { index: i, count: n } = p;
      job.show(`Sentence ${i + 1} of ${n}`, (i + (p.total ? p.done / p.total : 0)) / n);
    },
    onSentence: (s) => {
      first ||= performance.now() - start;
      sentences.push({ text: s.text, start: player.seconds });
      player.add(s.samples, s.rate);
      if (silent || sentences.length === 1) say(s);
      for (const c of s.unspoken) unspoken.add(c);
      if (unspoken.size) $("unspoken").textContent = `Left out, because the voice does not know it: ${[...unspoken].join(" ")}`;
      done += s.seconds;
      job.show(`Sentence ${Math.min(s.index + 2, s.count)} of ${s.count}`, (s.index + 1) / s.count);
      show(first, done, s.ms, tokens);
    },
  }));
  if (result) await device;
  $("hush").disabled = !player.sources.length;
  if (player.chunks.length) save(wav(player.chunks, player.rate));
  if (result) show(first, result.seconds, result.ms, tokens, await engine().memory());
  refresh();
}

// show shows the figures of the work so far.
function show(first, sound, took, tokens, memory) {
  const rows = [["first sound", seconds(first / 1000)], ["real-time factor", (took / 1000 / sound).toFixed(2)], ["sound", seconds(sound)]];
  if (tokens) rows.push(["tokens per second", (tokens / (took / 1000)).toFixed(1)]);
  if (memory) rows.push(["memory", bytes(memory)]);
  figures($("speak-figures"), rows);
}

// save offers the sound as a file.
function save(blob) {
  const a = $("save");
  if (a.href) URL.revokeObjectURL(a.href);
  if (!blob) {
    a.removeAttribute("href");
    a.setAttribute("aria-disabled", "true");
    return;
  }
  a.href = URL.createObjectURL(blob);
  a.download = "speech.wav";
  a.setAttribute("aria-disabled", "false");
}
