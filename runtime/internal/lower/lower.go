// Package lower describes the work of nodes without a device: copies of elements, functions of
// elements, reductions, sums of products, normalisations, attention. A device binds each kind of work
// once, as a method of its binder.
package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Binder makes the step of one node on a device. Move, Map, Reduce, Products and Convert add work to the
// step, or refuse.
type Binder interface {
	// Facts returns the plan's knowledge of the node.
	Facts() *device.Binding
	// Input and Output return operands of the node, none for one that is left out.
	Input(i int) device.Operand
	Output(i int) device.Operand
	// Scratch returns n bytes that last for all work of the step.
	Scratch(n int) device.Operand

	// Step returns the step.
	Step() *device.Step
	// Note keeps the first error that is not nil. Further work, and the step, then fail with it.
	Note(err error)

	Move(m *Move) error
	Map(m *Map) error
	Reduce(r *Reduction) error

	// SumType returns the type in which sums of elements of type d are computed. If rows is true, the
	// elements of a sum must be in rows without gaps.
	SumType(d tensor.DType) (sum tensor.DType, rows bool, err error)
	// Products multiplies matrices of type d.
	Products(d tensor.DType, p *Product, left, right, y device.Operand) error
	// Convert converts n elements from one type to another.
	Convert(from, to tensor.DType, n graph.Dim, x, y device.Operand) error
}

// row returns the row of a device for operators of type T.
func row[B Binder, T op.Op](name string, bind func(o T, b Binder) error) device.Row[B] {
	return device.RowFor(name, func(o T, b B) error { return bind(o, b) })
}

// constant returns the elements of t as an operand.
func constant(t *tensor.Tensor) device.Operand {
	return device.Operand{Place: device.Const, Data: t.Aligned().Bytes()}
}
