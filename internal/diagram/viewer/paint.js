// The viewer of diagrams: drawing on a canvas. Only what is in view is drawn, and of small boxes only
// what can be seen.

const MANY = 12; // edges of a box above which they are thin, as together they would be a band

// extents shortens a type to its extents, which fit beside an edge.
function extents(type) {
  const m = /\[(.*)\]$/.exec(type ?? "");
  return m ? m[1].replaceAll(",", "×") || "scalar" : type ?? "";
}

// paintScene draws a scene as a view shows it: place and scale, colours, what is selected and found.
function paintScene(c, view) {
  const { scene, scale, colours: col } = view;
  const left = -view.x / scale - 40, top = -view.y / scale - 40;
  const right = left + view.width / scale + 80, bottom = top + view.height / scale + 80;
  c.translate(view.x, view.y);
  c.scale(scale, scale);
  const boxes = scene.boxes.filter((p) => p.x + p.w / 2 >= left && p.x - p.w / 2 <= right && p.y + p.h / 2 >= top && p.y - p.h / 2 <= bottom);
  const edges = scene.edges.filter(({ bounds: [l, t, r, b] }) => r >= left && l <= right && b >= top && t <= bottom);
  for (const p of boxes) if (p.ports) paintFrame(c, view, p);
  c.lineWidth = Math.max(1.2, 0.6 / scale);
  c.strokeStyle = col.soft;
  c.globalAlpha = 0.55;
  c.beginPath();
  const least = 1 / scale; // shorter edges cannot be seen
  for (const e of edges) {
    if (!view.loud.has(e) && e.bounds[3] - e.bounds[1] + e.bounds[2] - e.bounds[0] > least) paintEdge(c, e.points, scale);
  }
  c.stroke();
  c.globalAlpha = 1;
  c.strokeStyle = col.accent;
  c.lineWidth = view.loud.size > MANY ? Math.max(1.2, 0.8 / scale) : Math.max(2, 1.2 / scale);
  c.beginPath();
  for (const e of edges) if (view.loud.has(e)) paintEdge(c, e.points, scale);
  c.stroke();
  if (scale > 0.55) paintTypes(c, view, edges);
  for (const p of boxes) if (!p.ports) paintBox(c, view, p);
  const heads = [];
  for (const p of boxes) if (p.ports) paintHead(c, view, p, left, top, heads);
  return boxes.length;
}

// paintEdge adds an edge to the path: vertical at its ends and along ranks.
function paintEdge(c, p, scale) {
  c.moveTo(p[0], p[1]);
  for (let i = 2; i < p.length; i += 2) {
    const [x0, y0, x1, y1] = [p[i - 2], p[i - 1], p[i], p[i + 1]], m = (y0 + y1) / 2;
    x0 === x1 || scale < 0.1 ? c.lineTo(x1, y1) : c.bezierCurveTo(x0, m, x1, m, x1, y1);
  }
  if (scale > 0.3) {
    const x = p[p.length - 2], y = p[p.length - 1];
    c.moveTo(x - 4, y - 6);
    c.lineTo(x, y);
    c.lineTo(x + 4, y - 6);
  }
}

// paintTypes writes the extents of values beside their edges, as far as they do not cover each other.
function paintTypes(c, view, edges) {
  c.font = `11px ${view.font}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  const rows = new Map(); // left and right ends of texts by height
  const free = (x, y, w) => {
    const row = Math.round(y / 16);
    for (const r of [row - 1, row, row + 1]) {
      for (const t of rows.get(r) ?? []) if (Math.abs(t.y - y) < 15 && Math.abs(t.x - x) * 2 < t.w + w + 6) return false;
    }
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push({ x, y, w });
    return true;
  };
  const taken = new Set();
  for (const e of edges) {
    if (e.from.box.kind === "in" || !e.value.type) continue;
    const [x0, y0, x1, y1] = e.points, x = (x0 + x1) / 2, y = y0 + Math.min((y1 - y0) / 2, 22);
    const text = extents(e.value.type) + (e.more ? ` +${e.more}` : ""), key = `${Math.round(x0)} ${Math.round(y0)} ${e.value.name}`;
    const w = c.measureText(text).width + 8;
    if (taken.has(key) || !free(x, y, w)) continue;
    taken.add(key);
    c.fillStyle = view.colours.paper;
    c.globalAlpha = 0.9;
    c.fillRect(x - w / 2, y - 7, w, 14);
    c.globalAlpha = 1;
    c.fillStyle = view.colours.soft;
    c.fillText(text, x, y);
  }
}

// outline strokes the path around a box.
function outline(c, view, p, colour) {
  const chosen = view.selected === p.box, found = view.found.has(p.box);
  c.lineWidth = Math.max(chosen ? 3 : found ? 2 : 1.2, chosen || found ? 2 / view.scale : 0);
  c.strokeStyle = chosen || found ? view.colours.accent : colour;
  c.stroke();
}

// heat covers the path with the share of the time that the box takes.
function heat(c, view, box) {
  const ms = view.time(box);
  if (!ms) return;
  c.fillStyle = view.colours.accent;
  c.globalAlpha = 0.5 * Math.sqrt(Math.min(1, ms / view.longest));
  c.fill();
  c.globalAlpha = 1;
}

function paintBox(c, view, p) {
  const { colours: col, scale } = view, { box: b } = p, x = p.x - p.w / 2, y = p.y - p.h / 2;
  const end = b.kind === "input" || b.kind === "output";
  const fill = { product: col.tint, input: col.paper, output: col.paper, body: col.wash, group: col.wash }[b.kind] ?? col.face;
  const line = b.kind === "product" ? col.accent : col.line;
  if (p.w * scale < 6) { // a dot
    c.fillStyle = view.selected === b || view.found.has(b) ? col.accent : b.kind === "product" ? col.accent : col.soft;
    const w = Math.max(p.w, 1.5 / scale), h = Math.max(p.h, 1.5 / scale);
    c.fillRect(p.x - w / 2, p.y - h / 2, w, h);
    return;
  }
  c.fillStyle = fill;
  for (const off of b.times ? [8, 4] : []) { // more blocks below
    c.beginPath();
    c.roundRect(x + off, y + off, p.w, p.h, 6);
    c.fill();
    outline(c, view, p, line);
  }
  c.fillStyle = fill;
  c.beginPath();
  c.roundRect(x, y, p.w, p.h, end ? 15 : 6);
  c.fill();
  heat(c, view, b);
  if (b.kind === "group") c.setLineDash(b.times ? [] : [5, 3]);
  outline(c, view, p, b.kind === "group" ? col.soft : line);
  c.setLineDash([]);
  if (scale < 0.28) return;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillStyle = col.ink;
  c.font = `600 13px ${view.font}`;
  c.fillText(b.inside ? `▸ ${b.title}` : b.title, p.x, y + 15.5, p.w - 12);
  if (scale < 0.45 || !b.lines) return;
  c.fillStyle = view.time(b) ? col.ink : col.soft;
  c.font = `11px ${view.font}`;
  b.lines.forEach((text, i) => c.fillText(text, p.x, y + 33 + 16 * i, p.w - 12));
}

// paintFrame draws the ground of an open group.
function paintFrame(c, view, p) {
  let depth = 0;
  for (let a = p.around; a; a = a.around) depth++;
  c.beginPath();
  c.roundRect(p.x - p.w / 2, p.y - p.h / 2, p.w, p.h, 10);
  c.fillStyle = depth % 2 ? view.colours.paper : view.colours.wash;
  c.globalAlpha = depth % 2 ? 1 : 0.55;
  c.fill();
  c.globalAlpha = 1;
  outline(c, view, p, view.colours.line);
}

// paintHead writes the title of an open group where it can be seen, below titles that are there. It
// stays large enough to be read while the group is larger. Edges do not show through it.
function paintHead(c, view, p, left, top, heads) {
  p.head = null;
  const size = Math.min(13 / Math.min(view.scale, 1), p.w / 6, HEAD * 3);
  if (size * view.scale < 5) return;
  c.font = `600 ${size}px ${view.font}`;
  c.textAlign = "left";
  c.textBaseline = "middle";
  const text = `▾ ${p.box.title}`, w = Math.min(c.measureText(text).width, p.w - 16), high = size * 1.4;
  const x = Math.min(Math.max(p.x - p.w / 2, left + 40) + 8, p.x + p.w / 2 - w - 8);
  let y = Math.min(Math.max(p.y - p.h / 2, top + 40) + size, p.y + p.h / 2 - size);
  for (const [l, t, wide, tall] of heads) { // the groups around come first
    const covers = x - 2 < l + wide && l < x + w + 2 && y - high / 2 < t + tall && t < y + high / 2;
    if (covers) y = t + tall + high / 2 + 1;
  }
  if (y > p.y + p.h / 2 - high / 2) return;
  p.head = [x - 2, y - high / 2, w + 4, high];
  heads.push(p.head);
  c.fillStyle = view.colours.paper;
  c.fillRect(...p.head);
  c.fillStyle = view.selected === p.box ? view.colours.accent : view.colours.ink;
  c.fillText(text, x, y, p.w - 16);
}
