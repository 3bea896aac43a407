package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// clampOf returns the interval to which epilogue e clamps elements. ok is false if e is another
// function.
func clampOf(e kit.Epilogue) (low, high float64, ok bool) {
	switch e.Func {
	case "relu":
		return 0, math.Inf(1), true
	case "clip":
		return e.P, e.Q, true
	}
	return 0, 0, false
}

// mapped returns the kernel of an epilogue for elements of type d. It is the zero Kernel for no
// epilogue and for clamps.
func (b *binder) mapped(d tensor.DType, e kit.Epilogue) bindings.Kernel {
	if _, _, clamps := clampOf(e); clamps || e.Func == "" {
		return bindings.Kernel{}
	}
	return b.function(d, e.Func)
}

// epilogue appends the words of an epilogue: a clamp, or a function with parameters of type d.
func (w *words) epilogue(d tensor.DType, e kit.Epilogue, mapped bindings.Kernel) {
	low, high, clamps := clampOf(e)
	w.bool(clamps)
	w.float(low, high)
	w.part(mapped)
	w.params(params(d, e.P, e.Q))
}
