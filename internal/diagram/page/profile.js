// The page of a profile: bars by operator and by layer, the time line, a table of steps, and the graph.

const $ = (id) => document.getElementById(id);
const MOST = 300; // rows of the table of steps at first
const { facts, steps } = JSON.parse($("profile").textContent);
const total = steps.reduce((sum, s) => sum + s.own_ms, 0) || 1;
const share = (ms) => `${((100 * ms) / total).toFixed(1)} %`;
steps.forEach((s, i) => { s.number = i + 1; });
$("facts").textContent = facts.join(" · ");

const viewer = new Viewer($("graph"), JSON.parse($("drawing").textContent));
const timeline = new Timeline($("timeline").querySelector("canvas"), steps, choose);

function bar(ms, most) {
  const b = make("div");
  b.style.width = `${(100 * ms) / most}%`;
  return make("td", { class: "bar", "aria-hidden": "true" }, b);
}

const heads = (...names) => make("thead", {}, make("tr", {}, ...names.map((n, i) => make("th", { scope: "col", class: i ? "n plain" : "plain" }, n))));

// operators fills the table of operators.
function operators() {
  const rows = new Map();
  for (const s of steps) {
    const r = rows.get(s.op) ?? { op: s.op, steps: 0, ms: 0 };
    r.steps++;
    r.ms += s.own_ms;
    rows.set(s.op, r);
  }
  const list = [...rows.values()].sort((a, b) => b.ms - a.ms);
  $("operators").replaceChildren(heads("operator", "steps", "time", "share", ""), make("tbody", {}, ...list.map((r) => make("tr", {},
    make("td", {}, r.op), make("td", { class: "n" }, r.steps.toLocaleString("en")), make("td", { class: "n" }, duration(r.ms)),
    make("td", { class: "n" }, share(r.ms)), bar(r.ms, list[0].ms || 1)))));
}

// layers fills the table of layers, in which a layer opens to show the layers in it.
function layers() {
  const root = { rows: new Map(), ms: 0 };
  for (const s of steps) {
    root.ms += s.own_ms;
    let at = root;
    for (const name of s.layer.length ? s.layer : ["(no layer)"]) {
      if (!at.rows.has(name)) at.rows.set(name, { name, rows: new Map(), ms: 0, open: false });
      at = at.rows.get(name);
      at.ms += s.own_ms;
    }
  }
  for (let at = root; at.rows.size === 1;) { // a layer around all others
    at = [...at.rows.values()][0];
    at.open = true;
  }
  const fill = () => {
    const body = make("tbody"), most = Math.max(...[...root.rows.values()].map((r) => r.ms), 1e-9);
    const add = (row, depth) => {
      const name = make("td", { title: row.name });
      name.style.paddingLeft = `${depth * 16}px`;
      if (row.rows.size) {
        const b = make("button", { type: "button", "aria-expanded": String(row.open), "aria-label": row.name }, row.open ? "▾" : "▸");
        b.addEventListener("click", () => { row.open = !row.open; fill(); });
        name.append(b);
      } else {
        name.append(make("span", { class: "leaf" }));
      }
      name.append(row.name);
      body.append(make("tr", {}, name, make("td", { class: "n" }, duration(row.ms)), make("td", { class: "n" }, share(row.ms)), bar(row.ms, most)));
      if (row.open) for (const inner of [...row.rows.values()].sort((a, b) => b.ms - a.ms)) add(inner, depth + 1);
    };
    for (const row of [...root.rows.values()].sort((a, b) => b.ms - a.ms)) add(row, 0);
    $("layers").replaceChildren(heads("layer", "time", "share", ""), body);
  };
  fill();
}

const columns = [
  { name: "#", of: (s) => s.number, n: true }, { name: "time", of: (s) => s.own_ms, text: (s) => duration(s.own_ms), n: true },
  { name: "share", of: (s) => s.own_ms, text: (s) => share(s.own_ms), n: true }, { name: "operator", of: (s) => s.op },
  { name: "node", of: (s) => (s.within ? `${s.within} > ${s.node}` : s.node) }, { name: "layer", of: (s) => s.layer.join(" / ") },
  { name: "kernel", of: (s) => s.how }, { name: "inputs", of: (s) => s.inputs },
];
const sorted = { by: columns[0], down: false, all: false };

// table fills the table of steps, as it is sorted and searched.
function table() {
  const text = $("filter").value.trim().toLowerCase(), { by, down } = sorted;
  const list = steps.filter((s) => !text || [s.node, s.op, s.how, s.layer.join(" / ")].some((t) => t.toLowerCase().includes(text)));
  list.sort((a, b) => {
    const [x, y] = down ? [by.of(b), by.of(a)] : [by.of(a), by.of(b)];
    return typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
  });
  const shown = sorted.all ? list : list.slice(0, MOST);
  $("more").hidden = shown.length === list.length;
  $("matches").textContent = text ? `${list.length.toLocaleString("en")} of ${steps.length.toLocaleString("en")}, ${share(list.reduce((sum, s) => sum + s.own_ms, 0))}` : "";
  const head = make("tr", {}, ...columns.map((col) => {
    const b = make("button", { type: "button" }, col.name);
    b.addEventListener("click", () => {
      sorted.down = sorted.by === col ? !sorted.down : col.n && col !== columns[0];
      sorted.by = col;
      table();
      $("steps").querySelectorAll("th button")[columns.indexOf(col)].focus();
    });
    return make("th", { scope: "col", class: col.n ? "n" : "", ...(by === col ? { "aria-sort": down ? "descending" : "ascending" } : {}) }, b);
  }));
  $("steps").replaceChildren(make("thead", {}, head), make("tbody", {}, ...shown.map((s) => {
    const row = make("tr", { "data-step": String(s.number), class: s === timeline.chosen ? "chosen" : "" },
      ...columns.map((col) => make("td", { class: col.n ? "n" : "" }, String(col.text ? col.text(s) : col.of(s)))));
    row.addEventListener("click", () => choose(s));
    return row;
  })));
}

// choose marks a step everywhere.
function choose(s) {
  timeline.show(s);
  $("step").textContent = `${s.number}. ${s.op} ${s.node} · ${duration(s.own_ms)}, ${share(s.own_ms)} · ${s.how} · ${s.inputs}`;
  for (const row of $("steps").querySelectorAll("tbody tr")) row.classList.toggle("chosen", row.dataset.step === String(s.number));
  viewer.revealStep(s.node, s.within ?? "");
}

operators();
layers();
table();
$("filter").addEventListener("input", table);
$("more").addEventListener("click", () => { sorted.all = true; table(); });
