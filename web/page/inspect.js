// The tab that looks into models.
import { engine, Session } from "./nacre.js";
import { Viewer } from "./viewer.js";
import { $, Job, bytes, count, drops, make, ms, offered, plural } from "./ui.js";

let session = null, viewer = null;
const job = new Job("inspect");

export function begin(refresh) {
  const open = async (files) => {
    await job.run(async (signal, onProgress) => {
      close();
      const result = await engine().call("open", { files, keep: true }, { signal, onEvent: onProgress });
      session = new Session(engine(), result);
      job.show("Drawing…");
      const drawing = await session.picture({ signal });
      describe(drawing);
    });
    refresh();
  };
  $("model-files").addEventListener("change", ({ target }) => {
    if (target.files.length) open(ordered([...target.files].map((f) => ({ name: f.name, blob: f }))));
    target.value = "";
  });
  $("model-form").addEventListener("submit", (e) => {
    e.preventDefault();
    openURL($("model-url").value);
  });
  const openURL = (text) => {
    const url = new URL(text, location);
    open([{ name: decodeURIComponent(url.pathname.split("/").pop()), url: url.href }]);
  };
  drops($("inspect"), (list) => open(ordered(list)));
  $("inspect-stop").addEventListener("click", () => job.stop());
  $("run-form").addEventListener("submit", (e) => {
    e.preventDefault();
    run().then(refresh);
  });
  offered("models", $("models-field"), $("models"), ({ url }) => openURL(url));
}

// ordered puts the model first, before the files that it refers to.
function ordered(list) {
  const models = /\.onnx$/i;
  list.sort((a, b) => models.test(b.name) - models.test(a.name));
  return list.map(({ name, blob }) => ({ name: name.split("/").pop(), blob }));
}

function close() {
  session?.free();
  viewer?.close();
  [session, viewer] = [null, null];
  $("model").hidden = true;
  $("results").replaceChildren();
}

function describe(drawing) {
  const { file, format, opsets, producer, producerVersion, nodes, parameters, weightBytes } = session.info;
  $("drop").classList.add("small");
  $("model").hidden = false;
  $("model-name").textContent = file;
  $("model-fact").textContent = [plural(nodes, "node"), plural(parameters, "parameter"), `weights ${bytes(weightBytes)}`, format,
    ...Object.entries(opsets).map(([domain, version]) => `${domain} ${version}`), [producer, producerVersion].filter(Boolean).join(" ")]
    .filter(Boolean).join(" · ");
  viewer = new Viewer($("graph"), drawing);
  $("run-inputs").replaceChildren(...session.inputs.filter((x) => x.required).map(inputField));
  const sizes = new Map();
  for (const x of session.inputs) x.dims.forEach((d, k) => typeof d === "string" && sizes.set(d === "?" ? `${x.name}[${k}]` : d, 1));
  if (sizes.size) {
    $("run-inputs").append(make("div", { class: "sizes" }, ...[...sizes.keys()].map((name) =>
      make("label", {}, name, make("input", { type: "number", min: "0", value: "1", "data-size": name })))));
  }
}

// inputField shows an input. One that may be a picture takes a file.
function inputField(x) {
  const field = make("div", { class: "input" }, make("strong", {}, x.name), make("code", {}, x.text));
  const channels = x.dims.length === 4 ? [x.dims[1], x.dims[3]] : x.dims.length === 3 ? [x.dims[0], x.dims[2]] : [];
  if (["float32", "uint8"].includes(x.type) && channels.some((c) => c === 1 || c === 3)) {
    const file = make("input", { type: "file", accept: "image/*", "data-picture": x.name, "aria-label": `Picture for ${x.name}` });
    const label = make("label", { class: "button" }, "Random, or a picture…", file);
    file.addEventListener("change", () => { label.firstChild.textContent = file.files[0]?.name ?? "Random, or a picture…"; });
    field.append(label);
  }
  return field;
}

// pictureOf returns a file that the program decodes: PNG or JPEG, else what the browser makes of it.
async function pictureOf(file) {
  if (["image/png", "image/jpeg"].includes(file.type)) return file;
  const bitmap = await createImageBitmap(file).catch(() => { throw new Error(`${file.name} is no picture that this browser can read`); });
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  return canvas.convertToBlob({ type: "image/png" });
}

async function run() {
  $("run").disabled = true;
  const sizes = {};
  for (const e of $("run-inputs").querySelectorAll("[data-size]")) sizes[e.dataset.size] = Number(e.value);
  const chosen = [...$("run-inputs").querySelectorAll("[data-picture]")].find((e) => e.files.length);
  const result = await job.run(async (signal, onProgress) => {
    const picture = chosen && { input: chosen.dataset.picture, blob: await pictureOf(chosen.files[0]) };
    return session.time({ sizes, picture, signal, onProgress });
  });
  $("run").disabled = false;
  if (!result) return;
  viewer.setSteps(result.steps);
  $("results").replaceChildren(make("h3", {}, `${ms(result.median)} a run`),
    make("p", { class: "fact" }, `median of ${plural(result.runs, "run")} on one thread · first run ${ms(result.first)} · ` +
      result.inputs.map((x) => `${x.name} ${x.text}`).join(", ")),
    operators(result.operators), outputs(result.outputs));
}

function operators(rows) {
  rows.sort((a, b) => b.ms - a.ms);
  const all = rows.reduce((sum, r) => sum + r.ms, 0) || 1, longest = rows[0]?.ms || 1;
  const table = make("table", { id: "operators" }, make("caption", {}, "Time by operator"));
  table.append(make("thead", {}, make("tr", {}, ...["Operator", "Steps", "Time", "Share"].map((t, i) =>
    make("th", { scope: "col", class: i ? "n" : "" }, t)), make("th", { "aria-hidden": "true" }))));
  table.append(make("tbody", {}, ...rows.map((r) => {
    const bar = make("div");
    bar.style.width = `${(100 * r.ms) / longest}%`;
    return make("tr", {}, make("td", {}, r.op), make("td", { class: "n" }, count(r.steps)), make("td", { class: "n" }, ms(r.ms)),
      make("td", { class: "n" }, `${((100 * r.ms) / all).toFixed(1)} %`), make("td", { class: "bar", "aria-hidden": "true" }, bar));
  })));
  return table;
}

function outputs(rows) {
  const table = make("table", { id: "outputs" }, make("caption", {}, "Outputs"));
  table.append(make("tbody", {}, ...rows.map((r) => {
    const first = r.first?.slice(0, 8).map((x) => (/^-?[\d.]+(e|$)/.test(x) ? String(+Number(x).toPrecision(5)) : x)).join(", ");
    const cell = make("td", {}, make("code", {}, (first ?? "") + (r.count > 8 ? ", …" : "")));
    if (r.best) cell.append(make("div", { class: "help" }, `largest: ${r.best.map((b) => `[${b.at}] ${b.value.toPrecision(4)}`).join(", ")}`));
    return make("tr", {}, make("td", {}, r.name, make("div", { class: "help" }, r.text)), cell);
  })));
  return table;
}
