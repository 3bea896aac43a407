package standard_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// answer is a node with inputs and ONNX Runtime's outputs, as written by oracles/microsoft/cases.py
// and oracles/ml/cases.py.
type answer struct {
	Name, Op, Domain string
	Version          int // 0 for the first
	Attrs            map[string]struct {
		I  *int64
		F  *float32
		S  *string
		T  *stored
		Is []int64
		Fs []float32
		Ss []string
	}
	In, Out []*stored
	Tol     float64 // relative to the largest number of an output
}

type stored struct {
	Type  string
	Shape []int
	Data  string
	Texts []string // of strings, instead of Data
}

func (s *stored) tensor(t *testing.T) *tensor.Tensor {
	if s == nil {
		return nil
	}
	d, err := tensor.ParseDType(s.Type)
	if err != nil {
		t.Fatal(err)
	}
	if d == tensor.String {
		x, err := tensor.FromStrings(s.Texts, s.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	data, err := base64.StdEncoding.DecodeString(s.Data)
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.FromBytes(d, s.Shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return x.Aligned()
}

func (a *answer) node(t *testing.T) *graph.Node {
	n := &graph.Node{Op: a.Op, Domain: a.Domain, Version: max(a.Version, 1)}
	if a.Domain == "" {
		n.Version = 17
	}
	for name, v := range a.Attrs {
		attr := &graph.Attr{Name: name}
		switch {
		case v.I != nil:
			attr.Kind, attr.Int = graph.AttrInt, *v.I
		case v.F != nil:
			attr.Kind, attr.Float = graph.AttrFloat, *v.F
		case v.S != nil:
			attr.Kind, attr.Str = graph.AttrString, []byte(*v.S)
		case v.T != nil:
			attr.Kind, attr.Tensor = graph.AttrTensor, v.T.tensor(t)
		case v.Ss != nil:
			attr.Kind = graph.AttrStrings
			for _, text := range v.Ss {
				attr.Strs = append(attr.Strs, []byte(text))
			}
		case v.Is != nil:
			attr.Kind, attr.Ints = graph.AttrInts, v.Is
		default:
			attr.Kind, attr.Floats = graph.AttrFloats, v.Fs
		}
		n.Attrs = append(n.Attrs, attr)
	}
	for _, x := range a.In {
		n.Inputs = append(n.Inputs, map[bool]string{true: "x"}[x != nil])
	}
	for _, y := range a.Out {
		n.Outputs = append(n.Outputs, map[bool]string{true: "y"}[y != nil])
	}
	return n
}

// TestMicrosoft compares operators of ONNX Runtime's own domain with its answers.
func TestMicrosoft(t *testing.T) { compareStored(t, "microsoft") }

// compareStored recomputes the answers in a folder of testdata and compares them.
func compareStored(t *testing.T, folder string) {
	testenv.Need(t, bindings.Available())
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
	if err != nil || files == nil {
		t.Fatalf("no cases: %v", err)
	}
	registry := standard.Registry()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []*answer
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, a := range list {
			t.Run(a.Op+"/"+a.Name, func(t *testing.T) { a.check(t, registry) })
		}
	}
}

func (a *answer) check(t *testing.T, r *op.Registry) {
	n := a.node(t)
	in := make([]*tensor.Tensor, len(a.In))
	for i, x := range a.In {
		in[i] = x.tensor(t)
	}
	for _, mode := range []struct {
		name     string
		constant bool
		isa      bindings.ISA
	}{{"constant inputs", true, bindings.DetectISA()}, {"variable inputs", false, bindings.DetectISA()}, {"scalar", false, 0}} {
		out, err := compute(r, n, in, mode.constant, mode.isa, nil)
		if err != nil {
			t.Errorf("%s: %v", mode.name, err)
			continue
		}
		for i, y := range a.Out {
			if y != nil {
				a.compare(t, mode.name, i, out[i], y.tensor(t))
			}
		}
	}
	unknown(t, r, n, in)
}

// compare reports the first element of an output outside the tolerance.
func (a *answer) compare(t *testing.T, mode string, output int, got, want *tensor.Tensor) {
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		t.Errorf("%s: output %d is %v, not %v", mode, output, got, want)
		return
	}
	g, ok := float64s(got)
	if !ok {
		if err := closeTo(got, want, officialAbs); err != nil {
			t.Errorf("%s: output %d: %v", mode, output, err)
		}
		return
	}
	w, _ := float64s(want)
	size := 1e-3
	for _, x := range w {
		if !math.IsInf(x, 0) && math.Abs(x) < 1e30 {
			size = max(size, math.Abs(x))
		}
	}
	for i, x := range w {
		if g[i] == x || math.IsNaN(x) && math.IsNaN(g[i]) {
			continue
		}
		if !(math.Abs(g[i]-x) <= a.Tol*max(size, min(math.Abs(x), 1e30))) &&
			!(math.Abs(x) > 1e30 && math.Abs(g[i]-x) < 1e-5*math.Abs(x)) {
			t.Errorf("%s: element %d of output %d is %g, not %g", mode, i, output, g[i], x)
			return
		}
	}
}
