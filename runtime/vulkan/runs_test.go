package vulkan_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

func node(op, in, out string, attrs ...*graph.Attr) *graph.Node {
	n := &graph.Node{Name: out, Op: op, Version: 17, Outputs: []string{out}, Attrs: attrs}
	for _, name := range in {
		n.Inputs = append(n.Inputs, string(name))
	}
	return n
}

func random(r *rand.Rand, shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(r.NormFloat64())
	}
	return t
}

// perceptron is two layers on any number of rows.
func perceptron(r *rand.Rand) *graph.Model {
	const in, hidden, out = 20, 30, 7
	weight := func(name string, shape ...int) *graph.Initializer {
		return &graph.Initializer{Name: name, Tensor: random(r, shape...)}
	}
	return &graph.Model{Graph: &graph.Graph{
		Name:         "perceptron",
		Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("rows"), graph.Known(in)})}},
		Outputs:      []*graph.Value{{Name: "y"}},
		Initializers: []*graph.Initializer{weight("w", in, hidden), weight("b", hidden), weight("v", hidden, out)},
		Nodes: []*graph.Node{
			node("MatMul", "xw", "h"), node("Add", "hb", "i"), node("Tanh", "i", "j"), node("MatMul", "jv", "k"), node("Softmax", "k", "y"),
		},
	}}
}

// session makes a session of a model. If a is not nil, it uses the device.
func session(t testing.TB, m *graph.Model, a device.Accelerator) byname.Session {
	t.Helper()
	return rounding(t, m, a, device.AccuracyModel)
}

// rounding returns a session whose products round their rows as the accuracy says.
func rounding(t testing.TB, m *graph.Model, a device.Accelerator, accuracy device.Accuracy) byname.Session {
	t.Helper()
	s, err := byname.New(m, engine.Options{Accelerator: a, Threads: 1, Accuracy: accuracy})
	testenv.Need(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pair is a model on the CPU and on a device.
type pair struct {
	device        *vulkan.Device
	near, distant byname.Session
}

func newPair(t testing.TB) *pair {
	t.Helper()
	return newPairOn(t, open(t, vulkan.Options{Everything: true}))
}

func newPairOn(t testing.TB, d *vulkan.Device) *pair {
	t.Helper()
	m := perceptron(rand.New(rand.NewPCG(1, 2)))
	return &pair{d, session(t, m, nil), session(t, m, accelerator(t, d))}
}

// compare runs both on a value with the given number of rows.
func (p *pair) compare(t testing.TB, rows int) {
	in := map[string]*tensor.Tensor{"x": random(rand.New(rand.NewPCG(3, uint64(rows))), rows, 20)}
	want, err := p.near.Run(context.Background(), in)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := p.distant.Run(context.Background(), in)
	if err != nil {
		t.Error(err)
		return
	}
	x, y := tensor.View[float32](got["y"]), tensor.View[float32](want["y"])
	for i := range y {
		if math.Abs(float64(x[i]-y[i])) > 1e-5 {
			t.Errorf("%d rows: element %d is %v, not %v", rows, i, x[i], y[i])
			return
		}
	}
}

// TestChangingShapes checks that repeated runs of more shapes than there are kept plans take no
// more memory than the first two runs of each.
func TestChangingShapes(t *testing.T) {
	p := newPair(t)
	const shapes, runs = 50, 1000
	var blocks, pipelines int
	for i := range runs {
		p.compare(t, 1+i%shapes)
		all, _ := p.device.PoolBytes()
		if i == 2*shapes {
			blocks, pipelines = all, p.device.Pipelines()
		}
		if i > 2*shapes && (all > blocks || p.device.Pipelines() > pipelines) {
			t.Fatalf("run %d: %d bytes and %d pipelines, %d and %d before", i, all, p.device.Pipelines(), blocks, pipelines)
		}
	}
}

// TestManyAtOnce checks runs of several goroutines on one device while Go's heap is collected all
// the time.
func TestManyAtOnce(t *testing.T) {
	p := newPair(t)
	var ended atomic.Bool
	var collecting, running sync.WaitGroup
	collecting.Go(func() {
		for !ended.Load() {
			runtime.GC()
		}
	})
	for g := range 8 {
		running.Go(func() {
			for i := range 40 {
				p.compare(t, 1+(g*7+i)%20)
			}
		})
	}
	running.Wait()
	ended.Store(true)
	collecting.Wait()
}

// TestMemoryComesBack checks that all device memory is free after sessions and models are closed.
func TestMemoryComesBack(t *testing.T) {
	d := open(t, vulkan.Options{Everything: true})
	m := perceptron(rand.New(rand.NewPCG(1, 2)))
	for range 3 {
		a, err := d.Accelerator()
		if err != nil {
			t.Fatal(err)
		}
		s, err := byname.New(m, engine.Options{Accelerator: a, Threads: 1})
		testenv.Need(t, err)
		if _, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x": tensor.New(tensor.F32, 3, 20)}); err != nil {
			t.Fatal(err)
		}
		if _, used := d.PoolBytes(); used == 0 {
			t.Error("a session takes no memory")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		a.Close()
		if _, used := d.PoolBytes(); used != 0 {
			t.Errorf("%d bytes are still in use", used)
		}
	}
}

func TestCancelled(t *testing.T) {
	p := newPair(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.distant.Run(ctx,
		map[string]*tensor.Tensor{"x": tensor.New(tensor.F32, 3, 20)}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	p.compare(t, 3)
}

func TestOpenFails(t *testing.T) {
	open(t, vulkan.Options{})
	for _, name := range []string{"999", "-1", "no such device"} {
		d, err := vulkan.Open(name, vulkan.Options{})
		if err == nil {
			d.Close()
		}
		if !errors.Is(err, graph.ErrDevice) {
			t.Errorf("device %q: %v", name, err)
		}
	}
}

// TestCutWeights checks products by a matrix that shaders see in pieces.
func TestCutWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const k, n = 301, 64
	for _, rows := range []int{1, 9, 40} {
		g := &graph.Graph{
			Name:         "product",
			Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{rows, k}))}},
			Outputs:      []*graph.Value{{Name: "y"}},
			Initializers: []*graph.Initializer{{Name: "w", Tensor: random(r, k, n)}, {Name: "b", Tensor: random(r, n)}},
			Nodes:        []*graph.Node{node("Gemm", "xwb", "y")},
		}
		in := map[string]*tensor.Tensor{"x": random(r, rows, k)}
		d := open(t, vulkan.Options{Everything: true, MaxRange: 50000})
		s := session(t, &graph.Model{Graph: g}, accelerator(t, d))
		got, prof, err := s.Profile(context.Background(), map[string]tensor.Value{"x": in["x"]})
		if err != nil {
			t.Fatal(err)
		}
		if how := prof.Steps[1].How; strings.Count(how, "matmul/") != 2 {
			t.Errorf("%d rows: the product is %s, which is not cut in two", rows, how)
		}
		want, err := session(t, &graph.Model{Graph: g}, nil).Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		x, y := tensor.View[float32](got["y"].(*tensor.Tensor)), tensor.View[float32](want["y"])
		for i := range y {
			if math.Abs(float64(x[i]-y[i])) > 1e-4 {
				t.Fatalf("%d rows: element %d is %v, not %v", rows, i, x[i], y[i])
			}
		}
	}
}
