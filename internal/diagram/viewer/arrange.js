// The viewer of diagrams: places of boxes and edges. Package diagram gives every box a rank and a
// place on it; the height of a rank depends on the groups that are open.

const GAP = 44; // between ranks
const ENTRY = 24; // between a side of an open group and the first rank in it
const PAD = 16; // left and right of the contents of an open group
const HEAD = 30; // the title of an open group
const FOOT = 12; // below its contents
const LEAST = 0.7; // scale at which titles can still be read
const SHOWN = 48; // boxes up to which groups are open at first
const WRAPPED = 400; // boxes up to which a group around most nodes is

// arrange returns the scene of graph number: boxes, with open groups before their contents, edges, and
// the size. A box of a scene has the box of the drawing, its middle and its size.
function arrange(drawing, number, open) {
  const measured = measure(drawing, number, open);
  const scene = { boxes: [], edges: [], width: measured.width, height: measured.height, at: new Map() };
  place(scene, measured, 0, 0, null);
  scene.links = new Map(); // edges by their ends
  for (const e of scene.edges) {
    for (const end of [e.from, e.to]) {
      if (!scene.links.has(end)) scene.links.set(end, []);
      scene.links.get(end).push(e);
    }
  }
  return scene;
}

// ranksOf returns what is on each rank: numbers of boxes, and edges with the index of their place.
function ranksOf(graph) {
  if (graph.ranks) return graph.ranks;
  const ranks = [], on = (r) => (ranks[r] ??= { boxes: [], edges: [] });
  graph.boxes.forEach((b, i) => on(b.rank).boxes.push(i));
  graph.edges.forEach((e, i) => (e.through ?? []).forEach((_, k) => on(graph.boxes[e.from].rank + 1 + k).edges.push([i, k])));
  for (let r = 0; r < ranks.length; r++) on(r);
  return (graph.ranks = ranks);
}

// measure returns the places within a graph, whose left is m.left and whose top is 0.
function measure(drawing, number, open) {
  const graph = drawing.graphs[number], { boxes, edges } = graph;
  const inner = boxes.map((b) => (b.inside && open.has(b) ? measure(drawing, b.inside, open) : null));
  const m = {
    graph, inner, x: boxes.map((b) => b.x), through: edges.map((e) => [...(e.through ?? [])]), tops: [], highs: [],
    w: boxes.map((b, i) => (inner[i] ? Math.max(inner[i].width + 2 * PAD, b.w) : b.w)),
    h: boxes.map((b, i) => (inner[i] ? inner[i].height + HEAD + FOOT : b.h)),
  };
  let y = 0;
  for (const rank of ranksOf(graph)) {
    const high = rank.boxes.reduce((most, i) => Math.max(most, m.h[i]), 0);
    if (rank.boxes.some((i) => inner[i])) widen(m, rank);
    m.tops.push(y);
    m.highs.push(high);
    y += high + (high ? GAP : ENTRY);
  }
  m.height = Math.max(0, y - (m.highs.at(-1) ? GAP : ENTRY));
  let left = Infinity, right = -Infinity;
  m.x.forEach((x, i) => { left = Math.min(left, x - m.w[i] / 2); right = Math.max(right, x + m.w[i] / 2); });
  for (const list of m.through) for (const x of list) { left = Math.min(left, x); right = Math.max(right, x); }
  [m.left, m.width] = boxes.length ? [left, right - left] : [0, 0];
  return m;
}

// widen moves what is beside open groups of a rank out of their way.
function widen(m, rank) {
  const items = rank.boxes.map((i) => ({ x: m.x[i], extra: m.w[i] - m.graph.boxes[i].w, move: (by) => { m.x[i] += by; } }));
  for (const [e, k] of rank.edges) items.push({ x: m.through[e][k], extra: 0, move: (by) => { m.through[e][k] += by; } });
  items.sort((a, b) => a.x - b.x);
  let by = -items.reduce((sum, it) => sum + it.extra, 0) / 2;
  for (const it of items) {
    it.move(by + it.extra / 2);
    by += it.extra;
  }
}

// place adds a measured graph to the scene, with its upper left at x, y. Around is the open group.
function place(scene, m, x, y, around) {
  const bottom = y + m.height + FOOT;
  const placed = m.graph.boxes.map((box, i) => {
    const tall = m.inner[i] !== null || m.graph.ranks[box.rank].boxes.some((k) => m.inner[k]);
    const p = { box, x: x + m.x[i] - m.left, y: y + m.tops[box.rank] + (tall ? m.h[i] : m.highs[box.rank]) / 2, w: m.w[i], h: m.h[i], around };
    if (box.kind === "in" || box.kind === "out") {
      p.y = box.kind === "in" ? around.y - around.h / 2 : bottom;
      around.ports.set(`${box.kind} ${box.name}`, p);
      return p;
    }
    scene.boxes.push(p);
    scene.at.set(box, p);
    if (m.inner[i]) {
      p.ports = new Map();
      place(scene, m.inner[i], p.x - m.inner[i].width / 2, p.y - p.h / 2 + HEAD, p);
    }
    return p;
  });
  m.graph.edges.forEach((e, i) => {
    const from = placed[e.from], to = placed[e.to];
    const apart = from.ports || to.ports ? e.values : e.values.slice(0, 1);
    for (const value of apart) {
      const a = from.ports?.get(`out ${value.name}`) ?? from, b = to.ports?.get(`in ${value.name}`) ?? to;
      const points = [a.x, a.y + a.h / 2];
      if (from.box.kind === "in") points.push(a.x, y);
      m.through[i].forEach((px, k) => {
        const r = from.box.rank + 1 + k;
        points.push(x + px - m.left, y + m.tops[r]);
        if (m.highs[r]) points.push(x + px - m.left, y + m.tops[r] + m.highs[r]);
      });
      points.push(b.x, b.y - b.h / 2);
      scene.edges.push({ from: a, to: b, value, more: e.values.length - apart.length, points, bounds: boundsOf(points) });
    }
  });
}

// openSome opens groups that are no blocks, the outer ones first, as long as few boxes are shown. A
// group that has most nodes of the graph for itself opens if its contents are not very many.
function openSome(drawing, number, open) {
  const { boxes, nodes, constants } = drawing.graphs[number];
  let shown = boxes.length;
  for (let level = boxes; level.length;) {
    const groups = level.filter((b) => b.inside), next = [];
    for (const b of groups.filter((b) => !b.times)) {
      const inner = drawing.graphs[b.inside];
      const wraps = groups.length === 1 && inner.nodes * 2 > nodes - (constants ?? 0);
      if (shown + inner.boxes.length > (wraps ? WRAPPED : SHOWN)) continue;
      shown += inner.boxes.length;
      open.add(b);
      next.push(...inner.boxes);
    }
    level = next;
  }
}

// fitted returns the scale and the place at which a view of a size shows the whole scene. If titles
// could not be read, it shows the scene's width from above, or the main path and what is beside it.
function fitted(scene, width, height) {
  const across = width / (scene.width + 48), whole = Math.min(1, across, height / (scene.height + 48));
  const scale = whole >= LEAST ? whole : Math.min(1, Math.max(LEAST, across));
  const [wide, high] = [scene.width * scale, scene.height * scale];
  const y = high <= height ? (height - high) / 2 : 24;
  if (wide <= width) return { scale, y, x: (width - wide) / 2 };
  const x = width / 2 - scale * trunk(scene, height / scale / 2);
  return { scale, y, x: Math.min(24, Math.max(width - wide - 24, x)) };
}

// trunk returns the mean x of the longest path of the scene, as far as it is above bottom.
function trunk(scene, bottom) {
  const rest = new Map(), length = (end) => rest.get(end)?.length ?? 0;
  for (const e of [...scene.edges].sort((a, b) => b.points[1] - a.points[1])) {
    if (length(e.to) + 1 > length(e.from)) rest.set(e.from, { length: length(e.to) + 1, next: e.to });
  }
  let at = scene.boxes[0], sum = 0, count = 0;
  for (const end of rest.keys()) if (length(end) > length(at)) at = end;
  for (; at && (!count || at.y < bottom); at = rest.get(at)?.next, count++) sum += at.x;
  return count ? sum / count : 0;
}

function boundsOf(points) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    left = Math.min(left, points[i]);
    right = Math.max(right, points[i]);
    top = Math.min(top, points[i + 1]);
    bottom = Math.max(bottom, points[i + 1]);
  }
  return [left, top, right, bottom];
}

// neighbours returns the boxes at the other ends of the edges from a box, or to it. An edge into an
// open group goes on to a box in it.
function neighbours(scene, p, side) {
  const other = side === "from" ? "to" : "from", list = [], seen = new Set();
  const walk = (end) => {
    for (const e of scene.links.get(end) ?? []) {
      if (e[side] !== end || seen.has(e)) continue;
      seen.add(e);
      const next = e[other];
      next.box.kind === "in" || next.box.kind === "out" ? walk(next) : list.push(next);
    }
  };
  walk(p);
  for (const port of p.ports?.values() ?? []) walk(port);
  list.edges = seen;
  return list;
}
