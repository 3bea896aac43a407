package exec_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rowless is a device without kernels, like a new device before it has any row.
type rowless struct{ device.Device }

func (rowless) Name() string { return "rowless" }

func (rowless) Bind(*device.Binding) (*device.Step, error) {
	return nil, device.Refuse("device rowless has no row for the operator")
}

func (rowless) Alternatives(*device.Binding) ([]*device.Step, error) { return nil, nil }

func (rowless) Layouts(*device.Binding) []device.LayoutChoice { return nil }

// TestDeviceWithoutRows runs a model on a device that refuses every node. The nodes run in Go on
// the host.
func TestDeviceWithoutRows(t *testing.T) {
	d := rowless{optest.Device(t)}
	p, err := plan.Compile(model("a", "y", node("Sum", "a a", "b"), node("Sum", "b a", "y")), registry(t), d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.From([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	pl := planFor(t, p, []*tensor.Tensor{x})
	for i := range pl.Steps {
		if !pl.Steps[i].OnHost() {
			t.Errorf("step %d, %s, is not on the host", i, pl.Steps[i].Label())
		}
	}
	e := exec.New(d, exec.Limits{})
	defer e.Close()
	out, err := run(e, pl, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	if y := tensor.View[float32](out[0]); y[0] != 0.625 || y[1] != 1.25 { // each Sum is half of one and a quarter of the other
		t.Errorf("got %v", y)
	}
}
