// The viewer of diagrams: the details of a box.

const make = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

const few = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6 ? String(+x.toPrecision(4)) : x.toExponential(2));
const duration = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : ms >= 0.1 ? `${ms.toPrecision(3)} ms` : `${(ms * 1000).toPrecision(3)} µs`);

// countsOf returns how many nodes a graph has, and how many of them have no boxes.
function countsOf({ nodes, constants }) {
  const all = `${nodes.toLocaleString("en")} ${nodes === 1 ? "node" : "nodes"}`;
  return constants ? `${all}, ${constants.toLocaleString("en")} of them ${constants === 1 ? "a constant" : "constants"}` : all;
}

// listOf returns a list of names with values. A value is beside its name, or below a long one.
const listOf = (rows) => make("dl", {}, ...rows.map(([k, v]) => make("div", {}, make("dt", {}, k), make("dd", {}, v))));

// summaryOf returns the elements that describe the graph that is shown.
function summaryOf(viewer) {
  const graph = viewer.drawing.graphs[viewer.number];
  const parts = [make("h3", {}, graph.name || "Graph"), make("p", {}, countsOf(graph))];
  const section = (title, ...content) => parts.push(make("h4", {}, title), ...content);
  for (const kind of ["input", "output"]) {
    const rows = graph.boxes.filter((b) => b.kind === kind).map((b) => [b.title, b.lines?.[0] ?? "type not known"]);
    if (rows.length) section(`${kind === "input" ? "Inputs" : "Outputs"}`, listOf(rows.slice(0, 12)));
    if (rows.length > 12) parts.push(make("p", {}, `and ${rows.length - 12} more`));
  }
  if (graph.facts) section("Contents", listOf(graph.facts.map((a) => [a.name, a.value])));
  const groups = viewer.largest().map((e) => {
    const button = make("button", { type: "button", class: "open" }, `${e.box.title} · ${e.box.lines[0]}`);
    button.addEventListener("click", () => viewer.reveal(e));
    return button;
  });
  if (groups.length) section("Largest groups", make("div", { class: "list" }, ...groups));
  parts.push(make("p", { class: "note" }, "A node has a box, unless it computes from constants alone: then it is an operand of " +
    "the nodes that use it. Nodes in the graphs of an If, a Loop or a function are counted there."));
  return parts;
}

// detailsOf returns the elements that describe a box: what viewer knows of it.
function detailsOf(b, viewer) {
  const parts = [make("h3", {}, b.op || b.title)];
  if (b.name && b.name !== b.title) parts.push(make("p", { class: "name" }, b.name));
  if (b.doc) parts.push(make("p", {}, b.doc));
  const button = (text, act) => {
    const e = make("button", { type: "button", class: "open" }, text);
    e.addEventListener("click", act);
    parts.push(e);
  };
  if (b.inside) button(viewer.open.has(b) ? "Fold the group" : "Open the group", () => viewer.toggle(b));
  for (const body of b.bodies ?? []) button(`Open ${body.name}`, () => viewer.enter(body.graph));
  const section = (title, rows) => {
    if (!rows?.length) return;
    parts.push(make("h4", {}, title), listOf(rows));
  };
  const run = viewer.steps.get(b);
  if (run) {
    const rows = run.ms === undefined ? [] : [["time", `${duration(run.ms)} (${((100 * run.ms) / viewer.total).toFixed(1)} %)`]];
    section("Run", [...rows, ...[...(run.how ?? [])].slice(0, 4).map((how) => ["kernel", how])]);
  }
  const port = (p) => [
    (p.name || "left out") + (p.by ? ` (by ${p.by})` : ""),
    [p.type, p.value && `= ${p.value}`].filter(Boolean).join(" ") || "type not known",
  ];
  section("Contents", b.facts?.map((a) => [a.name, a.value]));
  section("Attributes", b.attrs?.map((a) => [a.name, a.value]));
  section("Inputs", b.kind === "output" ? [] : b.inputs?.map(port));
  section("Captured", b.captured?.map(port));
  section(b.op || b.inside ? "Outputs" : "Type", b.outputs?.map(port));
  for (const p of b.inputs ?? []) if (p.weight !== undefined) parts.push(histogram(viewer.drawing.weights[p.weight], p.type));
  return parts;
}

// histogram draws the distribution of a weight.
function histogram(w, type) {
  const all = w.sampled === w.count ? "" : ` of a sample of ${w.sampled.toLocaleString("en")}`;
  const facts = [`mean ${few(w.mean)}`, `deviation ${few(w.spread)}`];
  if (w.zeros) facts.push(`${((100 * w.zeros) / w.sampled).toFixed(1)} % zeros`);
  if (w.infinite) facts.push(`${w.infinite} not finite`);
  const figure = make("figure", { class: "histogram" }, make("figcaption", {}, make("strong", {}, w.name), ` ${type ?? ""}`));
  if (w.bins) {
    const most = Math.max(...w.bins), bars = make("div", { class: "bars", role: "img",
      "aria-label": `Distribution from ${few(w.least)} to ${few(w.most)}, ${facts.join(", ")}` });
    w.bins.forEach((n, k) => {
      const at = (i) => few(w.least + ((w.most - w.least) * i) / w.bins.length);
      const bar = make("div", { title: `${at(k)} to ${at(k + 1)}: ${n.toLocaleString("en")}` });
      bar.style.height = `${n ? Math.max(2, (100 * n) / most) : 0}%`;
      bars.append(bar);
    });
    figure.append(bars, make("div", { class: "range" }, make("span", {}, few(w.least)), make("span", {}, few(w.most))));
  }
  figure.append(make("p", {}, facts.join(" · ") + all));
  return figure;
}
