package vulkan_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// open opens the first device. A message of the validation layers fails the test. Devices that tests
// of single nodes open, without limits, have wide operands, among which the layer cannot tell
// conflicts.
func open(t testing.TB, o vulkan.Options) *vulkan.Device {
	t.Helper()
	wide := !o.Everything && o.MaxRange == 0
	o.Validate = func(message string) {
		if !wide || !strings.Contains(message, "SYNC-HAZARD") {
			t.Errorf("the validation layer says: %s", message)
		}
	}
	d, err := vulkan.Open("0", o)
	testenv.Need(t, err)
	t.Cleanup(d.Close)
	if wide {
		d.Widen()
	}
	return d
}

// accelerator returns the device for the plans of one model.
func accelerator(t testing.TB, d *vulkan.Device) device.Accelerator {
	t.Helper()
	a, err := d.Accelerator()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// single computes nodes on a device, each as a model of its own.
type single struct {
	device   *vulkan.Device
	registry *op.Registry
	constant func(i int, t *tensor.Tensor) bool // whether input i is one
	offload  map[string]int                     // by operator: nodes that the device computed
	test     testing.TB
	lacking  map[string]int // by operator: nodes that need a feature that it lacks; nil to count none
	how      string         // the kernels of the last of them
	fast     bool           // products may round rows
}

// isParameter reports whether an operator may need the elements of an input to be bound.
func isParameter(i int, t *tensor.Tensor) bool {
	return i > 0 && t.DType().IsInteger() && t.Len() <= 32
}

// accuracies has, for single.fast, the accuracy of the device.
var accuracies = map[bool]device.Accuracy{true: device.AccuracyFast}

func (s *single) eval(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	m, inputs := s.model(n, in)
	a, err := s.device.Accelerator()
	if err != nil {
		return nil, err
	}
	defer a.Close()
	e, err := byname.New(m, engine.Options{NoOptimize: true, Accelerator: a, Threads: 1, Registry: s.registry,
		MemoryLimit: 1 << 30, Accuracy: accuracies[s.fast]})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	values, prof, err := e.Profile(context.Background(), inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*tensor.Tensor, len(n.Outputs))
	for i, name := range n.Outputs {
		out[i], _ = values[name].(*tensor.Tensor)
	}
	planned := true // the planner computed the node
	for _, step := range prof.Steps {
		planned = planned && step.Op != n.OpName()
		switch {
		case step.Op != n.OpName():
		case step.Offloaded:
			s.offload[n.Op]++
			s.how = step.How
		case s.lacking != nil && isLacking(s.test, s.device, &step):
			s.lacking[n.Op]++
		}
	}
	if planned && s.lacking != nil && out[0] != nil && out[0].DType().Bits() >= 8 &&
		lacks(s.test, s.device, "copy/strided", fmt.Sprint("w", out[0].DType().Bits()/8)) {
		s.lacking[n.Op]++
	}
	return out, nil
}

// model returns a model of one node, and its inputs.
func (s *single) model(n *graph.Node, in []*tensor.Tensor) (*graph.Model, map[string]tensor.Value) {
	g := &graph.Graph{Name: "g", Nodes: []*graph.Node{n}}
	inputs := map[string]tensor.Value{}
	for i, t := range in {
		if t == nil || slices.ContainsFunc(g.Initializers,
			func(x *graph.Initializer) bool { return x.Name == n.Inputs[i] }) || inputs[n.Inputs[i]] != nil {
			continue
		}
		if s.constant(i, t) {
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: n.Inputs[i], Tensor: t})
			continue
		}
		g.Inputs = append(g.Inputs, &graph.Value{Name: n.Inputs[i], Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))})
		inputs[n.Inputs[i]] = t
	}
	for _, name := range n.Outputs {
		if name != "" {
			g.Outputs = append(g.Outputs, &graph.Value{Name: name})
		}
	}
	return &graph.Model{Graph: g}, inputs
}

// TestOperators checks the cases of all operators: with all of the device's features, without
// features that some devices lack, with low limits, and under the limits of phones.
func TestOperators(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of models: not in short runs")
	}
	for i, setting := range []struct {
		name    string
		options vulkan.Options
	}{
		{"all", vulkan.Options{}},
		{"level 0", vulkan.Options{Level: vulkan.L0}},
		{"level 1, low limits", vulkan.Options{Level: vulkan.L1, MaxRange: 4096, MaxGroups: 8}},
		{"mali", vulkan.Options{Profile: vulkan.Mali}},
		{"adreno, level 0", vulkan.Options{Profile: vulkan.Adreno, Level: vulkan.L0}},
	} {
		t.Run(setting.name, func(t *testing.T) {
			t.Parallel() // a device in software has one thread
			if !testenv.Complete() && setting.name != "all" {
				t.Skip("the cases again: in complete runs")
			}
			if setting.name != "all" && !testenv.Turn(i-1, 4) {
				t.Skip("another setting's turn")
			}
			setting.options.Everything = true
			s := &single{device: open(t, setting.options), registry: standard.Registry(), constant: isParameter,
				offload: map[string]int{}}
			optest.Run(t, s.eval)
			t.Logf("nodes on the device: %v", s.offload)
			if len(s.offload) < 30 {
				t.Errorf("only %d operators ran on the device: %v", len(s.offload), s.offload)
			}
		})
	}
}
