// The tab that speaks.
import { engine, voice, wav } from "./nacre.js";
import { Player } from "./player.js";
import { $, Job, bytes, count, drops, figures, make, offered, seconds } from "./ui.js";

let loaded = null, source = null, reference = null, opening = null, sentences = [];
const job = new Job("speak");
const player = new Player($("wave"), (at) => say(sentences.findLast((s) => s.start <= at)));

function say(s) {
  const text = s ? s.text : "";
  if ($("spoken").textContent !== text) $("spoken").textContent = text;
}

export function begin(refresh) {
  // open opens a voice in place of the one before: files, or a URL.
  const open = async (from) => {
    const turn = (opening = {});
    source = from;
    $("hush").disabled = false;
    const v = await job.run(async (signal, onProgress) => {
      await loaded?.free();
      loaded = null;
      $("say").disabled = true;
      $("voice-fact").textContent = "Loading…";
      return voice(from, { signal, onProgress, reference, keep: true }).catch((e) => {
        if (e.kind === "sound") $("like-field").hidden = false;
        throw e;
      });
    });
    refresh();
    if (opening !== turn) return; // another voice is opened
    $("hush").disabled = !player.sources.length;
    if (v) describe(v);
    else if (!loaded) $("voice-fact").textContent = "No voice yet.";
  };
  const describe = (v) => {
    loaded = v;
    const kept = v.cached ? "from this browser" : v.lost ? `not kept: ${v.lost}` : "";
    $("voice-fact").textContent = [v.name, v.language, v.speakers.length > 1 ? `${count(v.speakers.length)} speakers` : "",
      `${count(v.rate)} Hz`, bytes(v.bytes), kept].filter(Boolean).join(" · ");
    $("speaker-field").hidden = v.speakers.length < 2;
    $("speaker").replaceChildren(...v.speakers.map((name) => make("option", {}, name)));
    $("like-field").hidden = v.kind !== "chatterbox";
    $("like-name").textContent = v.reference || "Choose a recording…";
    if (($("speed").disabled = v.kind === "chatterbox")) $("speed").value = 1;
    $("speed").dispatchEvent(new Event("input"));
    $("say").disabled = false;
  };
  // choose opens files. A sound alone is what the voice is to speak like.
  const choose = (list) => {
    if (!list.every((f) => /\.(wav|flac|mp3)$/i.test(f.name))) return open(list);
    [reference] = list;
    $("like-name").textContent = reference.name;
    $("like-field").hidden = false;
    if (source) open(source);
  };
  for (const id of ["voice-files", "voice-folder", "like"]) {
    $(id).addEventListener("change", ({ target }) => {
      const list = [...target.files];
      target.value = "";
      if (list.length) choose(list);
    });
  }
  drops($("speak"), choose);
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
    if (!loaded) $("voice-fact").textContent = "No voice yet.";
  });
  addEventListener("keydown", (e) => {
    if (e.key === "Escape" && !$("hush").disabled) $("hush").click();
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !$("say").disabled && !$("speak").hidden) $("say").click();
  });
  offered("voices", $("local"), $("voices"), ({ name, url, files }) => open(files ? files.map((f) => (
    { name: `${name.split("/").pop()}/${f}`, url: new URL(url + f.split("/").map(encodeURIComponent).join("/"), location).href })) : url));
}

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
  let silent = null, first = 0, done = 0;
  const device = player.open().catch((e) => { silent = e; job.fail(e); });
  const start = performance.now();
  const result = await job.run((signal) => loaded.speak($("text").value, {
    signal, speed: Number($("speed").value), speaker: $("speaker").value,
    onProgress: ({ index: i, count: n, done, total, tokens }) => {
      const known = tokens && done === total, shown = known ? done : done - (done % 25); // a status is not spoken for each token
      const steps = !tokens || !shown ? "" : ` · ${known ? "making the sound of " : ""}${count(shown)} tokens`;
      job.show(`Sentence ${i + 1} of ${n}${steps}`, known ? undefined : (i + (total ? done / total : 0)) / n);
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
      show(first, done, s);
    },
  }));
  if (result) await device;
  $("hush").disabled = !player.sources.length;
  if (player.chunks.length) save(wav(player.chunks, player.rate));
  if (result) show(first, result.seconds, result, await engine().memory());
  refresh();
}

// show shows the figures of the work so far.
function show(first, sound, { ms, tokensPerSecond: pace }, memory) {
  const rows = [["first sound", seconds(first / 1000)], ["real-time factor", (ms / 1000 / sound).toFixed(2)], ["sound", seconds(sound)]];
  if (pace) rows.push(["tokens per second", pace.toFixed(1)]);
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
