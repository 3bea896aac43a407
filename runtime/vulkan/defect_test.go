package vulkan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

// TestDefect changes a row of the table of shaders. A node that the row belongs to is an error,
// which names the operator and the shader, and no node that stays with the host.
func TestDefect(t *testing.T) {
	s := &single{
		device: open(t, vulkan.Options{}), registry: standard.Registry(), constant: isParameter, offload: map[string]int{},
	}
	n := &graph.Node{Name: "n", Op: "Erf", Version: 13, Inputs: []string{"x"}, Outputs: []string{"y"}}
	in := []*tensor.Tensor{tensor.New(tensor.F32, 1<<20)}
	if _, err := s.eval(n, in); err != nil {
		t.Fatal(err)
	}
	m, err := shaders.Find("eltwise/unary", "f32")
	if err != nil {
		t.Fatal(err)
	}
	m.Kernel.Push++
	defer func() { m.Kernel.Push-- }()
	_, err = s.eval(n, in)
	if !errors.Is(err, guard.ErrInternal) || !strings.Contains(err.Error(), "Erf") ||
		!strings.Contains(err.Error(), "eltwise/unary") {
		t.Errorf("a row with another number of words: %v", err)
	}
}

// TestIterations checks that only devices with the defect end long loops early.
func TestIterations(t *testing.T) {
	const n = 100_000
	d := open(t, vulkan.Options{})
	got, err := d.Iterations(n)
	if err != nil {
		t.Fatal(err)
	}
	info := d.Info()
	if has := slices.ContainsFunc(vulkan.Defects(&info), vulkan.Defect.EndsLoops); has != (got < n) {
		t.Errorf("%d of %d iterations, and the driver %s is known to end loops: %v", got, n, info.Driver, has)
	}
}
