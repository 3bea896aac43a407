package outline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// of returns the outline of a model, whose groups it checks.
func of(t *testing.T, m *graph.Model, o outline.Options) *outline.Outline {
	t.Helper()
	out, err := outline.Of(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range out.Graphs {
		check(t, g)
	}
	return out
}

// check checks that every node is in the groups once, and that items of each group can run in order.
func check(t *testing.T, g *outline.Graph) {
	t.Helper()
	seen := map[int]bool{}
	var walk func(group *outline.Group, path string)
	walk = func(group *outline.Group, path string) {
		at := map[int]int{}
		for i, it := range group.Items {
			it.Nodes(func(n int) { at[n] = i })
			if it.Group != nil {
				walk(it.Group, path+"/"+it.Group.Name)
				if len(it.Group.Items) < 2 {
					t.Errorf("%s/%s has one item", path, it.Group.Name)
				}
				continue
			}
			if seen[it.Node] || g.Nodes[it.Node].Constant {
				t.Errorf("%s: node %d is there twice, or a constant", path, it.Node)
			}
			seen[it.Node] = true
		}
		for n, i := range at {
			for _, name := range slices.Concat(g.Nodes[n].Inputs, g.Nodes[n].Captured()) {
				if maker, ok := g.Maker(name); ok {
					if k, here := at[maker]; here && k > i {
						t.Errorf("%s: item %d needs %s of item %d", path, i, name, k)
					}
				}
			}
		}
	}
	walk(g.Root, "")
	for i, n := range g.Nodes {
		if !n.Constant && !seen[i] {
			t.Errorf("node %d is in no group", i)
		}
	}
}

// tree prints groups: NAME[ITEM ITEM], and operators of nodes.
func tree(g *outline.Graph, group *outline.Group) string {
	parts := make([]string, len(group.Items))
	for i, it := range group.Items {
		if it.Group == nil {
			parts[i] = g.Nodes[it.Node].Op
			continue
		}
		parts[i] = it.Group.Name
		if it.Group.Times > 0 {
			parts[i] += fmt.Sprintf(" x%d", it.Group.Times)
			parts[i] += "[" + tree(g, it.Group.Items[0].Group) + "]"
			continue
		}
		parts[i] += "[" + tree(g, it.Group) + "]"
	}
	return strings.Join(parts, " ")
}

// model returns a model of nodes "NAME: OUTPUT = OP INPUT ...". Inputs that no node makes are inputs
// of the model, and names that begin with "w" are weights.
func model(lines ...string) *graph.Model {
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(4), graph.Known(4)})
	g := &graph.Graph{Name: "test"}
	made := map[string]bool{}
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ": ")
		words := strings.Fields(rest)
		for _, in := range words[3:] {
			if made[in] {
				continue
			}
			made[in] = true
			if strings.HasPrefix(in, "w") {
				g.Initializers = append(g.Initializers, &graph.Initializer{Name: in, Tensor: tensor.New(tensor.F32, 4, 4)})
				continue
			}
			g.Inputs = append(g.Inputs, &graph.Value{Name: in, Type: f})
		}
		g.Nodes = append(g.Nodes, &graph.Node{Name: name, Op: words[2], Version: 17, Inputs: words[3:], Outputs: words[:1]})
		made[words[0]] = true
	}
	last := g.Nodes[len(g.Nodes)-1].Outputs[0]
	g.Outputs = []*graph.Value{{Name: last, Type: f}}
	return &graph.Model{Format: "onnx", IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
}

// TestGroups checks the groups of small models.
func TestGroups(t *testing.T) {
	var layers, blocks, weights []string
	x, y, z := "x", "x", "x"
	for k := range 12 {
		layers = append(layers, fmt.Sprintf("/enc/layer.%d/attn/MatMul: a%d = MatMul %s wa%d", k, k, x, k),
			fmt.Sprintf("/enc/layer.%d/attn/Add: b%d = Add a%d wb%d", k, k, k, k),
			fmt.Sprintf("/enc/layer.%d/Add: c%d = Add b%d %s", k, k, k, x))
		x = fmt.Sprintf("c%d", k)
		blocks = append(blocks, fmt.Sprintf(": d%d = MatMul %s wd%d", k, y, k), fmt.Sprintf(": e%d = Relu d%d", k, k),
			fmt.Sprintf(": f%d = Add e%d %s", k, k, y))
		y = fmt.Sprintf("f%d", k)
		weights = append(weights, fmt.Sprintf(": g%d = MatMul %s w.blk.%d.up.weight", k, z, k), fmt.Sprintf(": h%d = Relu g%d", k, k),
			fmt.Sprintf(": i%d = MatMul h%d w.blk.%d.down.weight", k, k, k))
		z = fmt.Sprintf("i%d", k)
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"scopes", append(layers, "/head/MatMul: y = MatMul c11 w0", "/head/Add: z = Add y w1"),
			"enc/layer.0..11 x12[attn[MatMul Add] Add] head[MatMul Add]"},
		{"blocks", append([]string{": p = Neg x", ": q = Abs p"}, strings.Split(strings.ReplaceAll(strings.Join(blocks, "\n"), " x", " q"), "\n")...),
			"Neg Abs block 0..11 x12[MatMul Relu Add]"},
		{"weights", weights, "w/blk.0..11 x12[MatMul Relu MatMul]"},
		{"alone", []string{"/a/Relu: a = Relu x", "/b/Abs: b = Abs a", "/b/Neg: c = Neg b"}, "Relu b[Abs Neg]"},
		{"deep", []string{"/a/b/c/Relu: a = Relu x", "/a/b/c/Abs: b = Abs a", "/d/Neg: c = Neg b"}, "a/b/c[Relu Abs] Neg"},
		// The way from a to d leaves scope s, but for no other scope.
		{"circle", []string{"/s/n1: a = Relu x", "/s/n2: b = Abs a", "/3: c = Neg b", "/s/n4: d = Exp c", "/s/n5: e = Log d"},
			"s[Relu Abs Neg Exp Log]"},
		// So does the way through scope t.
		{"cut", []string{"/s/m: a = Relu x", "/s/n: b = Abs a", "/t/m: c = Neg b", "/t/n: f = Abs c", "/s/o: d = Exp f", "/s/p: e = Log d"},
			"s[Relu Abs] t[Neg Abs] s (part 2)[Exp Log]"},
		// No way leaves a scope and comes back, and yet s needs t and t needs s.
		{"two circles", []string{"/s/n1: a = Relu x", "/s/n2: b = Relu a", "/t/n3: c = Neg b", "/t/n4: d = Abs x", "/t/n5: e = Abs d",
			"/s/n6: f = Add e x", "/u/n7: g = Add c f"}, "t[Abs Abs] s[Relu Relu Add] Neg Add"},
		{"no block", []string{": a = Relu x", ": b = Relu a", ": c = Relu b", ": d = Abs c", ": e = Relu d", ": f = Abs e"},
			"Relu Relu Relu Abs Relu Abs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := of(t, model(c.lines...), outline.Options{}).Graphs[0]
			if got := tree(g, g.Root); got != c.want {
				t.Errorf("the groups are %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRandomGroups groups random graphs, whose scopes cross each other.
func TestRandomGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		values, lines := []string{"x"}, []string{}
		for k := range 3 + r.IntN(40) {
			name := ""
			for range r.IntN(4) {
				name += fmt.Sprintf("/%c%d", 'a'+r.IntN(2), r.IntN(3))
			}
			lines = append(lines, fmt.Sprintf("%s/n: v%d = Add %s %s", name, k, values[r.IntN(len(values))], values[r.IntN(len(values))]))
			values = append(values, fmt.Sprintf("v%d", k))
		}
		of(t, model(lines...), outline.Options{})
	}
}

// TestTotals counts weights of initializers, of constant nodes and of attributes, each once, and work.
func TestTotals(t *testing.T) {
	m := model(": a = MatMul x w1", ": b = MatMul a w1", ": c = Add b k", ": d = Add c w2")
	m.Graph.Inputs = m.Graph.Inputs[:1]
	k := tensor.New(tensor.F32, 4)
	m.Graph.Nodes = append(m.Graph.Nodes, &graph.Node{Op: "Constant", Version: 13, Outputs: []string{"k"}, Attrs: []*graph.Attr{graph.TensorAttr("value", k)}})
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: "unused", Tensor: tensor.New(tensor.I64, 3)})
	o := of(t, m, outline.Options{})
	got := o.Sum(o.Graphs[0])
	if want := (outline.Totals{Nodes: 4, Parameters: 16 + 16 + 4, Bytes: 4 * 36, Work: 2 * 2 * 64}); got != want {
		t.Errorf("the sums are %+v, want %+v", got, want)
	}
	if len(o.Unused) != 1 || o.Unused[0].Bytes != 24 || o.Unused[0].Count != 0 {
		t.Errorf("unused are %+v", o.Unused)
	}
}

// TestConstants finds nodes that compute from constants alone, and gives their weights to the nodes
// that use them.
func TestConstants(t *testing.T) {
	m := model(": i = Identity w1", ": j = Neg i", ": s = Add j w2", ": r = RandomNormalLike w1", ": a = Add x i", ": b = MatMul a j",
		": c = MatMul b s", ": d = Add c r", ": e = Identity w1", ": y = Add d e")
	m.Graph.Outputs = append(m.Graph.Outputs, &graph.Value{Name: "e", Type: m.Graph.Outputs[0].Type})
	o := of(t, m, outline.Options{})
	g := o.Graphs[0]
	if got, want := tree(g, g.Root), "RandomNormalLike Add MatMul MatMul Add Identity Add"; got != want {
		t.Errorf("the nodes are %s, want %s", got, want)
	}
	if n := g.Constants(); n != 3 {
		t.Errorf("%d nodes are constants, want 3", n)
	}
	if sum := o.Sum(g); sum.Nodes != 7 || sum.Parameters != 32 || len(o.Unused) != 0 {
		t.Errorf("the sums are %+v, and %d weights are unused", sum, len(o.Unused))
	}
	for name, want := range map[string]string{"w1": "w1 []", "i": "w1 [Identity]", "j": "w1 [Neg Identity]", "s": "s [Add]", "a": "a []"} {
		if origin, ops := g.Origin(name); fmt.Sprint(origin, " ", ops) != want {
			t.Errorf("%s is %s by %v, want %s", name, origin, ops, want)
		}
	}
}

// TestShapes gives an open axis an extent.
func TestShapes(t *testing.T) {
	m := model(": a = MatMul x w1")
	m.Graph.Inputs[0].Type = graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("rows"), graph.Known(4)})
	m.Graph.Outputs[0].Type = m.Graph.Inputs[0].Type
	for rows, work := range map[int]float64{0: 0, 8: 2 * 8 * 4 * 4} {
		o := outline.Options{}
		if rows > 0 {
			o.Shapes = map[string][]int{"x": {rows, 4}}
		}
		out := of(t, m, o)
		if got := out.Sum(out.Graphs[0]).Work; got != work {
			t.Errorf("with %d rows the work is %g, want %g", rows, got, work)
		}
	}
}

// TestNetworks outlines networks with branches, and ends when the context does.
func TestNetworks(t *testing.T) {
	for name, m := range map[string]*graph.Model{"yolo": topologies.YOLO(), "unet": topologies.UNet()} {
		o := of(t, m, outline.Options{})
		if sum := o.Sum(o.Graphs[0]); sum.Work < 1e6 || sum.Parameters < 1e4 {
			t.Errorf("%s: the sums are %+v", name, sum)
		}
		for at := range 3 {
			if _, err := outline.Of(testenv.EndingAfter(at), m, outline.Options{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("an ended context gives %v", err)
			}
		}
	}
}
