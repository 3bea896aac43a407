// Package op gives nodes their meaning. An operator is one Row: its name and
// versions, its element types, its memory rules, and a constructor that reads a
// node's attributes. This package holds what all operators share. Each family of
// operators is a package below it; a file there has, in this order, attributes, shape
// rule, execution, rows. Package standard lists the families. Nothing about an
// operator's meaning is written anywhere else.
package op

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Op is an operator bound to the attributes of one node. It does not
// change, and its methods may be called from many goroutines at once.
// Errors say what is wrong; the caller adds node, operator and input types.
type Op interface {
	// Infer sets type and extents of every output from those of the inputs.
	// The element type must be set always, extents as far as they follow.
	// Given inputs that are known in full it must yield numbers, unless the
	// extents depend on the inputs' elements in a way that only Run finds out.
	Infer(c *Infer) error
}

// Runner is an Op that computes its outputs in Go. Others run on devices only.
type Runner interface {
	Op
	// Run computes the outputs.
	Run(c *Run) error
}

// Counter is an Op of whose outputs all unknown extents are one number that a run counts. A
// device that counts it writes the elements of outputs one after the other into memory for
// the most of them.
type Counter interface {
	Op
	// Most returns the most that the number can be, from the extents of the inputs; those
	// of an input that is left out are nil.
	Most(in []tensor.Shape) int
}

// Sliding is an Op whose second input, the kernel, slides over the first.
type Sliding interface {
	Op
	// Slides returns how it does along each spatial axis.
	Slides(x, kernel tensor.Shape) ([]Slide, error)
}

// Slide is the extents of one spatial axis, and the padding before the value. What is behind
// it follows from Out.
type Slide struct{ In, Out, Kernel, Stride, Dilation, Pad int }

// Any is a count without limit in Row.In and Row.Out.
const Any = -1

// Row is one operator of a domain, in all its versions.
type Row struct {
	Domain string
	Name   string
	Since  []int  // every version that changed it, ascending
	In     [2]int // fewest and most inputs; Any for no limit
	Out    [2]int // fewest and most outputs
	Types  Types  // element types that input Typed may have; nil for all
	Typed  int    // the input that Types is about
	// Kinds reports that inputs may be sequences, optionals and maps. Other operators are
	// given tensors only.
	Kinds bool
	// Optional reports required inputs that a node may leave out, as in Arity.
	Optional func(input int) bool
	// Later has the inputs of later versions, ascending, where they differ.
	Later []Arity
	// InPlace lists inputs whose memory output 0 may take over. The planner does
	// so when that input has output 0's shape and element size and dies here, so
	// Run must bear Out[0] and that input being the same bytes.
	InPlace []int
	// DynamicOutputs reports whether Run makes every output, by Alloc or Set; none is set up.
	DynamicOutputs bool
	// View says that output 0 has the bytes of input 0; Run is then called only
	// for further outputs, if there are any, with Out[0] set up already.
	View bool
	// Impure says that Run may yield other results from the same inputs, so that
	// nodes are never computed ahead of a run.
	Impure bool
	// Generates says that elements follow from a few numbers and their places, so that a
	// device fills memory with them in less time than it copies them.
	Generates bool
	// Heap is the bytes of Go's heap that Run takes, for each element of inputs and outputs,
	// beside the memory that Mem counts. A Run that lists elements as float64 takes 8.
	Heap int
	New  func(n *Node) (Op, error)
}

// Value is what is known of an operand before it is computed.
type Value struct {
	graph.Type
	// Const is the value itself, if known.
	Const *tensor.Tensor
	// Ints are the elements of an integer scalar or vector of which only
	// expressions are known, as when a shape is computed from symbols.
	Ints []graph.Dim
}

// IntVec returns the elements of an integer scalar or vector as extents, taken
// from Const or Ints; ok is false when nothing is known of them, or there are more than
// MaxInts.
func (v *Value) IntVec() (list []graph.Dim, ok bool) {
	if v == nil {
		return nil, false
	}
	if v.Const == nil {
		return v.Ints, v.Ints != nil
	}
	if v.Const.Len() > MaxInts || !v.DType.IsInteger() {
		return nil, false
	}
	ints, err := Ints(v.Const)
	if err != nil {
		return nil, false
	}
	list = make([]graph.Dim, len(ints))
	for i, n := range ints {
		list[i] = graph.Known(n)
	}
	return list, true
}

// Rank is the number of axes, if known.
func (v *Value) Rank() (int, bool) { return len(v.Dims), v.Dims != nil }

// Infer is the operands of one node while types and extents are inferred.
type Infer struct {
	In  []*Value // nil where an input is left out
	Out []*Value // one per output of the node, to be filled; never nil
	// Body infers the outputs of the graph that an attribute of the node holds.
	Body func(attr string, in []*Value) ([]*Value, error)
}

// Has reports whether input i is there.
func (c *Infer) Has(i int) bool { return i < len(c.In) && c.In[i] != nil }

// Set gives output i, if the node has that many, a type and extents (nil when
// not even the number of axes is known).
func (c *Infer) Set(i int, d tensor.DType, dims graph.Dims) {
	if i < len(c.Out) {
		c.Out[i].Type = graph.TensorOf(d, slices.Clone(dims))
	}
}

// SetType gives output i, if the node has that many, a type of any kind.
func (c *Infer) SetType(i int, t graph.Type) {
	if i < len(c.Out) {
		c.Out[i].Type = t
	}
}

// Run is the operands of one node while it is computed.
type Run struct {
	In     []*tensor.Tensor // nil where an input is left out or is no tensor
	Values []tensor.Value   // every input, of any kind; nil where it is left out
	Out    []*tensor.Tensor // nil where an output is left out or was not inferred
	Made   []tensor.Value   // outputs of other kinds, and tensors made elsewhere
	Sole   []bool           // by output: nothing else refers to the memory of what was made
	Mem    Memory
	Stop   Flag // nil for a run that nothing ends
	// Ctx is the context of the run that the node is in; nil outside a run.
	Ctx  context.Context
	Node *graph.Node
	// Threads is how many goroutines Parallel may use; 0 is 1.
	Threads int
	// Body runs the graph that an attribute of the node holds. It does not change
	// its inputs; its results share no memory with them. They count as if reserved:
	// Release gives back those that the op does not keep.
	Body func(attr string, in []tensor.Value) ([]tensor.Value, error)
	// Repeat has that graph run again and again, each time on what the op gives it. It lasts
	// to the end of Run.
	Repeat func(attr string) (Repeat, error)
	// Stream has that graph run again and again on states that stay where they are. It
	// lasts to the end of Run.
	Stream func(attr string, l *Loop) (Stream, error)
	// BodyType is the type of output i of that graph that follows from its declarations alone.
	BodyType func(attr string, i int) graph.Type

	known described
}

// Context returns the context of the run. A session that Run runs is given it, or a context
// made of it: the inner run then goes on in the place of the outer run, whichever goroutine
// starts it, and ends with it.
func (c *Run) Context() context.Context {
	if c.Ctx == nil {
		return context.Background()
	}
	return within{c.Ctx}
}

// within is the context of an operator that runs.
type within struct{ context.Context }

type withinKey struct{}

// Value is true for withinKey.
func (w within) Value(key any) any {
	if key == (withinKey{}) {
		return true
	}
	return w.Context.Value(key)
}

// Within reports whether ctx is from Run.Context of an operator that a run runs.
func Within(ctx context.Context) bool { return ctx.Value(withinKey{}) != nil }

// Stopped reports whether the run is to end.
func (c *Run) Stopped() bool { return c.Stop != nil && c.Stop.IsSet() }

// Set makes v output i, for ops that pass values on or make other values than
// tensors. Its memory must be Go's, an input's, or a result of Body.
func (c *Run) Set(i int, v tensor.Value) { c.set(i, v, false) }

// SetSole is Set for a value to whose memory nothing else refers: a tensor of Memory.Tensor
// or New, or a result of Body.
func (c *Run) SetSole(i int, v tensor.Value) { c.set(i, v, true) }

func (c *Run) set(i int, v tensor.Value, sole bool) {
	if i < len(c.Made) {
		c.Made[i] = v
	}
	if i < len(c.Sole) {
		c.Sole[i] = sole
	}
}

// Release takes back that the values count, which Body returned or for which
// tensor.Footprint was reserved.
func (c *Run) Release(values ...tensor.Value) {
	for _, v := range values {
		// Less than before cannot be too much.
		_ = c.Mem.Reserve(-tensor.Footprint(v))
	}
}

// Flag is set when a run is to end.
type Flag interface{ IsSet() bool }

// ErrStopped is the error of an operator that ended because the run's flag was set.
var ErrStopped = errors.New("the run was ended")

// Memory is where Run gets memory from.
type Memory interface {
	// Scratch returns n bytes at a multiple of 64, not cleared, that the op may
	// use until Run returns.
	Scratch(n int) ([]byte, error)
	// Reserve counts n bytes that the op takes by other means, before it takes them.
	// They count until the run of the graph that the node is in ends, or until as
	// many negative ones are counted.
	Reserve(n int) error
	// Output makes output i of the node, not cleared, for shapes that Infer could
	// not tell.
	Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error)
	// Tensor makes a tensor that may become an output or a part of one. Its elements are
	// not set unless they are strings. It counts as if tensor.SizeOf were reserved.
	Tensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error)
}

// Has reports whether input i is there.
func (c *Run) Has(i int) bool { return i < len(c.In) && c.In[i] != nil }

// Wants reports whether output i is there.
func (c *Run) Wants(i int) bool {
	return i < len(c.Node.Outputs) && c.Node.Outputs[i] != ""
}

// Alloc makes output i, for ops whose output shape only Run finds out.
func (c *Run) Alloc(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	t, err := c.Mem.Output(i, d, shape)
	if err == nil {
		c.Out[i] = t
	}
	return t, err
}

// Ints returns the elements of an integer tensor of any rank.
func Ints(t *tensor.Tensor) ([]int, error) { return AppendInts(make([]int, 0, t.Len()), t) }

// AppendInts appends the elements of an integer tensor of any rank to a list.
func AppendInts(list []int, t *tensor.Tensor) ([]int, error) {
	switch t.DType() {
	case tensor.I64:
		return appendInts(list, tensor.View[int64](t.Aligned())), nil
	case tensor.I32:
		return appendInts(list, tensor.View[int32](t.Aligned())), nil
	case tensor.I16:
		return appendInts(list, tensor.View[int16](t.Aligned())), nil
	case tensor.I8:
		return appendInts(list, tensor.View[int8](t)), nil
	case tensor.U8:
		return appendInts(list, tensor.View[uint8](t)), nil
	}
	return nil, fmt.Errorf("%v where integers are needed", t)
}

func appendInts[T int64 | int32 | int16 | int8 | uint8](list []int, s []T) []int {
	for _, v := range s {
		list = append(list, int(v))
	}
	return list
}

// BodyTyper is an Op that can say which types the graph that an attribute holds
// takes, for files that leave them out, and whether it is ever run.
type BodyTyper interface {
	BodyTypes(attr string, in []*Value) (types []graph.Type, used bool)
}

// BodyStarter is an Op that runs a graph again and again, each time on what the run
// before gave. It says which types the first run takes.
type BodyStarter interface {
	FirstTypes(attr string, in []*Value) []graph.Type
}
