// The time line of a profile: rows of layers, and the steps below them.

const ROW = 20;

// hue gives an operator a colour of its own.
const hue = (op) => {
  let h = 7;
  for (const c of op) h = (h * 31 + c.charCodeAt(0)) % 360;
  return h;
};

// spansOf returns the stretches of steps that share a layer, by depth, and the steps at the bottom.
function spansOf(steps) {
  const deepest = steps.reduce((most, s) => Math.max(most, s.layer.length), 0), spans = [];
  for (let depth = 0; depth < deepest; depth++) {
    let last = null, key = "";
    for (const s of steps) {
      const next = s.layer.length > depth ? JSON.stringify(s.layer.slice(0, depth + 1)) : "";
      if (!next || next !== key) last = null;
      key = next;
      if (!next) continue;
      if (last) {
        last.end = Math.max(last.end, s.start_ms + s.ms);
        continue;
      }
      last = { depth, start: s.start_ms, end: s.start_ms + s.ms, text: s.layer[depth] };
      spans.push(last);
    }
  }
  for (const s of steps) spans.push({ depth: deepest + (s.within ? 1 : 0), start: s.start_ms, end: s.start_ms + s.ms, text: s.op.replace(/^.*\.|-\d+$/g, ""), step: s });
  return spans;
}

class Timeline {
  // A Timeline draws steps, and calls choose with a step that is pressed.
  constructor(canvas, steps, choose) {
    Object.assign(this, { canvas, steps, choose, spans: spansOf(steps), chosen: null });
    this.whole = [0, this.spans.reduce((end, s) => Math.max(end, s.end), 0) || 1];
    [this.from, this.to] = this.whole;
    const depth = this.spans.reduce((most, s) => Math.max(most, s.depth), 0);
    canvas.style.height = `${(depth + 1) * ROW + 34}px`;
    this.listen();
    new ResizeObserver(() => this.paint()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  listen() {
    const c = this.canvas;
    let drag = null, moved = 0;
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      [drag, moved] = [e.offsetX, 0];
    });
    c.addEventListener("pointermove", (e) => {
      if (drag === null) return;
      moved += Math.abs(e.offsetX - drag);
      this.move(((drag - e.offsetX) / c.clientWidth) * (this.to - this.from));
      drag = e.offsetX;
    });
    c.addEventListener("pointerup", (e) => {
      if (drag !== null && moved < 5) this.press(e.offsetX, e.offsetY);
      drag = null;
    });
    c.addEventListener("pointercancel", () => { drag = null; });
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      const across = Math.abs(e.deltaX) > Math.abs(e.deltaY);
      across ? this.move((e.deltaX / c.clientWidth) * (this.to - this.from)) : this.zoom(Math.exp(e.deltaY / 300), e.offsetX / c.clientWidth);
    }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const i = this.steps.indexOf(this.chosen);
      const act = {
        ArrowRight: () => this.choose(this.steps[Math.min(i + 1, this.steps.length - 1)]), ArrowLeft: () => this.choose(this.steps[Math.max(i - 1, 0)]),
        "+": () => this.zoom(1 / 1.5), "=": () => this.zoom(1 / 1.5), "-": () => this.zoom(1.5), "0": () => this.view(...this.whole),
      }[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
    });
  }

  view(from, to) {
    const width = Math.min(Math.max(to - from, this.whole[1] / 1e5), this.whole[1]);
    this.from = Math.min(Math.max(from, 0), this.whole[1] - width);
    this.to = this.from + width;
    this.paint();
  }

  move(by) { this.view(this.from + by, this.to + by); }

  zoom(by, at = 0.5) {
    const middle = this.from + (this.to - this.from) * at, width = (this.to - this.from) * by;
    this.view(middle - width * at, middle + width * (1 - at));
  }

  // press chooses a step, or shows a layer as wide as the time line.
  press(x, y) {
    const t = this.from + ((this.to - this.from) * x) / this.canvas.clientWidth, depth = Math.floor((y - 28) / ROW);
    const slack = (2 / this.canvas.clientWidth) * (this.to - this.from);
    const hit = this.spans.filter((s) => s.depth === depth && t >= s.start - slack && t <= s.end + slack)
      .sort((a, b) => Math.abs(a.start + a.end - 2 * t) - Math.abs(b.start + b.end - 2 * t))[0];
    if (hit?.step) this.choose(hit.step);
    else if (hit) this.view(hit.start, hit.end);
  }

  // show marks a step, and moves it into view.
  show(step) {
    this.chosen = step;
    if (step.start_ms < this.from || step.start_ms + step.ms > this.to) {
      const width = Math.max(this.to - this.from, step.ms * 2), middle = step.start_ms + step.ms / 2;
      this.view(middle - width / 2, middle + width / 2);
    }
    this.paint();
  }

  paint() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  draw() {
    const { canvas, from, to } = this, w = canvas.clientWidth, h = canvas.clientHeight, ratio = devicePixelRatio || 1;
    if (!w) return;
    [canvas.width, canvas.height] = [Math.round(w * ratio), Math.round(h * ratio)];
    const c = canvas.getContext("2d"), style = getComputedStyle(canvas), get = (n) => style.getPropertyValue(n).trim();
    const dark = matchMedia("(prefers-color-scheme: dark)").matches, scale = w / (to - from);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    c.font = `11px ${style.fontFamily}`;
    c.textBaseline = "middle";
    this.axis(c, w, h, get, scale);
    for (const s of this.spans) {
      const x = (s.start - from) * scale, wide = Math.max((s.end - s.start) * scale, 0.75);
      if (x > w || x + wide < 0) continue;
      const y = 28 + s.depth * ROW, chosen = s.step && s.step === this.chosen;
      c.fillStyle = s.step ? `hsl(${hue(s.step.op)} 45% ${dark ? 38 : 72}%)` : get("--wash");
      c.fillRect(x, y, wide > 2 ? wide - 0.5 : wide, ROW - 2);
      if (chosen) {
        c.strokeStyle = get("--accent");
        c.lineWidth = 2.5;
        c.strokeRect(x, y, Math.max(wide, 3), ROW - 2);
      }
      const left = Math.max(x, 0), room = Math.min(x + wide, w) - left - 8;
      if (room > 24) {
        c.save();
        c.beginPath();
        c.rect(left, y, room + 4, ROW);
        c.clip();
        c.fillStyle = get("--ink");
        c.fillText(s.text, left + 4, y + ROW / 2);
        c.restore();
      }
    }
  }

  axis(c, w, h, get, scale) {
    const raw = 90 / scale, power = 10 ** Math.floor(Math.log10(raw)), tick = [1, 2, 5, 10].find((k) => k * power >= raw) * power;
    c.strokeStyle = get("--line");
    c.fillStyle = get("--soft");
    c.lineWidth = 1;
    for (let t = Math.ceil(this.from / tick) * tick; t <= this.to; t += tick) {
      const x = (t - this.from) * scale;
      c.beginPath();
      c.moveTo(x, 22);
      c.lineTo(x, h);
      c.stroke();
      c.fillText(t ? duration(t) : "0", x + 3, 12);
    }
  }
}
