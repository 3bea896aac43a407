package device

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Binding is a node to bind: its operator, and the plan's knowledge of its operands.
type Binding struct {
	Op   op.Op
	Row  *op.Row
	Node *graph.Node
	In   []*op.Value // nil for an input left out
	Out  []*op.Value // nil for an output left out
	// InLayouts and OutLayouts are the layouts of operands; nil if all are plain.
	InLayouts, OutLayouts []Layout
	// Bound returns the greatest value of a length; nil if all extents are numbers.
	Bound func(symbol string) (int, bool)
	// InRoom and OutRoom are, by operand, the extents of memory with room. The value's rows are the
	// first rows of that memory along one axis. An operand without room has nil; so has the list if
	// no operand has room.
	InRoom, OutRoom []graph.Dims
}

// HasRoom reports whether the memory of an operand has room.
func (b *Binding) HasRoom() bool { return b.InRoom != nil || b.OutRoom != nil }

// OnlyRoom refuses operands with room in memory other than the listed ones.
func (b *Binding) OnlyRoom(inputs, outputs []int) error {
	for i, d := range b.InRoom {
		if d != nil && !slices.Contains(inputs, i) {
			return Refuse("input %d is in memory with room", i)
		}
	}
	for i, d := range b.OutRoom {
		if d != nil && !slices.Contains(outputs, i) {
			return Refuse("output %d is in memory with room", i)
		}
	}
	return nil
}

// InMemory returns the inputs with the extents of their memory.
func (b *Binding) InMemory() []*op.Value {
	if b.InRoom == nil {
		return b.In
	}
	list := slices.Clone(b.In)
	for i, d := range b.InRoom {
		if d != nil {
			v := *list[i]
			v.Dims = d
			list[i] = &v
		}
	}
	return list
}

// Memory returns the extents of the memory of input i.
func (b *Binding) Memory(i int) graph.Dims {
	if i < len(b.InRoom) && b.InRoom[i] != nil {
		return b.InRoom[i]
	}
	return b.In[i].Dims
}

// OutMemory is Memory of output i.
func (b *Binding) OutMemory(i int) graph.Dims {
	if i < len(b.OutRoom) && b.OutRoom[i] != nil {
		return b.OutRoom[i]
	}
	return b.Out[i].Dims
}

// Facts returns b, for code that is given a device's binder.
func (b *Binding) Facts() *Binding { return b }

// Input returns input i as an operand, or none if it is left out.
func (b *Binding) Input(i int) Operand {
	if !b.Has(i) {
		return Operand{}
	}
	return Operand{Place: In, Index: i}
}

// Output returns output i as an operand, or none if it is left out.
func (b *Binding) Output(i int) Operand {
	if !b.Wants(i) {
		return Operand{}
	}
	return Operand{Place: Out, Index: i}
}

// Has reports whether the node has input i.
func (b *Binding) Has(i int) bool { return i < len(b.In) && b.In[i] != nil }

// Wants reports whether the node has output i.
func (b *Binding) Wants(i int) bool { return i < len(b.Out) && b.Out[i] != nil }

// Const returns input i if it is constant, else nil.
func (b *Binding) Const(i int) *tensor.Tensor {
	if !b.Has(i) {
		return nil
	}
	return b.In[i].Const
}

// DType returns the element type of input i, Invalid if it is left out.
func (b *Binding) DType(i int) tensor.DType {
	if !b.Has(i) {
		return tensor.Invalid
	}
	return b.In[i].DType
}

// Shape returns the extents of input i if all are numbers. It returns nil otherwise, and for an
// input left out.
func (b *Binding) Shape(i int) tensor.Shape {
	if !b.Has(i) {
		return nil
	}
	s, _ := b.In[i].Dims.Concrete()
	return s
}

// OutShape is Shape of output i.
func (b *Binding) OutShape(i int) tensor.Shape {
	if !b.Wants(i) {
		return nil
	}
	s, _ := b.Out[i].Dims.Concrete()
	return s
}

// StoresInts reports whether the only output is integers known as expressions over lengths, at
// least one of them not a number. Such a node needs no input to be read.
func (b *Binding) StoresInts() bool {
	if len(b.Out) != 1 || b.Out[0] == nil || b.Out[0].Const != nil || b.Out[0].Ints == nil {
		return false
	}
	symbolic := false
	for _, d := range b.Out[0].Ints {
		if d.IsUnknown() {
			return false
		}
		symbolic = symbolic || !d.IsKnown()
	}
	return symbolic
}

// OnlyNumbers reports whether all operands are tensors of numbers. Devices compute only on these.
func (b *Binding) OnlyNumbers() bool {
	for _, list := range [][]*op.Value{b.In, b.Out} {
		for _, v := range list {
			if v != nil && (v.Kind != graph.TensorType || v.DType == tensor.String) {
				return false
			}
		}
	}
	return true
}

// Max returns the greatest value of an extent. ok is false if it has no bound.
func (b *Binding) Max(d graph.Dim) (int, bool) {
	if n, ok := d.Value(); ok {
		return n, true
	}
	if b.Bound == nil {
		return 0, false
	}
	_, most, ok := d.Interval(func(symbol string) (int, int, bool) {
		n, ok := b.Bound(symbol)
		return 0, n, ok
	})
	return most, ok
}

// Refusal is the error of a row, or of a whole device, that does not compute a node.
type Refusal struct {
	Reason string
	Row    string // empty for the device
	List   []*Refusal
}

// Refuse returns a *Refusal.
func Refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// Error lists the rows and the reason of each.
func (r *Refusal) Error() string {
	if len(r.List) == 0 {
		return r.Reason
	}
	parts := make([]string, len(r.List))
	for i, x := range r.List {
		parts[i] = x.Row + ": " + x.Reason
	}
	return strings.Join(parts, "; ")
}

// Refused reports whether an error of Bind says only that the device does not compute the node, or
// not yet: a refusal, elements that it needs, memory that it lacks. Other errors are defects of
// the device's rows.
func Refused(err error) bool {
	var refusal *Refusal
	var need *NeedValue
	return errors.As(err, &refusal) || errors.As(err, &need) || errors.Is(err, graph.ErrDevice)
}

// NeedValue is the error of a node that cannot be bound until the elements of an input are known.
// The planner binds it then.
type NeedValue struct{ Input int }

// Error names the input.
func (n *NeedValue) Error() string {
	return fmt.Sprintf("the elements of input %d are not known yet", n.Input)
}
