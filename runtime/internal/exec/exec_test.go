package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The operators of these tests, in a domain of their own: float32 vectors, element by element.
// Their results depend on every element and operand, so a value that is overwritten too early
// changes the outputs.
const domain = "test"

type elementwise struct {
	f func(args []float32) float32
	// unknown hides the extents from the planner.
	unknown bool
}

func (e elementwise) Infer(c *op.Infer) error {
	c.Set(0, tensor.F32, c.In[0].Dims)
	if e.unknown && c.In[0].Const == nil {
		c.Set(0, tensor.F32, nil)
	}
	return nil
}

func (e elementwise) Run(c *op.Run) error {
	out := tensor.View[float32](c.Out[0])
	args := make([]float32, len(c.In))
	for i := range out {
		for k, t := range c.In {
			args[k] = tensor.View[float32](t)[i]
		}
		out[i] = e.f(args)
	}
	return nil
}

// part copies the second half of its input: an output smaller than the input.
type part struct{}

func (part) Infer(c *op.Infer) error {
	n, _ := c.In[0].Dims[0].Value()
	c.Set(0, tensor.F32, graph.Dims{graph.Known(n - n/2)})
	c.Set(1, tensor.F32, graph.Dims{graph.Known(n / 2)})
	return nil
}

func (part) Run(c *op.Run) error {
	in := tensor.View[float32](c.In[0])
	n := len(in) - len(in)/2
	copy(tensor.View[float32](c.Out[0]), in[:n])
	if c.Wants(1) {
		copy(tensor.View[float32](c.Out[1]), in[n:])
	}
	return nil
}

// keepPositive has an output with an extent that depends on the elements.
type keepPositive struct{}

func (keepPositive) Infer(c *op.Infer) error {
	c.Set(0, tensor.F32, graph.Dims{graph.Unknown()})
	return nil
}

func (keepPositive) Run(c *op.Run) error {
	var kept []float32
	for _, v := range tensor.View[float32](c.In[0]) {
		if v > 0 {
			kept = append(kept, v)
		}
	}
	out, err := c.Alloc(0, tensor.F32, tensor.Shape{len(kept)})
	if err == nil {
		copy(tensor.View[float32](out), kept)
	}
	return err
}

var errBroken = errors.New("the operator is broken")

type broken struct{ elementwise }

func (broken) Run(*op.Run) error { return errBroken }

type panics struct{ elementwise }

func (panics) Run(*op.Run) error { panic("out of range") }

func registry(t testing.TB) *op.Registry {
	sum := func(a []float32) float32 { return a[0]*0.5 + a[1]*0.25 }
	add := func(o op.Op) func(*op.Node) (op.Op, error) {
		return func(*op.Node) (op.Op, error) { return o, nil }
	}
	one, two := [2]int{1, 1}, [2]int{2, 2}
	r := &op.Registry{}
	for _, row := range []op.Row{
		{Name: "Step", In: one, Out: one, InPlace: []int{0}, New: add(elementwise{f: func(a []float32) float32 { return a[0]*0.5 + 1 }})},
		{Name: "Sum", In: two, Out: one, InPlace: []int{0, 1}, New: add(elementwise{f: sum})},
		{Name: "Late", In: two, Out: one, New: add(elementwise{f: sum, unknown: true})},
		{Name: "View", In: one, Out: one, View: true, New: add(elementwise{})},
		{Name: "Part", In: one, Out: [2]int{1, 2}, New: add(part{})},
		{Name: "Keep", In: one, Out: one, New: add(keepPositive{})},
		{Name: "Panics", In: one, Out: one, New: add(panics{})},
		{Name: "Broken", In: one, Out: one, New: add(broken{})},
	} {
		row.Domain, row.Since = domain, []int{1}
		if err := r.Register(row); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func node(name, in, out string) *graph.Node {
	return &graph.Node{Domain: domain, Op: name, Version: 1, Inputs: strings.Fields(in), Outputs: strings.Fields(out)}
}

func model(inputs, outputs string, nodes ...*graph.Node) *graph.Model {
	g := &graph.Graph{Nodes: nodes}
	for _, name := range strings.Fields(inputs) {
		g.Inputs = append(g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})})
	}
	for _, name := range strings.Fields(outputs) {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name})
	}
	return &graph.Model{File: "test", Graph: g}
}

func compile(t testing.TB, m *graph.Model) *plan.Program {
	t.Helper()
	p, err := plan.Compile(m, registry(t), optest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planFor(t testing.TB, p *plan.Program, inputs []*tensor.Tensor) *plan.Plan {
	t.Helper()
	types := make([]graph.Type, len(inputs))
	for i, in := range inputs {
		types[i] = graph.TensorOf(in.DType(), graph.DimsOf(in.Shape()))
	}
	pl, err := p.Plan(types)
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

func run(e *exec.Executor, pl *plan.Plan, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	in := make([]tensor.Value, len(inputs))
	for i, t := range inputs {
		in[i] = t
	}
	out, err := e.Run(context.Background(), pl, in, nil)
	list := make([]*tensor.Tensor, len(out))
	for i, v := range out {
		list[i] = v.(*tensor.Tensor)
	}
	return list, err
}

func vector(t testing.TB, v ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// naive computes every value in memory of its own.
func naive(t testing.TB, m *graph.Model, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	values := map[string]*tensor.Tensor{}
	for i, v := range m.Graph.Inputs {
		values[v.Name] = inputs[i]
	}
	for _, n := range m.Graph.Nodes {
		in := make([]*tensor.Tensor, len(n.Inputs))
		for i, name := range n.Inputs {
			in[i] = values[name].Clone()
		}
		out, err := cpu.Eval(registry(t), n, 0, nil, in)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range n.Outputs {
			values[name] = out[i]
		}
	}
	var list []*tensor.Tensor
	for _, v := range m.Graph.Outputs {
		list = append(list, values[v.Name])
	}
	return list
}

// randomModel chains operators over values chosen at random, so that lifetimes, views, in-place
// steps and sizes mix in every way.
func randomModel(r *rand.Rand, nodes, length int) *graph.Model {
	type value struct {
		name   string
		length int
	}
	values := []value{{"a", length}, {"b", length}}
	var list []*graph.Node
	for i := range nodes {
		x := values[r.IntN(len(values))]
		if r.IntN(2) == 0 { // recent values make chains
			x = values[max(0, len(values)-1-r.IntN(3))]
		}
		y := x
		for _, v := range values {
			if v.length == x.length && r.IntN(3) == 0 {
				y = v
			}
		}
		out := fmt.Sprint("v", i)
		switch k := r.IntN(12); {
		case k < 3:
			list = append(list, node("Step", x.name, out))
		case k < 7:
			list = append(list, node("Sum", x.name+" "+y.name, out))
		case k < 9:
			list = append(list, node("View", x.name, out))
		case k < 10 && x.length > 1:
			list = append(list, node("Part", x.name, out+" "+out+"b"))
			values = append(values, value{out + "b", x.length / 2})
			x.length -= x.length / 2
		case k < 11:
			list = append(list, node("Late", x.name+" "+y.name, out))
			list = append(list, node("Step", out, out+"s"))
			continue // the planner does not know its extents: nothing else may use it
		default:
			list = append(list, node("Sum", x.name+" "+x.name, out))
		}
		values = append(values, value{out, x.length})
	}
	outputs := []string{}
	for _, v := range values {
		if r.IntN(4) == 0 {
			outputs = append(outputs, v.name)
		}
	}
	for _, n := range list {
		if n.Op == "Late" {
			outputs = append(outputs, n.Outputs[0]+"s")
		}
	}
	return model("a b", strings.Join(append(outputs, values[len(values)-1].name), " "), list...)
}

func equal(a, b *tensor.Tensor) bool {
	return a.String() == b.String() && string(a.Bytes()) == string(b.Bytes())
}

func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		length := 1 + r.IntN(40)
		m := randomModel(r, 1+r.IntN(40), length)
		p := compile(t, m)
		var err error
		e := exec.New(optest.Device(t), exec.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			inputs := []*tensor.Tensor{tensor.New(tensor.F32, length), tensor.New(tensor.F32, length)}
			for _, in := range inputs {
				for i := range in.Len() {
					tensor.View[float32](in)[i] = r.Float32()
				}
			}
			kept := inputs[0].Clone()
			want := naive(t, m, inputs)
			pl := planFor(t, p, inputs)
			got, err := run(e, pl, inputs)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for i := range want {
				if !equal(got[i], want[i]) {
					t.Fatalf("seed %d: output %s differs\n%v", seed, m.Graph.Outputs[i].Name, pl)
				}
			}
			if !equal(inputs[0], kept) {
				t.Fatalf("seed %d: an input was written", seed)
			}
		}
		e.Close()
	}
}

func TestDynamicExtents(t *testing.T) {
	m := model("a", "y z", node("Keep", "a", "k"), node("Step", "k", "y"), node("View", "k", "w"), node("Sum", "w y", "z"))
	var err error
	e := exec.New(optest.Device(t), exec.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	in := []*tensor.Tensor{vector(t, 1, -1, 3)}
	got, err := run(e, planFor(t, compile(t, m), in), in)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []*tensor.Tensor{vector(t, 1.5, 2.5), vector(t, 0.875, 2.125)} {
		if !equal(got[i], want) {
			t.Errorf("output %d is %v %v", i, got[i], tensor.View[float32](got[i]))
		}
	}
}

func TestErrorNamesTheNode(t *testing.T) {
	m := model("a", "y", node("Step", "a", "s"), node("Broken", "s", "y"))
	m.Graph.Nodes[1].Name = "culprit"
	e := exec.New(optest.Device(t), exec.Limits{})
	defer e.Close()
	in := []*tensor.Tensor{vector(t, 1, 2)}
	_, err := run(e, planFor(t, compile(t, m), in), in)
	var where *graph.Error
	if !errors.Is(err, errBroken) || !errors.As(err, &where) || where.Node != "culprit" {
		t.Fatalf("got %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "test.Broken-1") || !strings.Contains(text, "float32[2]") {
		t.Errorf("the message lacks operator or types: %s", text)
	}
}

func TestPanicIsAnError(t *testing.T) {
	m := model("a", "y", node("Panics", "a", "y"))
	e := exec.New(optest.Device(t), exec.Limits{})
	defer e.Close()
	in := []*tensor.Tensor{vector(t, 1, 2)}
	_, err := run(e, planFor(t, compile(t, m), in), in)
	if !errors.Is(err, guard.ErrInternal) || !strings.Contains(err.Error(), "test.Panics-1") {
		t.Fatalf("got %v", err)
	}
	var defect *guard.Defect
	if !errors.As(err, &defect) || !strings.Contains(string(defect.Stack()), "exec_test.go") {
		t.Errorf("the error does not carry the stack of the panic: %v", err)
	}
	if strings.ContainsAny(err.Error(), "\n\t") || strings.Contains(err.Error(), ".go:") {
		t.Errorf("the message holds a stack trace: %v", err)
	}
}

func TestCancel(t *testing.T) {
	m := model("a", "y", node("Step", "a", "y"))
	e := exec.New(optest.Device(t), exec.Limits{})
	defer e.Close()
	in := []*tensor.Tensor{vector(t, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Run(ctx, planFor(t, compile(t, m), in), []tensor.Value{in[0]}, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestMemoryLimit(t *testing.T) {
	m := model("a", "y", node("Keep", "a", "k"), node("Step", "k", "y"))
	e := exec.New(optest.Device(t), exec.Limits{Run: 300})
	defer e.Close()
	for _, tt := range []struct {
		n  int
		ok bool
	}{{8, true}, {100, false}} {
		in := []*tensor.Tensor{tensor.New(tensor.F32, tt.n)}
		for i := range tt.n {
			tensor.View[float32](in[0])[i] = 1
		}
		_, err := run(e, planFor(t, compile(t, m), in), in)
		if (err == nil) != tt.ok {
			t.Errorf("%d elements: %v", tt.n, err)
		}
	}
}

// TestHammer runs one executor from many goroutines with plans of changing size.
func TestHammer(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	m := randomModel(r, 60, 64)
	p := compile(t, m)
	var err error
	e := exec.New(optest.Device(t), exec.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	inputs := make([][]*tensor.Tensor, 4)
	plans := make([]*plan.Plan, len(inputs))
	want := make([][]*tensor.Tensor, len(inputs))
	for i := range inputs {
		inputs[i] = []*tensor.Tensor{tensor.New(tensor.F32, 64), tensor.New(tensor.F32, 64)}
		for k := range 64 {
			tensor.View[float32](inputs[i][0])[k] = r.Float32()
		}
		plans[i] = planFor(t, p, inputs[i])
		want[i] = naive(t, m, inputs[i])
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for k := range 50 {
				i := (g + k) % len(inputs)
				got, err := run(e, plans[i], inputs[i])
				if err != nil {
					t.Error(err)
					return
				}
				for o := range got {
					if !equal(got[o], want[i][o]) {
						t.Errorf("output %d differs", o)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
