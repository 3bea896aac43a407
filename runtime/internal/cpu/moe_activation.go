package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expertActivation holds the kernels of an activation f and of the gates that f is multiplied by. An
// invalid kernel is left out.
type expertActivation struct {
	f, join bindings.Kernel
	fused   bindings.Kernel // calls both
}

// activation chooses the kernels of the activation and lists them.
func (x *expertBinder) activation() (a expertActivation) {
	if name := x.bound.Activation; name != "" {
		a.f = x.kernel("f32_" + name)
	}
	if x.bound.gated {
		a.join = x.kernel("f32_mul")
	}
	switch {
	case a.f.Valid() && a.join.Valid():
		a.fused = x.kernel("eltwise_fused")
		x.list(device.Command{Kernel: a.fused, Parts: []device.Kernel{a.f, a.join}})
	case a.f.Valid():
		x.list(device.Command{Kernel: a.f})
	case a.join.Valid():
		x.list(device.Command{Kernel: a.join})
	}
	return a
}

// activate adds commands that set h to f(h), times the gates if there are any.
func (x *boundExperts) activate(c *calls, h, gates []float32) error {
	n, at, plain := graph.Known(len(h)), c.list(h), storage{bytes: 4}
	none, p := device.Operand{}, params(tensor.F32, x.Alpha, 0)
	switch {
	case x.fused.Valid():
		return c.add(x.fused, []bindings.Kernel{x.f, x.join}, fusedWords(x.f, x.join, true, n, n, plain, plain, p), at, c.list(gates), at)
	case x.f.Valid():
		return c.add(x.f, nil, unaryWords(n, plain, plain, p, tensor.F32), at, at, none, none)
	case x.join.Valid():
		dims := graph.Dims{n}
		return c.pairs(x.join, plain, plain, plain, at, c.list(gates), at, dims, dims, dims)
	}
	return nil
}
