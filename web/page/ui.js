// What both tabs use: elements by id, texts of numbers, errors and progress.

export const $ = (id) => document.getElementById(id);

export const make = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

export const bytes = (n) => (n < 1e6 ? `${Math.max(1, Math.round(n / 1e3))} KB` : n < 1e9 ? `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB` : `${(n / 1e9).toFixed(2)} GB`);
export const count = (n) => n.toLocaleString("en");
export const ms = (n) => (n < 1 ? `${n.toFixed(3)} ms` : n < 100 ? `${n.toFixed(2)} ms` : n < 10000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`);
export const seconds = (n) => `${n.toFixed(n < 10 ? 2 : 1)} s`;
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// Job is the work of a tab: its progress, its end by Stop, and its error as a sentence.
export class Job {
  constructor(tab) {
    this.tab = tab;
    [this.problem, this.work, this.bar, this.stage] = ["problem", "work", "progress", "stage"].map((n) => $(`${tab}-${n}`));
  }

  // run does the work, after the work before has been stopped. It returns undefined if that fails.
  async run(work) {
    this.stop();
    const control = (this.control = new AbortController());
    this.problem.hidden = true;
    this.show("Starting…");
    try {
      return await work(control.signal, (p) => this.control === control && this.progress(p));
    } catch (e) {
      if (e.kind !== "stopped" && !control.signal.aborted) this.fail(e);
    } finally {
      if (this.control === control) this.work.hidden = true;
    }
  }

  stop() {
    this.control?.abort();
    this.work.hidden = true;
  }

  fail(e) {
    this.problem.textContent = sentence(e);
    this.problem.hidden = false;
  }

  show(stage, value) {
    this.work.hidden = false;
    if (this.stage.textContent !== stage) this.stage.textContent = stage;
    value === undefined ? this.bar.removeAttribute("value") : (this.bar.value = value);
  }

  progress({ stage, file, done, total }) {
    if (stage === "load") {
      this.show(`${file.split("/").pop()}: ${bytes(done)}${total ? ` of ${bytes(total)}` : ""}`, total ? done / total : undefined);
    } else if (stage === "run") {
      this.show(`Run ${done} of at most ${total}`, done / total);
    } else {
      this.show({ read: "Reading the model…", prepare: "Preparing…", speak: "Speaking…" }[stage] ?? "Working…");
    }
  }
}

// sentence returns what an error says, with a way out where there is one.
function sentence(e) {
  const way = {
    memory: " A page has at most 4 GB, and a browser may give it less; close other tabs, or take a smaller model.",
    sound: " Choose a recording under “Speaks like”.",
    format: " Perhaps a download broke off: please load the file again.",
  }[e.kind] ?? "";
  const text = String(e.message || e);
  return text + (/[.!?]$/.test(text) ? "" : ".") + way;
}

// figures fills a list of numbers with their names.
export function figures(list, rows) {
  list.hidden = !rows.length;
  list.replaceChildren(...rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

// offered lists what the server has, of a kind, in a menu.
export async function offered(kind, field, menu, choose) {
  const response = await fetch("served.json").catch(() => null);
  if (!response?.ok) return;
  const list = (await response.json())[kind] ?? [];
  if (!list.length) return;
  field.hidden = false;
  const option = (v) => make("option", { value: v.url }, v.files ? v.name : `${v.name} (${bytes(v.bytes)})`);
  menu.replaceChildren(make("option", { value: "" }, "Choose…"), ...list.map(option));
  menu.addEventListener("change", () => menu.value && choose(list.find((v) => v.url === menu.value)));
}

// drops calls open with the files that are dropped in an area.
export function drops(area, open) {
  const files = (e) => e.dataTransfer.types.includes("Files");
  area.addEventListener("dragover", (e) => {
    if (!files(e)) return;
    e.preventDefault();
    area.classList.add("over");
  });
  area.addEventListener("dragleave", (e) => area.contains(e.relatedTarget) || area.classList.remove("over"));
  area.addEventListener("drop", async (e) => {
    area.classList.remove("over");
    if (!files(e)) return;
    e.preventDefault();
    const list = await dropped(e.dataTransfer);
    if (list.length) open(list);
  });
}

// dropped returns files by their paths, the ones in folders with them.
async function dropped(transfer) {
  const list = [], ask = (f) => new Promise(f);
  const visit = async (entry) => {
    if (entry.isFile) return list.push({ name: entry.fullPath.slice(1), blob: await ask((done, fail) => entry.file(done, fail)) });
    const reader = entry.createReader();
    for (let part; (part = await ask((done, fail) => reader.readEntries(done, fail))).length;) for (const e of part) await visit(e);
  };
  for (const entry of [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean)) await visit(entry);
  return list;
}
