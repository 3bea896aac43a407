package runtime_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// restless builds a model with values that change their shapes with the input x[batch,steps,4] and
// with its elements: a recurrent layer, the indices of positive elements, a branch, a loop that
// collects, and a sequence.
func restless(r *rand.Rand) *graph.Model {
	floats := func(name string, shape ...int) *graph.Node {
		t := tensor.New(tensor.F32, shape...)
		for i, s := 0, tensor.View[float32](t); i < len(s); i++ {
			s[i] = float32(r.NormFloat64())
		}
		return nets.Constant(name, t)
	}
	branch := func(op string) *graph.Graph { return nets.Graph("", "chosen", nets.Node(op, "mean flat", "chosen")) }
	step := nets.Graph("i:int more:bool sum", "more_out next each",
		nets.Node("Identity", "more", "more_out"), nets.Node("Add", "sum column", "next"),
		nets.Node("Mul", "next next", "each"))
	step.Inputs[2].Type = graph.TensorOf(tensor.F32, graph.UnknownDims(2))
	g := &graph.Graph{Name: "restless", Nodes: []*graph.Node{
		floats("w", 1, 12, 4), floats("r", 1, 12, 3), floats("dense", 3, 5),
		nets.Node("Transpose", "x", "by_step", graph.IntsAttr("perm", 1, 0, 2)),
		nets.Node("LSTM", "by_step w r", "_ h", graph.IntAttr("hidden_size", 3)),
		nets.Node("Squeeze", "h axis", "state"), nets.Constant("axis", nets.Vec(0)),
		nets.Node("MatMul", "state dense", "flat"),
		nets.Node("ReduceMean", "flat", "mean", graph.IntsAttr("axes", -1), graph.IntAttr("keepdims", 1)),
		nets.Node("ReduceMax", "flat", "top", graph.IntAttr("keepdims", 0)),
		nets.Constant("zero", nets.Scalar[float32](0)),
		nets.Node("Greater", "top zero", "positive"),
		nets.Node("If", "positive", "chosen_out", graph.GraphAttr("then_branch", branch("Add")),
			graph.GraphAttr("else_branch", branch("Sub"))),
		nets.Node("Shape", "x", "extents"), nets.Constant("one", nets.Vec(1)), nets.Node("Gather", "extents one", "steps"), nets.Node("Squeeze", "steps", "count"),
		nets.Constant("true", nets.Scalar(true)), nets.Node("Identity", "mean", "column"),
		nets.Node("Loop", "count true chosen_out", "last all", graph.GraphAttr("body", step)),
		nets.Node("Greater", "x zero", "above"), nets.Node("NonZero", "above", "places"),
		nets.Node("SplitToSequence", "last", "parts", graph.IntAttr("axis", 0)), nets.Node("ConcatFromSequence", "parts", "joined", graph.IntAttr("axis", 1)),
	}}
	x := graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown(), graph.Unknown(), graph.Known(4)})
	g.Inputs = []*graph.Value{{Name: "x", Type: x}}
	for _, name := range []string{"all", "places", "joined"} {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name})
	}
	return &graph.Model{File: "restless", Graph: g, Opsets: []graph.Opset{{Version: nets.Opset}}}
}

func restlessSession(t *testing.T, threads int) byname.Session {
	t.Helper()
	testenv.Need(t, bindings.Available())
	s, err := byname.New(restless(rand.New(rand.NewPCG(1, 2))), runtime.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func restlessInput(r *rand.Rand, batch, steps int) map[string]*tensor.Tensor {
	x := tensor.New(tensor.F32, batch, steps, 4)
	for i, s := 0, tensor.View[float32](x); i < len(s); i++ {
		s[i] = float32(r.NormFloat64())
	}
	return map[string]*tensor.Tensor{"x": x}
}

// TestMemoryIsFlat runs a model on ever changing shapes and checks that the process does not grow.
// With NACRE_TEST_COMPLETE it makes 100,000 runs.
func TestMemoryIsFlat(t *testing.T) {
	runs := 3000
	if testenv.Complete() && !testing.Short() {
		runs = 100_000
	}
	s := restlessSession(t, 2)
	r := rand.New(rand.NewPCG(3, 4))
	early := 0
	for i := range runs {
		if i == runs/5 {
			early = resident(t)
		}
		if _, err := s.Run(context.Background(), restlessInput(r, 1+r.IntN(12), 1+r.IntN(12))); err != nil {
			t.Fatal(err)
		}
	}
	const slack = 8 << 20 // reserve of the heaps
	late := resident(t)
	t.Logf("%d bytes in use after %d runs and %d after %d", early, runs/5, late, runs)
	if late > early+slack {
		t.Error("it grew")
	}
}

// resident returns the process's memory in bytes, without garbage.
func resident(t *testing.T) int {
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		testenv.Skip(t, "the system does not tell a process's memory: ", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestHammer runs one session from 16 goroutines on changing shapes. Every answer has the same
// bytes as for a single caller.
func TestHammer(t *testing.T) {
	one, many := restlessSession(t, 1), restlessSession(t, 2)
	r := rand.New(rand.NewPCG(5, 6))
	type question struct {
		in   map[string]*tensor.Tensor
		want map[string]*tensor.Tensor
	}
	var list []question
	for range 40 {
		q := question{in: restlessInput(r, 1+r.IntN(9), 1+r.IntN(9))}
		var err error
		if q.want, err = one.Run(context.Background(), q.in); err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	goruntime.GC()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for k := range 80 {
				q := list[(7*g+k)%len(list)]
				got, err := many.Run(context.Background(), q.in)
				if err != nil {
					t.Error(err)
					return
				}
				for name, want := range q.want {
					if !got[name].Shape().Equal(want.Shape()) || !bytes.Equal(got[name].Bytes(), want.Bytes()) {
						t.Errorf("output %s differs", name)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
