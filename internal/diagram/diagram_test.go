package diagram_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// check checks what holds for the places of every drawing.
func check(t *testing.T, d *diagram.Drawing) {
	t.Helper()
	for _, g := range d.Graphs {
		for i, b := range g.Boxes {
			if b.X-b.Width/2 < -0.2 || b.X+b.Width/2 > g.Width+0.2 || b.Y-b.Height/2 < -0.2 || b.Y+b.Height/2 > g.Height+0.2 {
				t.Errorf("%s: box %d %s is outside", g.Name, i, b.Title)
			}
			for _, c := range g.Boxes[:i] {
				if math.Abs(b.X-c.X) < (b.Width+c.Width)/2-0.2 && math.Abs(b.Y-c.Y) < (b.Height+c.Height)/2-0.2 {
					t.Errorf("%s: %s and %s overlap", g.Name, b.Title, c.Title)
				}
			}
		}
		for _, e := range g.Edges {
			from, to := g.Boxes[e.From], g.Boxes[e.To]
			if from.Y >= to.Y {
				t.Errorf("%s: the edge %s does not lead down", g.Name, e.Name)
			}
			n := len(e.Points)
			if n < 4 || math.Abs(e.Points[0]-from.X) > 0.2 || math.Abs(e.Points[n-2]-to.X) > 0.2 {
				t.Errorf("%s: the edge %s does not end at its boxes", g.Name, e.Name)
			}
		}
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
			if g.Nodes != len(m.Graph.Nodes) || len(g.Boxes) < 40 {
				t.Errorf("%d boxes of %d nodes", len(g.Boxes), g.Nodes)
			}
			for _, e := range g.Edges {
				if e.Type == "" {
					t.Errorf("the type of %s is not known", e.Name)
				}
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
	for range 20 {
		x, y = b.Op("Relu", []string{x}), b.Op("Tanh", []string{y})
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
			t.Errorf("the edge %s from %s to %s is not straight", e.Name, a.Title, c.Title)
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
