package runtime_test

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
		{"scan output of a loop", subgraph("n:int x", "all", node("Loop", "n _", "all", body("body",
			subgraph("i:int c:bool", "c y", node("Identity", "x", "y"))))), values{"n": scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<9)}},
		{"carried numbers", subgraph("n:int x", "y all", node("Loop", "n _ x", "y all", body("body",
			subgraph("i:int c:bool v", "c w v", node("Add", "v i", "w"))))), values{"n": scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<9)}},
		{"split into numbers", subgraph("x", "q", node("SplitToSequence", "x", "q", attr("keepdims", 0))), values{"x": tensor.New(tensor.I64, 1<<22)}},
		{"split into vectors", subgraph("x", "n", node("SplitToSequence", "x", "q"), node("SequenceLength", "q", "n")), values{"x": tensor.New(tensor.I64, 1<<22)}},
		{"split by sizes", subgraph("x n:int", "q", node("SplitToSequence", "x n", "q")), values{"x": tensor.New(tensor.I64, 1<<22), "n": scalar[int64](2)}},
		{"doubling", subgraph("n:int x", "y", node("Loop", "n _ x", "y", body("body",
			subgraph("i:int c:bool v", "c w", node("Concat", "v v", "w", attr("axis", 0)))))), values{"n": scalar[int64](1 << 60), "x": vec(1)}},
		{"growth by a part", subgraph("n:int x", "y", node("Loop", "n _ x", "y", body("body",
			subgraph("i:int c:bool v", "c w", node("Concat", "v x", "w", attr("axis", 0)))))), values{"n": scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<18)}},
		{"insertion", subgraph("n:int x q:seq", "y", node("Loop", "n _ q", "y", body("body",
			subgraph("i:int c:bool v:seq", "c w", node("SequenceInsert", "v x", "w"))))), values{"n": scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<15), "q": seq()}},
		{"sequence and its length", subgraph("n:int x q:seq", "y all", node("Loop", "n _ q", "y all", body("body",
			subgraph("i:int c:bool v:seq", "c w l", node("SequenceInsert", "v x", "w"), node("SequenceLength", "w", "l"))))),
			values{"n": scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<15), "q": seq()}},
		{"strings that double", stringLoop(), values{"n": scalar[int64](1 << 60)}},
		{"map over a sequence", subgraph("q:seq x", "r", node("SequenceMap", "q x", "r", body("body",
			subgraph("a b", "s", node("Add", "a b", "s"))))), values{"q": same(vec(1), 1<<16), "x": tensor.New(tensor.I64, 1<<10)}},
		{"concatenation of a sequence", subgraph("q:seq", "y", node("ConcatFromSequence", "q", "y", attr("axis", 0))),
			values{"q": same(tensor.New(tensor.I64, 1<<16), 1<<10)}},
		{"outputs of Scan", subgraph("s x:rows", "last all", node("Scan", "s x", "last all", attr("num_scan_inputs", 1), body("body",
			subgraph("s x", "next next", node("Add", "s x", "next"))))), values{"s": tensor.New(tensor.I64, 1<<14), "x": rows(1, make([]int64, 1<<14)...)}},
		{"optionals", subgraph("n:int x", "all", node("Loop", "n _", "all", body("body",
			subgraph("i:int c:bool", "c y", node("Optional", "x", "o"), node("OptionalGetElement", "o", "y"))))), values{"n": scalar[int64](1 << 60), "x": tensor.New(tensor.I64, 1<<12)}},
		{"parts of a string", splitting(), values{"n": scalar[int64](1 << 60)}},
		{"text of numbers", subgraph("x", "y", node("Cast", "x", "y", attr("to", 8))), values{"x": large(1 << 22)}},
		{"maps of rows", zipping(), values{"x": tensor.New(tensor.F32, 1<<20, 1)}},
		{"groups of numbers", subgraph("x", "y", node("Unique", "x", "y")), values{"x": tensor.New(tensor.I64, 1<<24)}},
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
	n := node(op, in, out, attrs...)
	n.Version = 20
	return n
}

// stringLoop concatenates a string with itself repeatedly.
func stringLoop() *graph.Graph {
	b := subgraph("i:int c:bool", "c w", textNode("StringConcat", "v v", "w"))
	b.Inputs = append(b.Inputs, &graph.Value{Name: "v", Type: graph.TensorOf(tensor.String, graph.UnknownDims(1))})
	return subgraph("n:int", "y", constant("x", words("word")), node("Loop", "n _ x", "y", body("body", b)))
}

// splitting splits a string into many parts and keeps the rows.
func splitting() *graph.Graph {
	b := subgraph("i:int c:bool", "c parts", textNode("StringSplit", "x", "parts"))
	return subgraph("n:int", "y", constant("x", words(strings.Repeat("a ", 1<<12))), node("Loop", "n _", "y", body("body", b)))
}

// zipping makes a map of every row of a matrix.
func zipping() *graph.Graph {
	zip := node("ZipMap", "x", "q", attrs("classlabels_int64s", 7))
	zip.Domain, zip.Version = "ai.onnx.ml", 1
	g := subgraph("x", "q", zip)
	g.Inputs[0].Type = graph.TensorOf(tensor.F32, graph.UnknownDims(2))
	return g
}

// TestMemoryOfValues checks that a run counts the whole cost of values. It fails, and the heap
// stays near the limit.
func TestMemoryOfValues(t *testing.T) {
	const limit = 128 << 20
	for _, tt := range greedy() {
		t.Run(tt.name, func(t *testing.T) {
			m := &graph.Model{File: "greedy.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: tt.graph}
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
	many := subgraph("", "y", constant("n", vec(500)))
	for i := range 40000 {
		name := fmt.Sprint("c", i)
		many.Nodes = append(many.Nodes, node("ConstantOfShape", "n", name))
	}
	for i := range 20000 {
		name := fmt.Sprint("s", i)
		many.Nodes = append(many.Nodes, node("Concat", "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9", name, attr("axis", 0)))
	}
	many.Outputs[0].Name = "s0"
	doubling := subgraph("", "y", constant("x0", tensor.New(tensor.I64, 1<<16)))
	for i := range 24 {
		x := fmt.Sprint("x", i)
		doubling.Nodes = append(doubling.Nodes, node("Concat", x+" "+x, fmt.Sprint("x", i+1), attr("axis", 0)))
	}
	doubling.Outputs[0].Name = "x24"
	for name, g := range map[string]*graph.Graph{"many": many, "doubling": doubling} {
		m := &graph.Model{File: "greedy.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: g}
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
