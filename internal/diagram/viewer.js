// The viewer of diagrams: a canvas to pan and zoom, a search, and the details of a box. It needs
// nothing beside viewer.css. A drawing is the JSON of package diagram.

const make = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

// extents shortens a type to its extents, which fit beside an edge.
const extents = (type) => {
  const m = /\[(.*)\]$/.exec(type ?? "");
  return m ? m[1].replaceAll(",", "×") || "scalar" : type ?? "";
};

export class Viewer {
  // A Viewer fills the element root with the drawing.
  constructor(root, drawing) {
    this.root = root;
    this.drawing = drawing;
    this.path = []; // numbers of the graphs around the one that is shown
    this.times = new Map();
    this.build();
    this.show(0);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => { this.colours = null; this.paint(); };
    this.dark.addEventListener("change", this.recolour);
  }

  // close ends the viewer, and empties its element.
  close() {
    this.observer.disconnect();
    this.dark.removeEventListener("change", this.recolour);
    this.root.replaceChildren();
  }

  // setTimes shows the milliseconds of nodes, by name, in their boxes. The longest are the darkest.
  setTimes(times) {
    this.times = times;
    this.longest = Math.max(...times.values(), 1e-9);
    this.paint();
  }

  build() {
    const button = (label, text, act) => {
      const b = make("button", { type: "button", "aria-label": label, title: label }, text);
      b.addEventListener("click", act);
      return b;
    };
    this.search = make("input", { type: "search", placeholder: "Find a node", "aria-label": "Find a node by name or operator" });
    this.search.addEventListener("input", () => this.find(0));
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.find(e.shiftKey ? -1 : 1);
    });
    this.hits = make("span", { class: "hits", role: "status" });
    this.back = button("Back to the graph around", "←", () => this.leave());
    this.title = make("span", { class: "graph" });
    const bar = make("div", { class: "bar", role: "toolbar", "aria-label": "Picture" },
      this.back, this.title, this.search, this.hits, make("span", { class: "gap" }),
      button("Smaller", "−", () => this.zoom(1 / 1.4)), button("Larger", "+", () => this.zoom(1.4)),
      button("Show all", "⤢", () => this.fit()));
    this.canvas = make("canvas", {
      tabindex: "0", role: "application",
      "aria-label": "Graph of the model. Arrow keys go from node to node along the edges, plus and minus zoom, 0 shows all.",
    });
    this.details = make("aside", { class: "details", "aria-label": "Node", "aria-live": "polite" });
    this.root.classList.add("viewer");
    this.root.replaceChildren(bar, make("div", { class: "stage" }, this.canvas, this.details));
    this.listen();
  }

  listen() {
    const c = this.canvas, fingers = new Map();
    let moved = 0;
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, e);
      moved = 0;
    });
    c.addEventListener("pointermove", (e) => {
      const before = fingers.get(e.pointerId);
      if (!before) return;
      const others = [...fingers.values()].filter((f) => f.pointerId !== e.pointerId);
      fingers.set(e.pointerId, e);
      moved += Math.abs(e.offsetX - before.offsetX) + Math.abs(e.offsetY - before.offsetY);
      if (others.length) { // a pinch
        const o = others[0], length = (p) => Math.hypot(p.offsetX - o.offsetX, p.offsetY - o.offsetY);
        this.zoom(length(e) / Math.max(length(before), 1), (e.offsetX + o.offsetX) / 2, (e.offsetY + o.offsetY) / 2);
      }
      const share = others.length ? 0.5 : 1;
      this.x += (e.offsetX - before.offsetX) * share;
      this.y += (e.offsetY - before.offsetY) * share;
      this.paint();
    });
    const up = (e) => {
      if (fingers.delete(e.pointerId) && moved < 6 && e.type === "pointerup") this.select(this.at(e.offsetX, e.offsetY));
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.ctrlKey || !e.shiftKey && Math.abs(e.deltaX) < Math.abs(e.deltaY)) {
        this.zoom(Math.exp(-Math.sign(e.deltaY) * Math.min(Math.abs(e.deltaY), 60) / 200), e.offsetX, e.offsetY);
        return;
      }
      this.x -= e.deltaX || e.deltaY;
      this.paint();
    }, { passive: false });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  key(e) {
    const act = {
      "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), "0": () => this.fit(),
      ArrowDown: () => this.step("from", "to"), ArrowUp: () => this.step("to", "from"),
      ArrowLeft: () => this.beside(-1), ArrowRight: () => this.beside(1),
      Enter: () => this.selected?.bodies && this.enter(this.selected.bodies[0].graph),
      Escape: () => (this.selected ? this.select(null) : this.leave()),
    }[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  }

  // step goes along the first edge from, or to, the box that is selected.
  step(mine, other) {
    const i = this.graph.boxes.indexOf(this.selected);
    if (i < 0) return this.select(this.graph.boxes[0] ?? null, true);
    const e = this.graph.edges.find((e) => e[mine] === i);
    if (e) this.select(this.graph.boxes[e[other]], true);
  }

  // beside goes to the next box at about the same height.
  beside(sign) {
    const s = this.selected;
    if (!s) return this.step("from", "to");
    const row = this.graph.boxes.filter((b) => Math.abs(b.y - s.y) < 40 && (b.x - s.x) * sign > 0);
    row.sort((a, b) => (a.x - b.x) * sign);
    if (row.length) this.select(row[0], true);
  }

  // show shows a graph of the drawing.
  show(number) {
    this.graph = this.drawing.graphs[number];
    this.number = number;
    this.back.hidden = !this.path.length;
    const { name, nodes } = this.graph;
    this.title.textContent = `${name ? name + " · " : ""}${nodes.toLocaleString("en")} ${nodes === 1 ? "node" : "nodes"}`;
    for (const e of this.graph.edges) { // what an edge covers
      const xs = e.points.filter((_, i) => i % 2 === 0), ys = e.points.filter((_, i) => i % 2);
      e.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    }
    this.select(null);
    this.begin();
  }

  enter(number) {
    this.path.push(this.number);
    this.show(number);
  }

  leave() {
    if (this.path.length) this.show(this.path.pop());
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas, ratio = devicePixelRatio || 1;
    if (!w || !h) return;
    const first = !this.width;
    if (!first) { // the middle stays
      this.x += (w - this.width) / 2;
      this.y += (h - this.height) / 2;
    }
    [this.width, this.height] = [w, h];
    [this.canvas.width, this.canvas.height] = [Math.round(w * ratio), Math.round(h * ratio)];
    first ? this.begin() : this.paint();
  }

  // begin shows the whole graph or, if that would be too small to read, its first box.
  begin() {
    if (!this.width) return;
    const { width, boxes } = this.graph;
    this.fit();
    if (this.scale > 0.45 || !boxes.length) return;
    this.scale = Math.min(1, Math.max(0.75, this.width / (width + 48)));
    this.x = this.width / 2 - boxes[0].x * this.scale;
    this.y = 32 - (boxes[0].y - boxes[0].h / 2) * this.scale;
    this.paint();
  }

  // fit shows the whole graph.
  fit() {
    if (!this.width) return;
    const { width, height } = this.graph;
    this.scale = Math.min(1, this.width / (width + 48), this.height / (height + 48));
    this.x = (this.width - width * this.scale) / 2;
    this.y = (this.height - height * this.scale) / 2;
    this.paint();
  }

  zoom(by, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(4, Math.max(0.004, this.scale * by)), ratio = scale / this.scale;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.scale = scale;
    this.paint();
  }

  // at returns the box at a place of the canvas, or null.
  at(x, y) {
    const px = (x - this.x) / this.scale, py = (y - this.y) / this.scale;
    return this.graph.boxes.find((b) => Math.abs(px - b.x) * 2 <= b.w && Math.abs(py - b.y) * 2 <= b.h) ?? null;
  }

  find(move) {
    const text = this.search.value.trim().toLowerCase();
    const list = text ? this.graph.boxes.filter((b) =>
      [b.title, b.name, ...(b.outputs ?? []).map((p) => p.name)].some((s) => s?.toLowerCase().includes(text))) : [];
    this.found = new Set(list);
    const i = move ? list.indexOf(this.selected) : -1;
    const next = list[(i + (move || 1) + list.length) % list.length];
    this.hits.textContent = !text ? "" : list.length ? `${list.indexOf(next) + 1} of ${list.length}` : "not found";
    next ? this.select(next, true) : this.paint();
  }

  select(box, centre) {
    this.selected = box;
    if (box && centre) {
      this.scale = Math.max(this.scale, 0.6);
      this.x = this.width / 2 - box.x * this.scale;
      this.y = this.height / 2 - box.y * this.scale;
    }
    this.describe(box);
    this.paint();
  }

  // describe fills the details.
  describe(b) {
    this.details.hidden = !b;
    if (!b) return this.details.replaceChildren();
    const close = make("button", { type: "button", class: "close", "aria-label": "Close the details" }, "×");
    close.addEventListener("click", () => { this.select(null); this.canvas.focus(); });
    const parts = [close, make("h3", {}, b.op || b.title)];
    if (b.name && b.name !== b.title) parts.push(make("p", { class: "name" }, b.name));
    if (b.doc) parts.push(make("p", {}, b.doc));
    const time = this.times.get(b.name);
    if (time !== undefined) parts.push(make("p", {}, `${time.toPrecision(3)} ms a run`));
    for (const body of b.bodies ?? []) {
      const open = make("button", { type: "button", class: "open" }, `Open ${body.name}`);
      open.addEventListener("click", () => this.enter(body.graph));
      parts.push(open);
    }
    const section = (title, rows) => {
      if (!rows?.length) return;
      parts.push(make("h4", {}, title), make("dl", {}, ...rows.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)])));
    };
    const port = (p) => [p.name || "left out", [p.type, p.value && `= ${p.value}`].filter(Boolean).join(" ") || "type not known"];
    section("Attributes", b.attrs?.map((a) => [a.name, a.value]));
    section("Inputs", b.kind === "output" ? [] : b.inputs?.map(port));
    section(b.kind === "node" || b.op ? "Outputs" : "Type", b.outputs?.map(port));
    this.details.replaceChildren(...parts);
  }

  paint() {
    if (this.frame || !this.width) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  palette() {
    const style = getComputedStyle(this.root), get = (name) => style.getPropertyValue(name).trim();
    const names = ["paper", "ink", "soft", "line", "accent", "tint", "wash", "face"];
    this.colours = Object.fromEntries(names.map((n) => [n, get("--" + n)]));
    this.font = style.fontFamily;
  }

  draw() {
    if (!this.colours) this.palette();
    const c = this.canvas.getContext("2d"), ratio = this.canvas.width / this.width, col = this.colours;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.translate(this.x, this.y);
    c.scale(this.scale, this.scale);
    const left = -this.x / this.scale - 40, top = -this.y / this.scale - 40;
    const right = left + this.width / this.scale + 80, bottom = top + this.height / this.scale + 80;
    const chosen = this.graph.boxes.indexOf(this.selected);
    this.drawn = 0;
    c.lineWidth = Math.max(1.2, 0.6 / this.scale);
    const loud = [];
    c.strokeStyle = col.soft;
    c.globalAlpha = 0.55;
    c.beginPath();
    for (const e of this.graph.edges) {
      const [l, t, r, b] = e.box;
      if (r < left || l > right || b < top || t > bottom) continue;
      e.from === chosen || e.to === chosen ? loud.push(e) : this.curve(c, e.points);
    }
    c.stroke();
    c.globalAlpha = 1;
    c.strokeStyle = col.accent;
    c.beginPath();
    for (const e of loud) this.curve(c, e.points);
    c.stroke();
    if (this.scale > 0.55) this.labels(c, left, top, right, bottom);
    for (const b of this.graph.boxes) {
      if (b.x + b.w / 2 < left || b.x - b.w / 2 > right || b.y + b.h / 2 < top || b.y - b.h / 2 > bottom) continue;
      this.box(c, b);
      this.drawn++;
    }
  }

  // curve adds an edge to the path: vertical at its ends and at the places between.
  curve(c, p) {
    c.moveTo(p[0], p[1]);
    for (let i = 2; i < p.length; i += 2) {
      const [x0, y0, x1, y1] = [p[i - 2], p[i - 1], p[i], p[i + 1]], m = (y0 + y1) / 2;
      x0 === x1 ? c.lineTo(x1, y1) : c.bezierCurveTo(x0, m, x1, m, x1, y1);
    }
    if (this.scale > 0.3) {
      const x = p[p.length - 2], y = p[p.length - 1];
      c.moveTo(x - 4, y - 6);
      c.lineTo(x, y);
      c.lineTo(x + 4, y - 6);
    }
  }

  labels(c, left, top, right, bottom) {
    c.font = `11px ${this.font}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    const taken = new Set();
    for (const e of this.graph.edges) {
      const [x0, y0, x1, y1] = e.points, x = (x0 + x1) / 2, y = (y0 + y1) / 2;
      const text = extents(e.type), key = `${e.from} ${e.name}`;
      if (!text || taken.has(key) || x < left || x > right || y < top || y > bottom) continue;
      taken.add(key);
      const w = c.measureText(text).width + 8;
      c.fillStyle = this.colours.paper;
      c.fillRect(x - w / 2, y - 8, w, 16);
      c.fillStyle = this.colours.soft;
      c.fillText(text, x, y);
    }
  }

  box(c, b) {
    const col = this.colours, x = b.x - b.w / 2, y = b.y - b.h / 2, end = b.kind === "input" || b.kind === "output";
    const fill = { product: col.tint, input: col.paper, output: col.paper, body: col.wash }[b.kind] ?? col.face;
    c.beginPath();
    c.roundRect(x, y, b.w, b.h, end ? 15 : 6);
    c.fillStyle = fill;
    c.fill();
    const time = this.times.get(b.name);
    if (time !== undefined) {
      c.fillStyle = col.accent;
      c.globalAlpha = 0.65 * Math.sqrt(time / this.longest);
      c.fill();
      c.globalAlpha = 1;
    }
    const found = this.found?.has(b), width = b === this.selected ? 3 : found ? 2 : 1.2;
    c.lineWidth = Math.max(width, b === this.selected || found ? 2 / this.scale : 0);
    c.strokeStyle = b === this.selected || found || b.kind === "product" ? col.accent : col.line;
    c.stroke();
    if (this.scale < 0.28) return;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = col.ink;
    c.font = `600 13px ${this.font}`;
    c.fillText(b.title, b.x, y + 15.5, b.w - 12);
    if (this.scale < 0.45 || !b.lines) return;
    c.fillStyle = col.soft;
    c.font = `11px ${this.font}`;
    b.lines.forEach((line, i) => c.fillText(line, b.x, y + 33 + 16 * i, b.w - 12));
  }
}
