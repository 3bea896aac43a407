package exec_test

import (
	"fmt"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// declare replaces the declared type of an input or an output. Extents below 0 are unknown, and no
// extents are a scalar.
func declare(g *graph.Graph, name string, d tensor.DType, extents ...int) *graph.Graph {
	dims := make(graph.Dims, len(extents))
	for i, n := range extents {
		if dims[i] = graph.Known(n); n < 0 {
			dims[i] = graph.Unknown()
		}
	}
	for _, list := range [][]*graph.Value{g.Inputs, g.Outputs} {
		for _, v := range list {
			if v.Name == name {
				v.Type = graph.TensorOf(d, dims)
			}
		}
	}
	return g
}

// TestLoopGivesWhatIsDeclared gives a body its number and condition in their declared shapes, from
// a trip count and a condition of any rank, as ONNX Runtime does.
func TestLoopGivesWhatIsDeclared(t *testing.T) {
	bools := func(n ...int) *tensor.Tensor {
		x := tensor.New(tensor.Bool, n...)
		for i := range x.Bytes() {
			x.Bytes()[i] = 1
		}
		return x
	}
	trips := func(n ...int) *tensor.Tensor {
		x := tensor.New(tensor.I64, n...)
		tensor.View[int64](x)[0] = 2
		return x
	}
	for _, number := range [][]int{{}, {1}, {2}, {1, 1}} {
		for _, condition := range [][]int{{}, {1}, {1, 1}} {
			for _, n := range []*tensor.Tensor{trips(), trips(1), trips(1, 1)} {
				b := nets.Graph("i:int c:bool", "go i2 c2", nets.Node("Reshape", "c shape", "go"),
					nets.Node("Identity", "i", "i2"), nets.Node("Identity", "c", "c2"))
				declare(declare(b, "i", tensor.I64, number...), "c", tensor.Bool, condition...)
				g := nets.Graph("n:int c0:bool shape", "i c",
					nets.Node("Loop", "n c0", "i c", graph.GraphAttr("body", b)))
				declare(declare(g, "n", tensor.I64, n.Shape()...), "c0", tensor.Bool, condition...)
				got, err := runModel(t, g, values{"n": n, "c0": bools(condition...), "shape": nets.Vec(1, 1)})
				if err != nil {
					t.Errorf("number %v, condition %v, count %v: %v", number, condition, n, err)
					continue
				}
				want := func(declared []int) string { return fmt.Sprint(tensor.Shape{2, 1}[:1+min(len(declared), 1)]) }
				for name, declared := range map[string][]int{"i": number, "c": condition} {
					if shape := fmt.Sprint(got[name].(*tensor.Tensor).Shape()); shape != want(declared) {
						t.Errorf("number %v, condition %v, count %v: %s has shape %s, want %s", number, condition, n, name, shape,
							want(declared))
					}
				}
			}
		}
	}
}

// TestSliceByDeclaredNumber cuts a row by the number of an iteration.
func TestSliceByDeclaredNumber(t *testing.T) {
	b := nets.Graph("i:int c:bool", "c row", nets.Constant("one", nets.Vec(1)), nets.Node("Add", "i one", "end"),
		nets.Node("Slice", "x i end", "row"))
	declare(b, "i", tensor.I64, 1)
	g := nets.Graph("n:int x:rows", "y", nets.Node("Loop", "n _", "y", graph.GraphAttr("body", b)))
	got, err := runModel(t, g, values{"n": nets.Scalar[int64](2), "x": nets.Rows(3, 1, 2, 3, 4, 5, 6)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "int64[2,1,3]"; got["y"].String() != want {
		t.Errorf("y is %v, want %s", got["y"], want)
	}
}

// TestNoIterations compares the extents of scan outputs of loops without an iteration with ONNX
// Runtime: declared extents first, then extents that follow from the declared inputs of the body,
// then 0.
func TestNoIterations(t *testing.T) {
	none := []int(nil)
	for _, tt := range []struct {
		state, out, captured []int // declared; nil for nothing
		want                 string
	}{
		{[]int{2, 3}, []int{2, 3}, none, "int64[0,2,3]"},
		{[]int{2, 3}, []int{-1, 3}, none, "int64[0,2,3]"},
		{[]int{2, 3}, []int{-1, -1}, none, "int64[0,2,3]"},
		{[]int{2, 3}, none, none, "int64[0,2,3]"},
		{[]int{2, 3}, []int{}, none, "int64[0]"},
		{[]int{2, 3}, []int{0, 3}, none, "int64[0,0,3]"},
		{[]int{2, 3}, []int{2, 4}, none, "int64[0,2,0]"},
		{[]int{-1, 3}, []int{2, -1}, none, "int64[0,2,3]"},
		{[]int{-1, -1}, none, none, "int64[0,0,0]"},
		{none, none, none, "int64[0]"},
		{none, []int{2, 3}, none, "int64[0,2,3]"},
		{none, none, []int{2, 3}, "int64[0,2,3]"},
		{none, none, []int{-1, -1}, "int64[0,0,0]"},
	} {
		b := nets.Graph("i:int c:bool s", "c s z", nets.Node("Add", "s s", "z"))
		if tt.captured != nil {
			b = nets.Graph("i:int c:bool s", "c s z", nets.Node("Add", "x x", "z"))
		}
		b.Inputs[2].Type = graph.TensorOf(tensor.I64, nil)
		if tt.state != nil {
			declare(b, "s", tensor.I64, tt.state...)
		}
		if tt.out != nil {
			declare(b, "z", tensor.I64, tt.out...)
		}
		g := nets.Graph("n:int c:bool x", "y z", nets.Node("Loop", "n c x", "y z", graph.GraphAttr("body", b)))
		declare(g, "x", tensor.I64, -1, -1)
		if tt.captured != nil {
			declare(g, "x", tensor.I64, tt.captured...)
		}
		for _, how := range []struct {
			n  int64
			on bool
		}{{0, true}, {-3, true}, {5, false}} {
			got, err := runModel(t, g, values{"n": nets.Scalar(how.n), "c": nets.Scalar(how.on),
				"x": nets.Rows(3, 1, 2, 3, 4, 5, 6)})
			if err != nil {
				t.Errorf("%+v: %v", tt, err)
				continue
			}
			if got["z"].String() != tt.want || got["y"].String() != "int64[2,3]" {
				t.Errorf("%+v, %d iterations: y is %v and z %v, want %s", tt, how.n, got["y"], got["z"], tt.want)
			}
		}
	}
}

// TestNoIterationsThenMore uses the results of a loop without an iteration, with a constant trip
// count and with a given one.
func TestNoIterationsThenMore(t *testing.T) {
	b := declare(nets.Graph("i:int c:bool s", "c s z", nets.Node("Add", "s s", "z")), "s", tensor.I64, 2)
	loop, join := nets.Node("Loop", "n _ x", "y z", graph.GraphAttr("body", b)),
		nets.Node("Concat", "z w", "u", graph.IntAttr("axis", 0))
	for name, g := range map[string]*graph.Graph{
		"given":    nets.Graph("n:int x w:rows", "u", loop, join),
		"constant": nets.Graph("x w:rows", "u", nets.Constant("n", nets.Scalar[int64](0)), loop, join),
	} {
		in := values{"x": nets.Vec(1, 2), "w": nets.Rows(2, 7, 8)}
		if name == "given" {
			in["n"] = nets.Scalar[int64](0)
		}
		got, err := runModel(t, g, in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if text(got["u"]) != text(nets.Rows(2, 7, 8)) {
			t.Errorf("%s: got %s", name, text(got["u"]))
		}
	}
}

// TestScanOverNothing scans inputs with extent 0 along the scanned axis.
func TestScanOverNothing(t *testing.T) {
	for axis, want := range map[int64]string{0: "int64[0,2,3]", 1: "int64[2,0,3]", 2: "int64[2,3,0]", -1: "int64[2,3,0]",
		-3: "int64[0,2,3]"} {
		b := nets.Graph("s r", "s z", nets.Node("Add", "s r", "z"))
		declare(declare(b, "s", tensor.I64, 2, 3), "r", tensor.I64, 3)
		g := nets.Graph("s x:rows", "y z", nets.Node("Scan", "s x", "y z", graph.IntAttr("num_scan_inputs", 1),
			graph.IntsAttr("scan_output_axes", axis), graph.GraphAttr("body", b)))
		declare(g, "s", tensor.I64, 2, 3)
		got, err := runModel(t, g, values{"s": nets.Rows(3, 1, 2, 3, 4, 5, 6), "x": tensor.New(tensor.I64, 0, 3)})
		if err != nil {
			t.Errorf("axis %d: %v", axis, err)
		} else if got["z"].String() != want || got["y"].String() != "int64[2,3]" {
			t.Errorf("axis %d: y is %v and z %v, want %s", axis, got["y"], got["z"], want)
		}
	}
}

// TestDeclaredExtentsThatAreNotSo gives bodies inputs with other extents than they declare. The
// declarations have no effect.
func TestDeclaredExtentsThatAreNotSo(t *testing.T) {
	x := nets.Rows(3, 1, 2, 3, 4, 5, 6)
	for _, declared := range [][]int{{5}, {}, {1, 3}, {2, 3}, {-1, -1}} {
		d := func(g *graph.Graph, names ...string) *graph.Graph {
			for _, name := range names {
				declare(g, name, tensor.I64, declared...)
			}
			return g
		}
		for name, g := range map[string]*graph.Graph{
			"loop": nets.Graph("x:rows n:int c:bool", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
				d(nets.Graph("i:int c2:bool s", "c2 s2", nets.Node("Add", "s s", "s2")), "s", "s2")))),
			"scan": nets.Graph("x:rows n:int c:bool", "y", nets.Node("Scan", "x x", "y q", graph.IntAttr("num_scan_inputs", 1), graph.GraphAttr("body",
				d(nets.Graph("s r", "s2 q", nets.Node("Add", "s r", "s2"), nets.Node("Neg", "r", "q")), "s", "s2")))),
			"if": nets.Graph("x:rows n:int c:bool", "y", nets.Node("If", "c", "y", graph.GraphAttr("then_branch",
				d(nets.Graph("", "a", nets.Node("Add", "x x", "a")), "a")), graph.GraphAttr("else_branch", nets.Graph("", "b", nets.Node("Neg", "x", "b"))))),
		} {
			got, err := runModel(t, g, values{"x": x, "n": nets.Scalar[int64](1), "c": nets.Scalar(true)})
			if err != nil {
				t.Errorf("%s declares %v: %v", name, declared, err)
			} else if got["y"].String() != "int64[2,3]" {
				t.Errorf("%s declares %v and gives %v", name, declared, got["y"])
			}
		}
	}
}
