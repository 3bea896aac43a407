package diagram_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// check checks what holds for every drawing: boxes of a rank are beside each other, edges lead to
// higher ranks and keep clear of the boxes between, and groups have contents with the same values.
func check(t *testing.T, d *diagram.Drawing) {
	t.Helper()
	for _, g := range d.Graphs {
		ranks := map[int][]*diagram.Box{}
		for _, b := range g.Boxes {
			if b.X-b.Width/2 < -0.2 || b.X+b.Width/2 > g.Width+0.2 {
				t.Errorf("%s: %s is outside", g.Name, b.Title)
			}
			for _, c := range ranks[b.Rank] {
				if math.Abs(b.X-c.X) < (b.Width+c.Width)/2-0.2 {
					t.Errorf("%s: %s and %s overlap", g.Name, b.Title, c.Title)
				}
			}
			ranks[b.Rank] = append(ranks[b.Rank], b)
			if b.Kind == "group" {
				checkGroup(t, b, d.Graphs[b.Inside])
			}
		}
		for _, e := range g.Edges {
			from, to := g.Boxes[e.From], g.Boxes[e.To]
			if from.Rank >= to.Rank || len(e.Values) == 0 {
				t.Errorf("%s: the edge from %s to %s does not lead down, or has no value", g.Name, from.Title, to.Title)
			}
			if n := to.Rank - from.Rank - 1; len(e.Through) != n && len(g.Boxes) < 2000 {
				t.Errorf("%s: an edge over %d ranks has %d places", g.Name, n, len(e.Through))
			}
			for k, x := range e.Through {
				for _, b := range ranks[from.Rank+1+k] {
					if math.Abs(b.X-x) < b.Width/2 {
						t.Errorf("%s: the edge from %s to %s crosses %s", g.Name, from.Title, to.Title, b.Title)
					}
				}
			}
		}
	}
}

// checkGroup checks that the values of a group are the values that enter and leave its contents.
func checkGroup(t *testing.T, b *diagram.Box, inside *diagram.Graph) {
	t.Helper()
	var in, out []diagram.Port
	for _, c := range inside.Boxes {
		switch c.Kind {
		case "in":
			in = append(in, c.Outputs...)
		case "out":
			out = append(out, c.Outputs...)
		}
	}
	if len(out) == 0 || !slices.Equal(in, b.Inputs) || !slices.Equal(out, b.Outputs) || inside.Nodes < 2 {
		t.Errorf("group %s of %d nodes has %v and %v, its contents %v and %v", b.Title, inside.Nodes, b.Inputs, b.Outputs, in, out)
	}
}

// TestNetworks draws networks of many branches. All types are known.
func TestNetworks(t *testing.T) {
	for name, m := range map[string]*graph.Model{"yolo": topologies.YOLO(), "unet": topologies.UNet()} {
		t.Run(name, func(t *testing.T) {
			d, err := diagram.Draw(context.Background(), m)
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			g := d.Graphs[0]
			if g.Nodes != len(m.Graph.Nodes) {
				t.Errorf("%d nodes, want %d", g.Nodes, len(m.Graph.Nodes))
			}
			boxes := 0
			for _, g := range d.Graphs {
				for _, b := range g.Boxes {
					if b.Kind != "group" && b.Kind != "in" && b.Kind != "out" {
						boxes++
					}
				}
				for _, e := range g.Edges {
					for _, v := range e.Values {
						if v.Type == "" {
							t.Errorf("the type of %s is not known", v.Name)
						}
					}
				}
			}
			if boxes < 40 {
				t.Errorf("%d boxes of %d nodes", boxes, g.Nodes)
			}
		})
	}
}

// TestCrossings draws two chains that share nothing: no edge of one crosses the other.
func TestCrossings(t *testing.T) {
	b := graph.NewBuilder("chains")
	b.Opset("", 17)
	f := graph.Type{Kind: graph.TensorType, DType: tensor.F32, Dims: graph.Dims{graph.Known(4)}}
	x, y := b.Input("x", f), b.Input("y", f)
	ops := []string{"Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Softplus"}
	for k := range 20 { // no two stretches of the chains are equal
		x, y = b.Op(ops[k*k*k%19%7], []string{x}), b.Op(ops[k*k%23%7], []string{y})
	}
	b.Output(y, "v", f)
	b.Output(x, "u", f)
	d, err := diagram.Draw(context.Background(), b.Model(&graph.Model{}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	left := 0
	for _, e := range d.Graphs[0].Edges {
		if a, c := d.Graphs[0].Boxes[e.From], d.Graphs[0].Boxes[e.To]; math.Abs(a.X-c.X) > 1 {
			t.Errorf("the edge from %s to %s is not straight", a.Title, c.Title)
		}
		if d.Graphs[0].Boxes[e.From].X < d.Graphs[0].Width/2 {
			left++
		}
	}
	if left != 21 {
		t.Errorf("%d edges are on the left", left)
	}
}

// TestContents draws a model with a constant, a body and hostile names.
func TestContents(t *testing.T) {
	b := graph.NewBuilder("a\x1b[2Jb")
	b.Opset("", 17)
	scalar := graph.Type{Kind: graph.TensorType, DType: tensor.F32, Dims: graph.Dims{}}
	yes := graph.Type{Kind: graph.TensorType, DType: tensor.Bool, Dims: graph.Dims{}}
	x, c := b.Input("x", scalar), b.Input("</script>", yes)
	branch := func(name, op string) *graph.Graph {
		body := b.Body(name)
		body.Output(body.Op(op, []string{x}), name+" out", scalar)
		return body.Graph()
	}
	half := b.Op("Mul", []string{x, b.Float(0.5)})
	y := b.Op("If", []string{c}, graph.GraphAttr("then_branch", branch("then", "Neg")), graph.GraphAttr("else_branch", branch("else", "Abs")))
	b.Output(b.Op("Add", []string{half, y}), "y", scalar)
	m := b.Model(&graph.Model{})
	d, err := diagram.Draw(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	if len(d.Graphs) != 3 {
		t.Fatalf("%d graphs", len(d.Graphs))
	}
	for _, b := range d.Graphs[0].Boxes {
		if b.Title == "If" && (len(b.Captured) != 1 || b.Captured[0].Name != "x" || len(b.Inputs) != 1) {
			t.Errorf("%s captures %+v", b.Op, b.Captured)
		}
	}
	for _, g := range d.Graphs[1:] {
		kinds := map[string]int{}
		for _, b := range g.Boxes {
			kinds[b.Kind+" "+b.Title]++
		}
		if kinds["input x"] != 1 || len(g.Edges) != 2 || len(g.Boxes) != 3 {
			t.Errorf("%s has boxes %v and %d edges", g.Name, kinds, len(g.Edges))
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"body"`, `"value":"0.5"`, `"name":"then_branch","graph":1`, `"kind":"elementwise"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(string(text), "\\u001b[2J") {
		t.Errorf("text of the model is not escaped: %s", text)
	}
	for at := range 3 {
		if _, err := diagram.Draw(testenv.EndingAfter(at), m); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an ended context gives %v", err)
		}
	}
}

// TestConstants draws no nodes that compute from constants alone. Nodes that use them have the
// constants as operands.
func TestConstants(t *testing.T) {
	b := graph.NewBuilder("shared")
	b.Opset("", 17)
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(4)})
	x := b.Input("x", f)
	w := b.Weight(&graph.Initializer{Name: "fc.weight", Tensor: tensor.New(tensor.F32, 4)})
	for range 65 {
		x = b.Op("Add", []string{x, b.Op("Identity", []string{w})})
		x = b.Op("Relu", []string{x})
	}
	b.Output(b.Op("Mul", []string{x, b.Op("Neg", []string{b.Op("Identity", []string{w})})}), "y", f)
	d, err := diagram.Draw(context.Background(), b.Model(&graph.Model{}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	g := d.Graphs[0]
	if facts := fmt.Sprint(g.Facts); !strings.Contains(facts, "{parameters 4}") || !strings.Contains(facts, "Add 65") {
		t.Errorf("the facts are %s", facts)
	}
	if g.Nodes != 65*3+3 || g.Constants != 67 {
		t.Errorf("%d nodes, of which %d are constants", g.Nodes, g.Constants)
	}
	by := map[string]int{}
	for _, g := range d.Graphs {
		for _, b := range g.Boxes {
			if b.Title == "Identity" || b.Title == "Neg" {
				t.Errorf("%s has a box", b.Title)
			}
			for _, p := range b.Inputs {
				if p.Name == "fc.weight" && p.Bytes == 16 && p.Type == "float32[4]" {
					by[p.By]++
				}
			}
		}
	}
	if by["Identity"] != 65 || by["Neg, Identity"] != 1 || len(by) != 2 {
		t.Errorf("the operands are %v", by)
	}
	if first := g.Boxes[g.Edges[0].From]; first.Kind != "input" {
		t.Errorf("the first edge leads from %+v", first)
	}
}

// TestGroups draws a chain of equal blocks with scopes: boxes are groups, also within groups, and the
// edges between them have all values.
func TestGroups(t *testing.T) {
	d, err := diagram.Draw(context.Background(), blocks(40))
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	g := d.Graphs[0]
	if len(g.Boxes) != 3 || g.Boxes[1].Kind != "group" || g.Boxes[1].Times != 40 || g.Boxes[1].Title != "layer.0..39" {
		t.Fatalf("the boxes are %+v", g.Boxes[1])
	}
	layers := d.Graphs[g.Boxes[1].Inside]
	if layers.Nodes != 160 || len(layers.Boxes) != 42 || len(layers.Edges) != 41 {
		t.Fatalf("%d nodes, %d boxes and %d edges in the group", layers.Nodes, len(layers.Boxes), len(layers.Edges))
	}
	for _, e := range layers.Edges {
		if a, b := layers.Boxes[e.From], layers.Boxes[e.To]; a.Kind == "group" && b.Kind == "group" && len(e.Values) != 2 {
			t.Errorf("%d values lead from %s to %s", len(e.Values), a.Title, b.Title)
		}
	}
	if facts := fmt.Sprint(layers.Boxes[0].Facts); !strings.Contains(facts, "{parameters 16}") || !strings.Contains(facts, "MatMul 2") {
		t.Errorf("the facts of a layer are %s", facts)
	}
	if lines := layers.Boxes[0].Lines; len(lines) != 3 || !strings.HasPrefix(lines[1], "MatMul, ") {
		t.Errorf("the lines of a layer are %q", lines)
	}
}

// blocks returns a chain of so many layers of four nodes, of which each gives the next two values.
func blocks(n int) *graph.Model {
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(4), graph.Known(4)})
	g := &graph.Graph{Name: "blocks", Inputs: []*graph.Value{{Name: "x", Type: f}}}
	x, y := "x", "x"
	for k := range n {
		w := fmt.Sprintf("w%d", k)
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: w, Tensor: tensor.New(tensor.F32, 4, 4)})
		add := func(op, out string, in ...string) string {
			out = fmt.Sprintf("%s%d", out, k)
			g.Nodes = append(g.Nodes, &graph.Node{Name: fmt.Sprintf("/layer.%d/%s", k, out), Op: op, Version: 17, Inputs: in, Outputs: []string{out}})
			return out
		}
		a := add("MatMul", "a", x, w)
		b := add("MatMul", "b", y, w)
		x, y = add("Add", "c", a, b), add("Sub", "d", a, b)
	}
	g.Outputs = []*graph.Value{{Name: y, Type: f}}
	return &graph.Model{Format: "onnx", IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
}

// TestLarge draws networks of 10,000 nodes, with groups and without, within seconds.
func TestLarge(t *testing.T) {
	flat := graph.NewBuilder("flat")
	flat.Opset("", 17)
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(4)})
	ops := []string{"Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Softplus"}
	x := flat.Input("x", f)
	last := x
	for k := range 10_000 { // operators and branches that do not repeat
		op := ops[k*k%97%len(ops)]
		if k%(3+k%5) == 0 {
			x, last = flat.Op("Add", []string{x, last}), x
			continue
		}
		x = flat.Op(op, []string{x})
	}
	flat.Output(x, "y", f)
	for name, m := range map[string]*graph.Model{"groups": blocks(2500), "flat": flat.Model(&graph.Model{})} {
		start := time.Now()
		d, err := diagram.Draw(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("%s: %v", name, took)
		if took > time.Minute { // a minute is for busy machines
			t.Errorf("%s: drawing takes %v", name, took)
		}
		check(t, d)
	}
}

// TestWeights draws distributions of weights: of all elements, of a sample, and of numbers that are
// not finite.
func TestWeights(t *testing.T) {
	n := 300_000
	many := make([]float32, n)
	for i := range many {
		many[i] = float32(i%1000) - 250
	}
	for _, c := range []struct {
		name   string
		values []float32
		want   func(w *diagram.Weight) bool
	}{
		{"all", []float32{-1, 0, 0, 3}, func(w *diagram.Weight) bool {
			return w.Sampled == 4 && w.Zeros == 2 && w.Least == -1 && w.Most == 3 && w.Mean == 0.5 && math.Abs(w.Spread-1.5) < 1e-9 &&
				w.Bins[0] == 1 && w.Bins[8] == 2 && w.Bins[31] == 1
		}},
		{"same", []float32{7, 7}, func(w *diagram.Weight) bool { return w.Spread == 0 && w.Bins[0] == 2 }},
		{"sample", many, func(w *diagram.Weight) bool {
			return w.Count == n && w.Sampled == 1<<14 && math.Abs(w.Mean-249.5) < 30 && math.Abs(w.Spread-288.7) < 15 && slices.Min(w.Bins) > 256
		}},
		{"not finite", []float32{float32(math.NaN()), float32(math.Inf(1)), 2}, func(w *diagram.Weight) bool {
			return w.Infinite == 2 && w.Mean == 2 && w.Bins[0] == 1
		}},
		{"nothing finite", []float32{float32(math.Inf(-1)), float32(math.Inf(1))}, func(w *diagram.Weight) bool {
			return w.Infinite == 2 && w.Bins == nil
		}},
		{"extremes", []float32{-math.MaxFloat32, math.MaxFloat32}, func(w *diagram.Weight) bool { return w.Bins[0] == 1 && w.Bins[31] == 1 }},
	} {
		b := graph.NewBuilder(c.name)
		b.Opset("", 17)
		data, err := tensor.From(c.values, len(c.values))
		if err != nil {
			t.Fatal(err)
		}
		f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(len(c.values))})
		w := b.Weight(&graph.Initializer{Name: "w", Tensor: data})
		b.Output(b.Op("Add", []string{b.Op("Mul", []string{b.Input("x", f), w}), w}), "y", f)
		d, err := diagram.Draw(context.Background(), b.Model(&graph.Model{}))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Weights) != 1 || !c.want(d.Weights[0]) {
			t.Errorf("%s: the distributions are %+v", c.name, d.Weights[0])
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
