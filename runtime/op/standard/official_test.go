package standard_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The official runner's tolerances, unless a test sets others.
const (
	officialRel = 1e-3
	officialAbs = 1e-7
)

// random lists operators with results that the official data cannot fix.
var random = []string{"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
	"RandomUniformLike"}

// TestOfficial runs the official tests of single operators in the registry, each as a subtest named
// after its folder, with every way to prepare an operator.
func TestOfficial(t *testing.T) {
	root := testenv.OfficialData(t)
	testenv.Need(t, bindings.Available())
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "model.onnx"))
	if err != nil || files == nil {
		t.Fatalf("no models in %s: %v", root, err)
	}
	registry, ran := standard.Registry(), 0
	for _, file := range files {
		m, err := formats.Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		n, ok := singleNode(m, registry)
		if !ok {
			continue
		}
		ran++
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			sets, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "test_data_set_*"))
			for _, set := range sets {
				officialSet(t, registry, m, n, set)
			}
		})
	}
	t.Logf("%d of %d tests are of single operators that the registry has", ran, len(files))
}

// singleNode returns the only node of a model on plain tensors, if its operator has a row.
func singleNode(m *graph.Model, r *op.Registry) (*graph.Node, bool) {
	if len(m.Graph.Nodes) != 1 || slices.Contains(random, m.Graph.Nodes[0].Op) {
		return nil, false
	}
	for _, v := range slices.Concat(m.Graph.Inputs, m.Graph.Outputs) {
		if v.Type.Kind != graph.TensorType {
			return nil, false
		}
	}
	n := m.Graph.Nodes[0]
	for _, a := range n.Attrs {
		if a.Kind == graph.AttrGraph || a.Kind == graph.AttrGraphs {
			return nil, false // only a session can run the graphs
		}
	}
	for _, row := range r.Rows() {
		if row.Domain == n.Domain && row.Name == n.Op && !row.DynamicOutputs {
			return n, true
		}
	}
	return nil, false
}

func officialSet(t *testing.T, r *op.Registry, m *graph.Model, n *graph.Node, folder string) {
	values := map[string]*tensor.Tensor{}
	for _, init := range m.Graph.Initializers {
		values[init.Name] = init.Tensor
	}
	readSet(t, folder, "input_", m.Graph.Inputs, values)
	want := map[string]*tensor.Tensor{}
	readSet(t, folder, "output_", m.Graph.Outputs, want)
	in := make([]*tensor.Tensor, len(n.Inputs))
	for i, name := range n.Inputs {
		if in[i] = values[name]; name != "" && in[i] == nil {
			t.Fatalf("no data for input %q", name)
		}
	}
	pool, err := bindings.NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, mode := range []struct {
		name     string
		constant bool
		isa      bindings.ISA
		pool     *bindings.Pool
	}{
		{"constant inputs", true, bindings.DetectISA(), nil},
		{"two threads", false, bindings.DetectISA(), pool},
		{"scalar", false, 0, nil},
	} {
		out, err := compute(r, n, in, mode.constant, mode.isa, mode.pool)
		if err != nil {
			t.Errorf("%s: %v", mode.name, err)
			continue
		}
		for i, name := range n.Outputs {
			if w := want[name]; w != nil {
				if err := closeTo(out[i], w, officialAbs); err != nil {
					t.Errorf("%s: output %d: %v", mode.name, i, err)
				}
			}
		}
	}
	unknown(t, r, n, in)
}

// compute computes a node with all inputs constant or none.
func compute(
	r *op.Registry, n *graph.Node, in []*tensor.Tensor, constant bool, isa bindings.ISA, pool *bindings.Pool,
) ([]*tensor.Tensor, error) {
	if constant {
		return cpu.Eval(r, n, isa, pool, in)
	}
	return cpu.EvalVariable(r, n, isa, pool, in, nil)
}

// unknown infers the outputs from less and less knowledge of the inputs. The operator must not
// fail, must return the element types, and must not contradict its outputs for fully known inputs.
func unknown(t *testing.T, r *op.Registry, n *graph.Node, in []*tensor.Tensor) {
	infer := func(what string, forget func(v *op.Value)) []*op.Value {
		o, _, err := r.New(n)
		if err != nil {
			t.Fatal(err)
		}
		values := kit.Values(in)
		for _, v := range values {
			if v != nil {
				forget(v)
			}
		}
		out, err := kit.InferOutputs(o, n, values)
		if err != nil {
			t.Errorf("inferring %s: %v", what, err)
		}
		return out
	}
	full := infer("from all", func(*op.Value) {})
	for _, c := range []struct {
		what   string
		forget func(v *op.Value)
	}{
		{"from shapes", func(v *op.Value) { v.Const = nil }},
		{"from ranks", func(v *op.Value) { v.Const, v.Dims = nil, graph.UnknownDims(len(v.Dims)) }},
		{"from types", func(v *op.Value) { v.Const, v.Dims = nil, nil }},
	} {
		for i, v := range infer(c.what, c.forget) {
			if n.Outputs[i] == "" || full == nil {
				continue
			}
			if v.DType != full[i].DType {
				t.Errorf("inferring %s: output %d has element type %v, not %v", c.what, i, v.DType, full[i].DType)
			}
			if !agrees(v.Dims, full[i].Dims) {
				t.Errorf("inferring %s: output %d has extents %v, not %v", c.what, i, v.Dims, full[i].Dims)
			}
		}
	}
}

func agrees(some, all graph.Dims) bool {
	if some == nil || all == nil {
		return true
	}
	if len(some) != len(all) {
		return false
	}
	for i, d := range some {
		if d.IsKnown() && all[i].IsKnown() && !d.Same(all[i]) {
			return false
		}
	}
	return true
}

func readSet(t *testing.T, folder, prefix string, list []*graph.Value, into map[string]*tensor.Tensor) {
	files, _ := filepath.Glob(filepath.Join(folder, prefix+"*.pb"))
	for _, file := range files {
		k, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), prefix), ".pb"))
		if err != nil || k >= len(list) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, x, err := onnx.ReadTensor(data)
		if err != nil {
			t.Fatal(err)
		}
		into[list[k].Name] = x
	}
}

// closeTo reports the first element of got that differs from want. Floats of 16 bits or more may
// differ by the tolerance; other elements must be equal.
func closeTo(got, want *tensor.Tensor, abs float64) error {
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		return fmt.Errorf("is %v, not %v", got, want)
	}
	if got.DType() == tensor.String {
		if !slices.Equal(got.Strings(), want.Strings()) {
			return fmt.Errorf("is %q, not %q", got.Strings(), want.Strings())
		}
		return nil
	}
	g, ok := float64s(got)
	if !ok {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			return fmt.Errorf("%v elements are % x, not % x", got.DType(), head(got.Bytes()), head(want.Bytes()))
		}
		return nil
	}
	w, _ := float64s(want)
	for i, x := range w {
		if math.IsNaN(x) && math.IsNaN(g[i]) || g[i] == x {
			continue
		}
		if diff := math.Abs(g[i] - x); !(diff <= abs+officialRel*math.Abs(x)) || math.IsInf(x, 0) {
			return fmt.Errorf("element %d is %g, not %g", i, g[i], x)
		}
	}
	return nil
}

func head(b []byte) []byte { return b[:min(len(b), 48)] }

func float64s(t *tensor.Tensor) ([]float64, bool) {
	t = t.Aligned()
	list := make([]float64, t.Len())
	switch t.DType() {
	case tensor.F32:
		for i, v := range tensor.View[float32](t) {
			list[i] = float64(v)
		}
	case tensor.F64:
		copy(list, tensor.View[float64](t))
	case tensor.F16:
		for i, v := range tensor.View[packed.F16](t) {
			list[i] = float64(v.Float32())
		}
	case tensor.BF16:
		for i, v := range tensor.View[packed.BF16](t) {
			list[i] = float64(v.Float32())
		}
	default:
		return nil, false
	}
	return list, true
}
