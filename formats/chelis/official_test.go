package chelis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// emitted returns the module of a model. Chelis must accept it.
func emitted(m *graph.Model, o Options) (string, error) {
	m, err := runtime.Inline(m)
	if err != nil {
		return "", err
	}
	o.Infer = func(n *graph.Node, in []*Fact) ([]*Fact, error) {
		values := make([]*op.Value, len(in))
		for i, f := range in {
			values[i] = (*op.Value)(f)
		}
		out, err := runtime.Infer(n, values)
		facts := make([]*Fact, len(out))
		for i, v := range out {
			facts[i] = (*Fact)(v)
		}
		return facts, err
	}
	text, err := Emit(m, o)
	if err != nil {
		return "", err
	}
	if err := check(string(text)); err != nil {
		return "", fmt.Errorf("the style gate refuses %.3000s: %w", text, err)
	}
	return string(text), nil
}

func refusal(err error) bool {
	for _, kind := range []error{ErrWeightConversion, ErrUnsupportedOpset, ErrUnsupportedDtype, ErrUnsupportedOperator, ErrUnsupportedShape, ErrInternalInconsistency} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func arrayOf(t *tensor.Tensor) *array {
	a := newArray(words[t.DType()], t.Shape())
	at := tensor.Numbers(t)
	for i := range a.data {
		a.data[i] = at(i)
	}
	return a
}

// compare returns an error if results differ from tensors.
func compare(got []*array, want []*tensor.Tensor, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d results, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.kind != words[w.DType()] || !slices.Equal(g.shape, w.Shape()) {
			return fmt.Errorf("result %d is %s%v, want %v", i, g.kind, g.shape, w)
		}
		at := tensor.Numbers(w)
		for k, v := range g.data {
			if x := at(k); !(math.Abs(v-x) <= tolerance*(1+math.Abs(x)) || math.IsNaN(v) && math.IsNaN(x) || v == x) {
				return fmt.Errorf("element %d of result %d is %v, want %v", k, i, v, x)
			}
		}
	}
	return nil
}

// rounded lists official cases with answers of four digits.
var rounded = map[string]bool{"test_averagepool_2d_ceil_last_window_starts_on_pad": true}

// runModule compares a module with answers or, if there are none, with a run of the model.
func runModule(m *graph.Model, text string, inputs map[string]*tensor.Tensor, want []*tensor.Tensor) error {
	return runWith(m, text, "", inputs, want)
}

// runStored compares a module and its archive with a run of the model.
func runStored(m *graph.Model, text, archive string, inputs map[string]*tensor.Tensor) error {
	return runWith(m, text, archive, inputs, nil)
}

func runWith(m *graph.Model, text, archive string, inputs map[string]*tensor.Tensor, want []*tensor.Tensor) error {
	s, err := byname.New(m, runtime.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	given := map[string]*array{}
	var order []string
	for _, v := range s.Inputs() {
		order = append(order, v.Name)
		given[v.Name] = arrayOf(inputs[v.Name])
	}
	if want == nil {
		results, err := s.Run(context.Background(), inputs)
		if err != nil {
			return err
		}
		for _, v := range m.Graph.Outputs {
			want = append(want, results[v.Name])
		}
	}
	got, err := evaluateWith(text, archive, given, order)
	if err != nil {
		return err
	}
	return compare(got, want, 2e-5)
}

// TestOfficial emits the official tests of the operators and evaluates the modules. Every operator
// of the table must be in a case that can be emitted.
func TestOfficial(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(testenv.OfficialData(t), "node", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	done, refused := map[string]int{}, map[string]int{}
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, "model.onnx"))
		if err != nil || info.Size() > 1<<20 {
			continue
		}
		official(t, dir, done, refused)
	}
	total := 0
	for name := range translations {
		if done[name] == 0 {
			t.Errorf("%s is in no case that was emitted (%d were refused)", name, refused[name])
		}
	}
	for _, n := range done {
		total += n
	}
	t.Logf("%d operators in cases that agree", total)
}

// official emits one case. If it is refused, official tries again with all inputs but the first as
// weights, and then with the first output alone.
func official(t *testing.T, dir string, done, refused map[string]int) {
	m, err := formats.Load(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return // other tests report it
	}
	defer m.Close()
	names := map[string]bool{}
	for _, n := range m.Graph.Nodes {
		names[n.Domain+"."+n.Op] = true
		if translations[n.Domain+"."+n.Op] == nil {
			return
		}
	}
	lowered := versions(m)
	inputs, want, err := data(m, dir)
	if err != nil {
		return // values other than tensors
	}
	text, err := emitted(m, Options{})
	if refusal(err) {
		left := min(1, len(m.Graph.Inputs))
		if left == 1 && inputs[m.Graph.Inputs[0].Name].DType() == tensor.I64 {
			left = 0
		}
		for _, v := range m.Graph.Inputs[left:] {
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: v.Name, Tensor: inputs[v.Name]})
			delete(inputs, v.Name)
		}
		m.Graph.Inputs = m.Graph.Inputs[:left]
		text, err = emitted(m, Options{})
	}
	if refusal(err) && len(m.Graph.Outputs) > 1 {
		m.Graph.Outputs, want = m.Graph.Outputs[:1], want[:1]
		text, err = emitted(m, Options{})
	}
	if rounded[filepath.Base(dir)] {
		want = nil
	}
	count := done
	if refusal(err) {
		count = refused
	} else if err != nil {
		if !lowered { // attributes of later versions
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
		return
	} else if err := runModule(m, text, inputs, want); err != nil {
		t.Errorf("%s: %v\n%.2000s", filepath.Base(dir), err, text)
	}
	for name := range maps.Keys(names) {
		count[name]++
	}
}

// versions moves cases of operators to a version that can be emitted, if they are older than
// version 11 or newer than 23. It reports whether the version was lowered.
func versions(m *graph.Model) (lowered bool) {
	for i, o := range m.Opsets {
		if o.Domain == "" {
			m.Opsets[i].Version = min(max(o.Version, 11), 23)
		}
	}
	for _, n := range m.Graph.Nodes {
		lowered = lowered || n.Version > 23
		n.Version = min(max(n.Version, 11), 23)
	}
	return lowered
}

// data reads the inputs and outputs of a case.
func data(m *graph.Model, dir string) (map[string]*tensor.Tensor, []*tensor.Tensor, error) {
	one := func(prefix string, i int) (*tensor.Tensor, error) {
		raw, err := os.ReadFile(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("%s_%d.pb", prefix, i)))
		if err != nil {
			return nil, err
		}
		_, t, err := onnx.ReadTensor(raw)
		return t, err
	}
	inputs := map[string]*tensor.Tensor{}
	for i, v := range m.Graph.Inputs {
		x, err := one("input", i)
		if err != nil {
			return nil, nil, err
		}
		inputs[v.Name] = x
	}
	var want []*tensor.Tensor
	for i := range m.Graph.Outputs {
		x, err := one("output", i)
		if err != nil {
			return nil, nil, err
		}
		want = append(want, x)
	}
	return inputs, want, nil
}
