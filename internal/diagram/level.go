package diagram

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// level is a graph, or the contents of a group, while it is drawn.
type level struct {
	*drawer
	g     *outline.Graph
	out   *Graph
	whole bool
	owner map[int]int    // boxes by the nodes in them
	from  map[string]int // boxes of inputs, and places where values enter
	edges map[[2]int]*Edge
}

// level draws items of a graph: the whole graph, or the contents of a group.
func (d *drawer) level(g *outline.Graph, name string, items []outline.Item, whole bool) (*Graph, error) {
	l := &level{drawer: d, g: g, whole: whole, owner: map[int]int{}, from: map[string]int{}, edges: map[[2]int]*Edge{},
		out: &Graph{Name: name, Boxes: []*Box{}, Edges: []*Edge{}}}
	if whole {
		l.inputs()
	}
	for _, it := range items {
		if err := l.item(it); err != nil {
			return nil, err
		}
	}
	for _, it := range items {
		it.Nodes(l.connect)
	}
	if whole {
		l.outputs()
	} else {
		l.leave(items)
	}
	l.out.Nodes = len(l.owner)
	return l.out, l.out.place(d.ctx)
}

func (l *level) add(b *Box) int {
	l.out.Boxes = append(l.out.Boxes, b)
	return len(l.out.Boxes) - 1
}

// inputs adds the inputs of the graph. An input with a value is drawn where it is used.
func (l *level) inputs() {
	for _, v := range l.g.Inputs {
		if l.g.IsInput(v.Name) {
			l.from[v.Name] = l.add(l.end("input", v))
		}
	}
}

// outputs adds the outputs of the graph.
func (l *level) outputs() {
	for _, v := range l.g.Outputs {
		b := l.end("output", v)
		b.Inputs = []Port{l.port(v.Name)}
		at := l.add(b)
		if from, ok := l.maker(v.Name); ok {
			l.edge(from, at, v.Name)
		}
	}
}

// end returns the box of an input or an output of the graph.
func (l *level) end(kind string, v *graph.Value) *Box {
	b := &Box{Kind: kind, Title: outline.Shown(v.Name, 40), Name: outline.Shown(v.Name, 200), Doc: outline.Shown(v.Doc, 400)}
	if p := l.port(v.Name); p.Type != "" {
		b.Lines, b.Outputs = []string{p.Type}, []Port{{Name: p.Name, Type: p.Type}}
	}
	return b
}

// item adds a node or a group.
func (l *level) item(it outline.Item) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	var b *Box
	if it.Group == nil {
		b = l.node(l.g.Nodes[it.Node])
	} else {
		inside, err := l.drawer.level(l.g, outline.Shown(it.Group.Name, 80), it.Group.Items, false)
		if err != nil {
			return err
		}
		b = l.group(it.Group, inside)
	}
	at := l.add(b)
	it.Nodes(func(n int) { l.owner[n] = at })
	return nil
}

// node returns the box of a node.
func (l *level) node(n *outline.Node) *Box {
	b := &Box{Kind: "node", Title: outline.Shown(n.Op, 40), Op: outline.Shown(n.OpName(), 120), Name: outline.Shown(n.Label(), 200), Doc: outline.Shown(n.Doc, 400)}
	switch {
	case len(n.Bodies) > 0:
		b.Kind = "body"
	case n.Product:
		b.Kind = "product"
	case n.Elementwise:
		b.Kind = "elementwise"
	}
	for _, name := range n.Inputs {
		b.Inputs = append(b.Inputs, l.port(name))
	}
	for _, name := range n.Captured() {
		b.Captured = append(b.Captured, l.port(name))
	}
	for _, name := range n.Outputs {
		b.Outputs = append(b.Outputs, l.port(name))
	}
	for _, body := range n.Bodies {
		b.Bodies = append(b.Bodies, Body{outline.Shown(body.Name, 80), body.Graph})
	}
	for _, a := range n.Attrs {
		if a.Subgraphs() == nil {
			b.Attrs = append(b.Attrs, Pair{outline.Shown(a.Name, 80), outline.AttrText(a)})
		}
	}
	for i, name := range n.Inputs {
		if l.g.IsConstant(name) && len(b.Lines) < 2 && b.Inputs[i].Type != "" {
			b.Lines = append(b.Lines, b.Inputs[i].summary())
		}
	}
	return b
}

// group returns the box of a group, and adds its contents to the drawing.
func (l *level) group(g *outline.Group, inside *Graph) *Box {
	b := &Box{Kind: "group", Title: outline.Shown(g.Name, 60), Times: g.Times, Inside: len(l.drawing.Graphs)}
	l.drawing.Graphs = append(l.drawing.Graphs, inside)
	var sum outline.Totals
	var ops []string
	g.Nodes(func(n int) {
		sum.Add(l.outline.Totals(l.g.Nodes[n]))
		ops = append(ops, l.g.Nodes[n].Op)
	})
	b.Lines = []string{count(inside.Nodes, "node")}
	if g.Times > 0 {
		b.Lines[0] = fmt.Sprintf("%d × %s", g.Times, count(inside.Nodes/g.Times, "node"))
	}
	if sum.Parameters > 0 {
		b.Lines = append(b.Lines, short(float64(sum.Parameters))+" parameters")
	}
	often := byCount(ops)
	b.Lines = slices.Insert(b.Lines, 1, kinds(often))
	b.Facts = append([]Pair{{"nodes", humanize.Comma(int64(inside.Nodes))}}, facts(sum, often)...)
	for _, e := range inside.Boxes {
		switch e.Kind {
		case "in":
			b.Inputs = append(b.Inputs, e.Outputs...)
		case "out":
			b.Outputs = append(b.Outputs, e.Outputs...)
		}
	}
	return b
}

// facts describes nodes by their sums and their operators.
func facts(sum outline.Totals, ops []opCount) (list []Pair) {
	if sum.Parameters > 0 {
		list = append(list, Pair{"parameters", humanize.Comma(int64(sum.Parameters))},
			Pair{"weights", humanize.IBytes(uint64(sum.Bytes))})
	}
	if sum.Work > 0 {
		list = append(list, Pair{"multiplications and additions", short(sum.Work)})
	}
	if len(ops) > 0 {
		list = append(list, Pair{"operators", mostly(ops)})
	}
	return list
}

// maker returns the box that a value comes from. Values of graphs around are inputs.
func (l *level) maker(value string) (box int, ok bool) {
	captured := l.g.IsCaptured(value)
	n, made := l.g.Maker(value)
	switch {
	case made:
		if box, ok = l.owner[n]; ok {
			return box, true
		}
	case !captured && !l.g.IsInput(value):
		return 0, false
	}
	if box, ok = l.from[value]; ok || l.whole && !captured {
		return box, ok
	}
	p := l.port(value)
	b := &Box{Kind: "in", Title: p.Name, Name: p.Name, Outputs: []Port{p}}
	if l.whole {
		b = l.end("input", &graph.Value{Name: value, Doc: "captured of a graph around"})
	}
	l.from[value] = l.add(b)
	return l.from[value], true
}

// connect adds the edges to a node.
func (l *level) connect(node int) {
	n := l.g.Nodes[node]
	to := l.owner[node]
	for _, name := range slices.Concat(n.Inputs, n.Captured()) {
		if from, ok := l.maker(name); ok && from != to {
			l.edge(from, to, name)
		}
	}
}

// leave adds the places where values leave the group.
func (l *level) leave(items []outline.Item) {
	for _, it := range items {
		it.Nodes(func(node int) {
			for _, name := range l.g.Nodes[node].Outputs {
				outside := func(user int) bool { _, ok := l.owner[user]; return !ok }
				if name == "" || !l.g.IsOutput(name) && !slices.ContainsFunc(l.g.Users(name), outside) {
					continue
				}
				p := l.port(name)
				l.edge(l.owner[node], l.add(&Box{Kind: "out", Title: p.Name, Name: p.Name, Outputs: []Port{p}}), name)
			}
		})
	}
}

// edge adds a value to the edge between two boxes.
func (l *level) edge(from, to int, value string) {
	e := l.edges[[2]int{from, to}]
	if e == nil {
		e = &Edge{From: from, To: to}
		l.edges[[2]int{from, to}] = e
		l.out.Edges = append(l.out.Edges, e)
	}
	p := l.port(value)
	if f := (Flow{p.Name, p.Type}); !slices.Contains(e.Values, f) {
		e.Values = append(e.Values, f)
	}
}

// port describes an operand.
func (l *level) port(name string) Port {
	p := Port{Name: outline.Shown(name, 200)}
	v := l.g.Type(name)
	if v == nil || name == "" {
		return p
	}
	p.Type = outline.TypeText(v.Type)
	if !l.g.IsConstant(name) {
		return p
	}
	origin, ops := l.g.Origin(name)
	p.Name, p.By = outline.Shown(origin, 200), outline.Shown(strings.Join(ops, ", "), 80)
	if !slices.ContainsFunc(ops, func(op string) bool { return op != "Identity" }) {
		name, v = origin, l.g.Type(origin)
	}
	if v != nil && v.Const != nil {
		p.Value, p.Bytes, p.Weight = outline.Beginning(v.Const), v.Const.Size(), l.weight(name, v.Const)
	}
	return p
}

// opCount is the number of nodes of an operator.
type opCount struct {
	op string
	n  int
}

// byCount counts operators. The most frequent are first. Operators that are as frequent keep the order of ops.
func byCount(ops []string) []opCount {
	var list []opCount
	at := map[string]int{}
	for _, op := range ops {
		if _, there := at[op]; !there {
			at[op] = len(list)
			list = append(list, opCount{op: op})
		}
		list[at[op]].n++
	}
	slices.SortStableFunc(list, func(a, b opCount) int { return b.n - a.n })
	return list
}

// kinds returns the names of the most frequent operators.
func kinds(list []opCount) string {
	const most = 3
	var names []string
	for _, o := range list[:min(len(list), most)] {
		names = append(names, outline.Shown(o.op, 40))
	}
	if len(list) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// mostly returns the most frequent operators with their counts.
func mostly(list []opCount) string {
	parts := make([]string, min(len(list), outline.MostShown))
	for i := range parts {
		parts[i] = fmt.Sprintf("%s %d", outline.Shown(list[i].op, 40), list[i].n)
	}
	if len(list) > outline.MostShown {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(int64(n)) + " " + noun + "s"
}

// short returns a number in at most four digits: 85.1 M.
func short(x float64) string {
	const digits = 3
	return strings.TrimSuffix(humanize.SIWithDigits(x, digits-1, ""), " ")
}

// summary is a constant in a box: its value if it is a scalar, or its shape.
func (p Port) summary() string {
	if !strings.Contains(p.Value, ",") && len(p.Value) < 16 && p.Value != "" {
		return p.Value
	}
	return p.Type
}
