package exec_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// greedyModel is a model that takes as much memory as a run allows.
type greedyModel struct {
	name  string
	graph *graph.Graph
	in    values
}

func greedy() []greedyModel {
	return []greedyModel{
		{"scan output of a loop", nets.Graph("n:int x", "all", nets.Node("Loop", "n _", "all", graph.GraphAttr("body",
			nets.Graph("i:int c:bool", "c y", nets.Node("Identity", "x", "y"))))), values{"n": nets.Scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<9)}},
		{"carried numbers", nets.Graph("n:int x", "y all", nets.Node("Loop", "n _ x", "y all", graph.GraphAttr("body",
			nets.Graph("i:int c:bool v", "c w v", nets.Node("Add", "v i", "w"))))), values{"n": nets.Scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<9)}},
		{"split into numbers", nets.Graph("x", "q", nets.Node("SplitToSequence", "x", "q", graph.IntAttr("keepdims", 0))), values{"x": tensor.New(tensor.I64, 1<<22)}},
		{"split into vectors", nets.Graph("x", "n", nets.Node("SplitToSequence", "x", "q"), nets.Node("SequenceLength", "q", "n")), values{"x": tensor.New(tensor.I64, 1<<22)}},
		{"split by sizes", nets.Graph("x n:int", "q", nets.Node("SplitToSequence", "x n", "q")), values{"x": tensor.New(tensor.I64, 1<<22), "n": nets.Scalar[int64](2)}},
		{"doubling", nets.Graph("n:int x", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
			nets.Graph("i:int c:bool v", "c w", nets.Node("Concat", "v v", "w", graph.IntAttr("axis", 0)))))), values{"n": nets.Scalar[int64](1 << 60), "x": nets.Vec(1)}},
		{"growth by a part", nets.Graph("n:int x", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
			nets.Graph("i:int c:bool v", "c w", nets.Node("Concat", "v x", "w", graph.IntAttr("axis", 0)))))), values{"n": nets.Scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<18)}},
		{"insertion", nets.Graph("n:int x q:seq", "y", nets.Node("Loop", "n _ q", "y", graph.GraphAttr("body",
			nets.Graph("i:int c:bool v:seq", "c w", nets.Node("SequenceInsert", "v x", "w"))))), values{"n": nets.Scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<15), "q": seq()}},
		{"sequence and its length", nets.Graph("n:int x q:seq", "y all",
			nets.Node("Loop", "n _ q", "y all", graph.GraphAttr("body",
				nets.Graph("i:int c:bool v:seq", "c w l", nets.Node("SequenceInsert", "v x", "w"), nets.Node("SequenceLength", "w", "l"))))),
			values{"n": nets.Scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<15), "q": seq()}},
		{"strings that double", stringLoop(), values{"n": nets.Scalar[int64](1 << 60)}},
		{"map over a sequence", nets.Graph("q:seq x", "r", nets.Node("SequenceMap", "q x", "r", graph.GraphAttr("body",
			nets.Graph("a b", "s", nets.Node("Add", "a b", "s"))))), values{"q": same(nets.Vec(1), 1<<16), "x": tensor.New(tensor.I64, 1<<10)}},
		{"concatenation of a sequence", nets.Graph("q:seq", "y",
			nets.Node("ConcatFromSequence", "q", "y", graph.IntAttr("axis", 0))),
			values{"q": same(tensor.New(tensor.I64, 1<<16), 1<<10)}},
		{"outputs of Scan", nets.Graph("s x:rows", "last all", nets.Node("Scan", "s x", "last all", graph.IntAttr("num_scan_inputs", 1), graph.GraphAttr("body",
			nets.Graph("s x", "next next", nets.Node("Add", "s x", "next"))))), values{"s": tensor.New(tensor.I64, 1<<14), "x": nets.Rows(1, make([]int64, 1<<14)...)}},
		{"optionals", nets.Graph("n:int x", "all", nets.Node("Loop", "n _", "all", graph.GraphAttr("body",
			nets.Graph("i:int c:bool", "c y", nets.Node("Optional", "x", "o"), nets.Node("OptionalGetElement", "o", "y"))))), values{"n": nets.Scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<12)}},
		{"parts of a string", splitting(), values{"n": nets.Scalar[int64](1 << 60)}},
		{"text of numbers", nets.Graph("x", "y", nets.Node("Cast", "x", "y", graph.IntAttr("to", 8))),
			values{"x": large(1 << 22)}},
		{"maps of rows", zipping(), values{"x": tensor.New(tensor.F32, 1<<20, 1)}},
		{"groups of numbers", nets.Graph("x", "y", nets.Node("Unique", "x", "y")),
			values{"x": tensor.New(tensor.I64, 1<<24)}},
	}
}

// large returns n large numbers.
func large(n int) *tensor.Tensor {
	t := tensor.New(tensor.I64, n)
	for i := range tensor.View[int64](t) {
		tensor.View[int64](t)[i] = 1<<50 + int64(i)
	}
	return t
}

// same returns a sequence of n times the same tensor.
func same(t *tensor.Tensor, n int) *tensor.Sequence {
	q := &tensor.Sequence{Items: make([]tensor.Value, n)}
	for i := range q.Items {
		q.Items[i] = t
	}
	return q
}

func words(list ...string) *tensor.Tensor {
	t := tensor.New(tensor.String, len(list))
	copy(t.Strings(), list)
	return t
}

func textNode(op, in, out string, attrs ...*graph.Attr) *graph.Node {
	n := nets.Node(op, in, out, attrs...)
	n.Version = 20
	return n
}

// stringLoop concatenates a string with itself repeatedly.
func stringLoop() *graph.Graph {
	b := nets.Graph("i:int c:bool", "c w", textNode("StringConcat", "v v", "w"))
	b.Inputs = append(b.Inputs, &graph.Value{Name: "v", Type: graph.TensorOf(tensor.String, graph.UnknownDims(1))})
	return nets.Graph("n:int", "y", nets.Constant("x", words("word")),
		nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body", b)))
}

// splitting splits a string into many parts and keeps the rows.
func splitting() *graph.Graph {
	b := nets.Graph("i:int c:bool", "c parts", textNode("StringSplit", "x", "parts"))
	return nets.Graph("n:int", "y", nets.Constant("x", words(strings.Repeat("a ", 1<<12))),
		nets.Node("Loop", "n _", "y", graph.GraphAttr("body", b)))
}

// zipping makes a map of every row of a matrix.
func zipping() *graph.Graph {
	zip := nets.Node("ZipMap", "x", "q", graph.IntsAttr("classlabels_int64s", 7))
	zip.Domain, zip.Version = "ai.onnx.ml", 1
	g := nets.Graph("x", "q", zip)
	g.Inputs[0].Type = graph.TensorOf(tensor.F32, graph.UnknownDims(2))
	return g
}

// TestMemoryOfValues checks that a run counts the whole cost of values. It fails, and the heap
// stays near the limit.
func TestMemoryOfValues(t *testing.T) {
	const limit = 128 << 20
	for _, tt := range greedy() {
		t.Run(tt.name, func(t *testing.T) {
			m := &graph.Model{File: "greedy.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: tt.graph}
			s, err := byname.New(m, runtime.Options{Threads: 1, MemoryLimit: limit})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			taken := peak(func() { _, err = s.RunValues(context.Background(), tt.in) })
			if !errors.Is(err, graph.ErrMemory) {
				t.Errorf("got %v", err)
			}
			if taken > limit*3/2 {
				t.Errorf("the heap grew by %d MiB with a limit of %d MiB", taken>>20, limit>>20)
			}
		})
	}
}

// peak returns the most bytes by which Go's heap grew while f ran, as seen by the system.
func peak(f func()) uint64 {
	goruntime.GC()
	before, most := heap(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, heap())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return max(most, before) - before
}

// heap returns the bytes of Go's heap that hold objects, including garbage.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() + sample[1].Value.Uint64()
}

// TestMemoryOfConstants makes a session of a small graph of many constants, and of a graph with
// growing constants. Neither takes much memory.
func TestMemoryOfConstants(t *testing.T) {
	const most = 384 << 20
	many := nets.Graph("", "y", nets.Constant("n", nets.Vec(500)))
	for i := range 40000 {
		name := fmt.Sprint("c", i)
		many.Nodes = append(many.Nodes, nets.Node("ConstantOfShape", "n", name))
	}
	for i := range 20000 {
		name := fmt.Sprint("s", i)
		many.Nodes = append(many.Nodes, nets.Node("Concat", "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9", name,
			graph.IntAttr("axis", 0)))
	}
	many.Outputs[0].Name = "s0"
	doubling := nets.Graph("", "y", nets.Constant("x0", tensor.New(tensor.I64, 1<<16)))
	for i := range 24 {
		x := fmt.Sprint("x", i)
		doubling.Nodes = append(doubling.Nodes,
			nets.Node("Concat", x+" "+x, fmt.Sprint("x", i+1), graph.IntAttr("axis", 0)))
	}
	doubling.Outputs[0].Name = "x24"
	for name, g := range map[string]*graph.Graph{"many": many, "doubling": doubling} {
		m := &graph.Model{File: "greedy.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: g}
		var err error
		taken := peak(func() {
			var s byname.Session
			if s, err = byname.New(m, runtime.Options{Threads: 1, MemoryLimit: 64 << 20}); err == nil {
				s.Close()
			}
		})
		if err != nil && !errors.Is(err, graph.ErrMemory) {
			t.Errorf("%s: %v", name, err)
		}
		if taken > most {
			t.Errorf("%s: making a session took %d MiB", name, taken>>20)
		}
		t.Logf("%s: %d MiB", name, taken>>20)
	}
}
