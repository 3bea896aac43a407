package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// printedLayers is the layers of a model as JSON.
type printedLayers struct {
	Model   string         `json:"model"`
	Assumed map[string]int `json:"assumed,omitempty"` // extents that no --dim gives
	Layers  []printedLayer `json:"layers"`
	Total   outline.Totals `json:"total"`
	Unused  int            `json:"unused_weight_bytes"` // weights that no node takes
}

// printedLayer is a group of nodes, or a node with work, a graph, or weights of several elements. Of
// blocks that repeat, Layers has the first block alone.
type printedLayer struct {
	Name  string `json:"name"`
	Op    string `json:"op,omitempty"`    // of a node
	Times int    `json:"times,omitempty"` // of blocks that repeat
	outline.Totals
	Inputs  []string       `json:"inputs"` // types, without constants
	Outputs []string       `json:"outputs"`
	Layers  []printedLayer `json:"layers,omitempty"`
}

// inspectLayers prints the layers of a model: groups of nodes by the scopes of their names.
func inspectLayers(ctx context.Context, model *nacre.Model, m *graph.Model, dims dimFlags, asJSON bool, w io.Writer) error {
	e, err := dims.extents(model.Inputs())
	if err != nil {
		return err
	}
	shapes := map[string][]int{}
	for _, v := range model.Inputs() {
		if v.Kind == nacre.TensorKind && v.Shape != nil {
			shapes[v.Name] = e.Shape(v)
		}
	}
	o, err := outline.Of(ctx, m, outline.Options{Shapes: shapes})
	if err != nil {
		return err
	}
	l := &layerer{o: o, g: o.Graphs[0]}
	out := printedLayers{Model: m.File, Layers: l.list(l.g.Root.Items), Total: o.Sum(l.g)}
	for _, weight := range o.Unused {
		out.Unused += weight.Bytes
	}
	if asJSON {
		out.Assumed = map[string]int{}
		for _, name := range e.Assumed {
			out.Assumed[name] = 1
		}
		return writeJSON(w, out)
	}
	sayAssumed(w, e)
	out.text(w)
	return nil
}

// layerer makes layers of the groups of a graph.
type layerer struct {
	o *outline.Outline
	g *outline.Graph
}

func (l *layerer) list(items []outline.Item) []printedLayer {
	var list []printedLayer
	for _, it := range items {
		var row printedLayer
		it.Nodes(func(n int) { row.Add(l.o.Totals(l.g.Nodes[n])) })
		row.Inputs, row.Outputs = l.ends(it)
		if it.Group == nil {
			n := l.g.Nodes[it.Node]
			vector := func(w *outline.Weight) bool { return w.Count > 1 }
			if row.Work == 0 && len(n.Bodies) == 0 && !slices.ContainsFunc(n.Weights, vector) {
				continue
			}
			row.Name, row.Op = n.Label(), n.OpName()
			list = append(list, row)
			continue
		}
		row.Name, row.Times = it.Group.Name, it.Group.Times
		inner := it.Group.Items
		if row.Times > 0 {
			inner = inner[:1]
		}
		row.Layers = l.list(inner)
		list = append(list, row)
	}
	return list
}

// ends returns the types of the values that enter and leave an item.
func (l *layerer) ends(it outline.Item) (in, out []string) {
	own, seen := map[int]bool{}, map[string]bool{}
	it.Nodes(func(n int) { own[n] = true })
	add := func(list *[]string, name string) {
		if v := l.g.Type(name); v != nil && !seen[name] {
			seen[name] = true
			*list = append(*list, outline.TypeText(v.Type))
		}
	}
	it.Nodes(func(node int) {
		n := l.g.Nodes[node]
		for _, name := range slices.Concat(n.Inputs, n.Captured()) {
			if maker, ok := l.g.Maker(name); ok && !own[maker] || l.g.IsInput(name) {
				add(&in, name)
			}
		}
		for _, name := range n.Outputs {
			outside := func(user int) bool { return !own[user] }
			if name != "" && (l.g.IsOutput(name) || slices.ContainsFunc(l.g.Users(name), outside)) {
				add(&out, name)
			}
		}
	})
	slices.Reverse(out) // the last is the one that the others led to
	return in, out
}

// text prints the layers as a table, with the layers of a layer below it.
func (p *printedLayers) text(w io.Writer) {
	rows := [][]string{{"layer", "nodes", "parameters", "weights", "operations", "shapes"}}
	add := func(name string, t outline.Totals, shapes string) {
		row := []string{name, humanize.Comma(int64(t.Nodes)), "", "", operations(t.Work), shapes}
		if t.Bytes > 0 {
			row[2], row[3] = humanize.Comma(int64(t.Parameters)), humanize.IBytes(uint64(t.Bytes))
		}
		rows = append(rows, row)
	}
	var walk func(list []printedLayer, depth int)
	walk = func(list []printedLayer, depth int) {
		for _, l := range list {
			name := l.Name
			switch {
			case l.Times > 0:
				name += fmt.Sprintf(" x%d", l.Times)
			case l.Op != "" && depth > 0: // the scopes are above
				name = name[strings.LastIndexByte(name, '/')+1:] + "  " + l.Op
			case l.Op != "":
				name += "  " + l.Op
			}
			add(strings.Repeat("  ", depth)+name, l.Totals, firstOf(l.Inputs)+" -> "+firstOf(l.Outputs))
			walk(l.Layers, depth+1)
		}
	}
	walk(p.Layers, 0)
	add("all", p.Total, "")
	if p.Unused > 0 {
		rows = append(rows, []string{"not used by a node", "", "", humanize.IBytes(uint64(p.Unused)), "", ""})
	}
	printTable(w, rows)
}

// operations returns multiplications and additions as text.
func operations(work float64) string {
	if work == 0 {
		return ""
	}
	const digits = 2
	return strings.TrimSpace(humanize.SIWithDigits(work, digits, ""))
}

// firstOf returns the first of a list of types, and how many more there are.
func firstOf(types []string) string {
	switch len(types) {
	case 0:
		return "-"
	case 1:
		return types[0]
	}
	return fmt.Sprintf("%s +%d", types[0], len(types)-1)
}

// printTable prints rows of equally many cells. The first and the last column begin at the left, the
// others end at the right.
func printTable(w io.Writer, rows [][]string) {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(printable.Text(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = printable.Text(cell)
			pad := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell))
			switch i {
			case 0:
				line.WriteString(cell + pad)
			case len(row) - 1:
				line.WriteString("  " + cell)
			default:
				line.WriteString("  " + pad + cell)
			}
		}
		printable.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
