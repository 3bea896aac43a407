// The viewer of diagrams: a canvas to pan and zoom, groups that open and close, a search, and the
// details of a box. It needs nothing beside viewer.css. A drawing is the JSON of package diagram.

export class Viewer {
  // A Viewer fills the element root with the drawing.
  constructor(root, drawing) {
    this.root = root;
    this.drawing = drawing;
    this.path = []; // numbers of the graphs around the one that is shown
    this.open = new Set(); // boxes of open groups
    this.found = new Set();
    this.loud = new Set(); // edges of the box that is selected
    this.steps = new Map(); // time and kernels by box
    [this.total, this.longest] = [1, 1];
    this.time = (box) => this.steps.get(box)?.ms;
    this.index();
    this.build();
    this.show(0);
    this.setSteps(drawing.steps ?? []);
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

  // index lists all boxes with where they are: the graph, the graphs around it, the groups around the
  // box, and the path of the graph as in a profile.
  index() {
    this.entries = [];
    const seen = new Set();
    const walk = (number, root, path, groups, within) => {
      if (seen.has(number)) return;
      seen.add(number);
      for (const box of this.drawing.graphs[number].boxes) {
        if (box.kind === "in" || box.kind === "out") continue;
        const names = (list) => (list ?? []).map((p) => p.name), constants = box.inputs?.filter((p) => p.by || p.bytes);
        const texts = box.inside ? [[box.title]] : [[box.title], [box.name, ...names(box.outputs)], names(constants)];
        this.entries.push({ box, root, path, groups, within, texts: texts.map((list) => list.join("\n").toLowerCase()) });
        if (box.inside) walk(box.inside, root, path, [...groups, box], within);
        for (const body of box.bodies ?? []) {
          walk(body.graph, body.graph, [...path, root], [], `${within && within + " > "}${box.name}.${body.name}`);
        }
      }
    };
    walk(0, 0, [], [], "");
  }

  // setSteps shows kernels and milliseconds of steps in their boxes. The longest are the darkest.
  setSteps(steps) {
    const key = (within, node) => `${within}\n${node}`, boxes = new Map();
    for (const e of this.entries) if (e.box.op) boxes.set(key(e.within, e.box.name), e);
    this.steps = new Map();
    [this.total, this.longest] = [0, 0];
    for (const s of steps) {
      if (s.ms && !s.within) this.total += s.ms;
      const e = boxes.get(key(s.within ?? "", s.node));
      if (!e) continue;
      for (const box of [e.box, ...e.groups]) {
        const sum = this.steps.get(box) ?? { how: box === e.box ? new Set() : null };
        sum.how?.add(s.how);
        if (s.ms !== undefined) sum.ms = (sum.ms ?? 0) + s.ms;
        this.steps.set(box, sum);
      }
    }
    for (const [box, { ms }] of this.steps) if (ms && !box.inside) this.longest = Math.max(this.longest, ms);
    this.total ||= 1;
    this.longest ||= 1;
    this.describe(this.selected);
    this.paint();
  }

  build() {
    const button = (label, text, act) => {
      const b = make("button", { type: "button", "aria-label": label, title: label }, text);
      b.addEventListener("click", act);
      return b;
    };
    this.search = make("input", { type: "search", placeholder: "Find a node", "aria-label": "Find a node by name or operator" });
    let typed = false; // the first Enter stays at the first that is found
    this.search.addEventListener("input", () => { typed = true; this.find(0); });
    this.search.addEventListener("keydown", (e) => {
      if (e.key !== "Enter") return;
      this.find(typed ? 0 : e.shiftKey ? -1 : 1);
      typed = false;
    });
    this.hits = make("span", { class: "hits", role: "status" });
    this.back = button("Back to the graph around", "←", () => this.leave());
    this.back.classList.add("back");
    this.title = make("span", { class: "graph" });
    this.folds = make("span", { class: "folds" }, button("Open all groups", "⊞", () => this.unfold(true)),
      button("Close all groups", "⊟", () => this.unfold(false)));
    this.about = button("Summary of the graph", "i", () => {
      this.root.classList.toggle("about");
      this.select(null);
    });
    this.about.classList.add("narrow");
    const bar = make("div", { class: "bar", role: "toolbar", "aria-label": "Picture" },
      this.back, this.title, this.search, this.hits, make("span", { class: "gap" }), this.folds,
      this.about, make("span", { class: "folds zooms" }, button("Smaller", "−", () => this.zoom(1 / 1.4)),
        button("Larger", "+", () => this.zoom(1.4))),
      button("Show all", "⤢", () => this.fit()));
    this.canvas = make("canvas", {
      tabindex: "0", role: "application",
      "aria-label": "Graph of the model. Arrow keys go from node to node along the edges, Enter opens and closes a group, " +
        "plus and minus zoom, 0 shows all.",
    });
    this.details = make("aside", { class: "details", "aria-label": "Details", "aria-live": "polite" });
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
      if (fingers.delete(e.pointerId) && moved < 6 && e.type === "pointerup") this.press(e.offsetX, e.offsetY);
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

  // press selects what is at a place of the canvas. It opens a closed group, and closes an open one at
  // its title.
  press(x, y) {
    const px = (x - this.x) / this.scale, py = (y - this.y) / this.scale;
    const head = this.scene.boxes.findLast(({ head: h }) => h && px >= h[0] && px <= h[0] + h[2] && py >= h[1] && py <= h[1] + h[3]);
    const p = head ?? this.scene.boxes.findLast((b) => Math.abs(px - b.x) * 2 <= b.w && Math.abs(py - b.y) * 2 <= b.h);
    if (p && (head || p.box.inside && !this.open.has(p.box))) this.toggle(p.box);
    this.select(p?.box ?? null);
  }

  key(e) {
    const act = {
      "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), "0": () => this.fit(),
      "/": () => this.search.focus(),
      ArrowDown: () => this.step("from"), ArrowUp: () => this.step("to"),
      ArrowLeft: () => this.beside(-1), ArrowRight: () => this.beside(1),
      Enter: () => this.enterSelected(), " ": () => this.enterSelected(),
      Escape: () => this.escape(),
    }[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  }

  enterSelected() {
    if (this.selected?.inside) return this.toggle(this.selected);
    if (this.selected?.bodies) this.enter(this.selected.bodies[0].graph);
  }

  // escape selects the group around what is selected, then nothing, then shows the graph around.
  escape() {
    if (!this.selected) return this.leave();
    this.select(this.scene.at.get(this.selected)?.around?.box ?? null, true);
  }

  // step goes along the first edge from, or to, the box that is selected.
  step(side) {
    const p = this.scene.at.get(this.selected);
    if (!p) return this.select(this.scene.boxes[0]?.box ?? null, true);
    if (p.ports && side === "from") { // into the group
      const first = this.scene.boxes.find((b) => b.around === p);
      if (first) return this.select(first.box, true);
    }
    const next = neighbours(this.scene, p, side)[0];
    if (next) this.select(next.box, true);
  }

  // beside goes to the next box at about the same height.
  beside(sign) {
    const s = this.scene.at.get(this.selected);
    if (!s) return this.step("from");
    const row = this.scene.boxes.filter((b) => !b.ports && Math.abs(b.y - s.y) < 40 && (b.x - s.x) * sign > 0);
    row.sort((a, b) => (a.x - b.x) * sign);
    if (row.length) this.select(row[0].box, true);
  }

  // show shows a graph of the drawing.
  show(number) {
    this.number = number;
    this.back.hidden = !this.path.length;
    const { name, boxes } = this.drawing.graphs[number];
    this.title.textContent = (name ? name + " · " : "") + countsOf(this.drawing.graphs[number]);
    this.folds.hidden = !boxes.some((b) => b.inside);
    openSome(this.drawing, number, this.open);
    this.arrange();
    this.select(null);
    this.fit();
  }

  arrange() {
    this.scene = arrange(this.drawing, this.number, this.open);
  }

  // toggle opens or closes a group, and brings it into view.
  toggle(box) {
    const before = this.scene.at.get(box);
    this.open.has(box) ? this.open.delete(box) : this.open.add(box);
    this.arrange();
    const after = this.scene.at.get(box);
    this.x += (before.x - after.x) * this.scale;
    this.y += (before.y - before.h / 2 - after.y + after.h / 2) * this.scale;
    this.select(box);
    this.bring(after);
  }

  // unfold opens or closes all groups of the graph that is shown.
  unfold(all) {
    for (const e of this.entries) if (e.root === this.number && e.box.inside) all ? this.open.add(e.box) : this.open.delete(e.box);
    this.arrange();
    this.select(null);
    this.fit();
  }

  enter(number) {
    this.path.push(this.number);
    this.show(number);
  }

  leave() {
    if (this.path.length) this.show(this.path.pop());
  }

  // resize fits the canvas to its element. The middle of the upper edge stays, unless the box that is
  // selected would leave the view.
  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas, ratio = devicePixelRatio || 1;
    if (!w || !h || w === this.width && h === this.height && this.canvas.width === Math.round(w * ratio)) return;
    const first = !this.width, p = this.scene.at.get(this.selected), top = p && this.y + (p.y - p.h / 2) * this.scale;
    const seen = top >= 0 && top < this.height;
    if (!first) this.x += (w - this.width) / 2;
    [this.width, this.height] = [w, h];
    [this.canvas.width, this.canvas.height] = [Math.round(w * ratio), Math.round(h * ratio)];
    if (first) return this.fit();
    if (seen) this.bring(p);
    this.paint();
  }

  // fit shows the whole graph or, if that would be too small to read, its beginning.
  fit() {
    if (!this.width) return;
    Object.assign(this, fitted(this.scene, this.width, this.height));
    this.paint();
  }

  zoom(by, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(4, Math.max(0.004, this.scale * by)), ratio = scale / this.scale;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.scale = scale;
    this.paint();
  }

  // find selects the first, next or last box with the text that is searched, in all graphs: groups come
  // first, then nodes by operator, by name and values, and by the names of their constants.
  find(move) {
    const text = this.search.value.trim().toLowerCase(), ranks = [[], [], [], []];
    for (const e of text ? this.entries : []) {
      const at = e.texts.findIndex((t) => t.includes(text));
      if (at >= 0) ranks[e.box.inside ? 0 : at + 1].push(e);
    }
    const list = ranks.flat();
    this.found = new Set(list.map((e) => e.box));
    const i = move ? list.findIndex((e) => e.box === this.selected) : -1;
    const next = list[(i + (move || 1) + list.length) % list.length];
    this.hits.textContent = !text ? "" : list.length ? `${list.indexOf(next) + 1} of ${list.length.toLocaleString("en")}` : "not found";
    next ? this.reveal(next) : this.paint();
  }

  // reveal shows the box of an entry: its graph, with the groups around it open.
  reveal({ box, root, path, groups }) {
    if (root !== this.number) {
      this.path = [...path];
      this.show(root);
    }
    if (groups.some((g) => !this.open.has(g))) {
      for (const g of groups) this.open.add(g);
      this.arrange();
    }
    this.select(box, true);
  }

  // revealStep shows the box of a node by its name and path, as in a profile. It reports whether
  // there is one.
  revealStep(node, within = "") {
    const e = this.entries.find((e) => e.box.op && e.box.name === node && e.within === within);
    if (e) this.reveal(e);
    return e !== undefined;
  }

  select(box, centre) {
    this.selected = box;
    const p = this.scene.at.get(box);
    this.loud = new Set(p ? [...neighbours(this.scene, p, "from").edges, ...neighbours(this.scene, p, "to").edges] : []);
    this.describe(box);
    this.resize(); // the details may take room
    if (p && centre && this.width) {
      this.scale = Math.max(this.scale, LEAST);
      this.x = this.width / 2 - p.x * this.scale;
      this.y = this.height / 2 - (p.ports ? p.y - p.h / 2 : p.y) * this.scale;
    }
    this.paint();
  }

  // bring moves the view up or down until a box is in it, or the upper part of a large one.
  bring(p) {
    const top = this.y + (p.y - p.h / 2) * this.scale, over = top + p.h * this.scale - this.height + 24;
    if (top < 48) this.y += 48 - top;
    else if (over > 0) this.y -= Math.min(over, top - 48);
    this.paint();
  }

  // describe fills the details: of a box, or of the graph.
  describe(b) {
    this.root.classList.toggle("chosen", !!b);
    if (!b) return this.details.replaceChildren(...summaryOf(this));
    const label = "Back to the summary";
    const close = make("button", { type: "button", class: "close", "aria-label": label, title: label }, "×");
    close.addEventListener("click", () => { this.select(null); this.canvas.focus(); });
    this.details.replaceChildren(close, ...detailsOf(b, this));
    this.details.scrollTop = 0;
  }

  // largest returns the entries of the largest groups of the graph, without groups around most nodes and
  // groups within the ones that are listed.
  largest() {
    const size = (e) => this.drawing.graphs[e.box.inside].nodes, { nodes, constants = 0 } = this.drawing.graphs[this.number];
    const list = this.entries.filter((e) => e.root === this.number && e.box.inside && size(e) * 2 <= nodes - constants);
    const outer = new Set(list.map((e) => e.box));
    return list.filter((e) => !e.groups.some((g) => outer.has(g))).sort((a, b) => size(b) - size(a)).slice(0, 6);
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
    const c = this.canvas.getContext("2d"), ratio = this.canvas.width / this.width;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    this.drawn = paintScene(c, this);
  }
}
