// Package op says how operators are written.
//
// # Writing an operator
//
// An operator is a type with two methods, and a Row that describes it. Infer says which types and
// extents the outputs have; Run, of a Runner, computes them:
//
//	type double struct{}
//
//	func (double) Infer(c *op.Infer) error { c.Set(0, c.In[0].DType, c.In[0].Dims); return nil }
//
//	func (double) Run(c *op.Run) error {
//		y := tensor.View[float32](c.Out[0])
//		for i, x := range tensor.View[float32](c.In[0]) {
//			y[i] = 2 * x
//		}
//		return nil
//	}
//
//	var row = op.Row{
//		Domain: "org.example", Name: "Double", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
//		Types: op.Types{tensor.F32}, New: func(*op.Node) (op.Op, error) { return double{}, nil },
//	}
//
// A program registers the row beside the operators of the standards, which package standard has, and
// gives the registry to its sessions as Options.Operators. New reads the attributes of a node; Node
// has a method for each kind. The program examples/operator is whole.
//
// The inputs of Infer are types: DType and Dims are fields, and an extent may be open. The inputs of
// Run are tensors: DType and Shape are methods. An operator whose result has another shape sets it,
// such as c.Set(0, tensor.F32, graph.Dims{c.In[0].Dims[0], graph.Known(1)}).
//
// # Rows
//
// A Row has the operator's name and versions, its element types, its memory rules, and New. Nothing
// else defines the meaning of an operator. The package is for programs that bring operators of their
// own. A file that defines an operator has, in this order, attributes, shape rule, execution, rows.
package op

import (
	"context"
	"errors"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Op is an operator bound to the attributes of one node. It is immutable, and many goroutines may
// call its methods at once. Errors say what is wrong; the caller adds node, operator and input
// types.
type Op interface {
	// Infer sets type and extents of every output from the inputs. It always sets the element type,
	// and extents as far as they follow. If all inputs are fully known, it must yield numbers,
	// unless the extents depend on elements in a way that only Run computes.
	Infer(c *Infer) error
}

// Runner is an Op that computes its outputs in Go. Other ops run on devices only.
type Runner interface {
	Op
	// Run computes the outputs.
	Run(c *Run) error
}

// Any is a count without limit in Row.In and Row.Out.
const Any = -1

// Row describes one operator of a domain, in all its versions.
type Row struct {
	Domain string
	Name   string
	Since  []int  // every version that changed it, ascending
	In     [2]int // fewest and most inputs; Any for no limit
	Out    [2]int // fewest and most outputs
	Types  Types  // element types that input Typed may have; nil for all
	Typed  int    // the input that Types restricts
	// Blocks reports whether inputs may have types of blocks. Other operators take none.
	Blocks bool
	// Kinds reports whether inputs may be sequences, optionals and maps. Other operators take
	// tensors only.
	Kinds bool
	// Optional reports whether a node may leave out a required input, as in Arity.
	Optional func(input int) bool
	// Later has the inputs of later versions that differ, ascending.
	Later []Arity
	// InPlace lists inputs with memory that output 0 may take over. The planner does so if the
	// input has the shape and element size of output 0 and is not used afterwards, so Run must work
	// if Out[0] and that input share their bytes.
	InPlace []int
	// DynamicOutputs reports whether Run makes every output by Alloc or Set. None is allocated
	// before.
	DynamicOutputs bool
	// View reports whether output 0 has the bytes of input 0. Run is then called only for further
	// outputs, if any, with Out[0] already set.
	View bool
	// Selects reports whether every element of output 0 is an element of input 0, found by its
	// position or as the largest of several. A View selects all elements.
	Selects bool
	// Impure reports whether Run may yield different results from the same inputs. Such nodes are
	// never folded.
	Impure bool
	// Random reports whether Run draws numbers from a generator that no standard fixes. Only types
	// and shapes of two results can then be compared.
	Random bool
	// Elementwise reports whether an element of output 0 follows from the elements of the inputs at
	// its position, once the inputs are broadcast to one shape.
	Elementwise bool
	// Rowwise tells which inputs are read row by row, for operators that are not Elementwise; nil
	// for none.
	Rowwise Rowwise
	// Items tells how a node keeps the items of a batch apart, for operators that are not
	// Elementwise; nil if it may mix them.
	Items Items
	// Work returns the multiplications and additions of a run with operands of the given shapes, nil
	// for those left out. It is nil for operators other than convolutions, products and recurrent
	// layers.
	Work func(in, out []tensor.Shape) float64
	// Derivative is the rule of differentiation; nil for none. Flat reports whether the derivative
	// is zero or undefined.
	Derivative Derivative
	Flat       bool
	// Generates reports whether elements follow from a few numbers and their indices, so that a
	// device fills memory with them faster than it copies them.
	Generates bool
	// Heap is the number of bytes of Go's heap, per element of inputs and outputs, that Run takes
	// besides the memory that Mem counts. A Run that lists elements as float64 takes 8.
	Heap int
	New  func(n *Node) (Op, error)
}

// Rowwise returns the inputs of a node that are read row by row: matrix row i of every output,
// along the last axis but one, needs matrix row i of these inputs and the whole of the others. It
// returns nil if the node mixes matrix rows. Inputs left out are nil; rank is the number of axes of
// output 0, at least 2.
type Rowwise func(n *graph.Node, in []*Value, rank int) []int

// Items returns, for every output of a node, the axis along which the items of a batch are apart, or
// nil if the node mixes items. Input at holds the axis of every input, or Shared or Sized. The extent
// of such an axis is a multiple of the number of items: it consists of equal parts, one for each item
// in order. An element in part i of an output depends on elements in part i of inputs and on shared
// inputs, and not on the number of items. Inputs left out are nil, and Shared.
type Items func(n *graph.Node, in []*Value, at []int, out []*Value) []int

// The values of Items for inputs without an axis of items.
const (
	Shared = -1 // the input is the same, whatever the batch
	Sized  = -2 // the input depends on the number of items alone
)

// Value describes an operand before it is computed.
type Value struct {
	graph.Type
	// Const is the value itself, if known.
	Const *tensor.Tensor
	// Ints are the elements of an integer scalar or vector as expressions, for example if a shape
	// is computed from symbols.
	Ints []graph.Dim
}

// IntVec returns the elements of an integer scalar or vector as extents, from Const or Ints. ok is
// false if the elements are unknown or more than MaxInts.
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

// Rank returns the number of axes, if known.
func (v *Value) Rank() (int, bool) { return len(v.Dims), v.Dims != nil }

// Infer has the operands of one node while types and extents are inferred.
type Infer struct {
	In  []*Value // nil if an input is left out
	Out []*Value // one per output of the node, to be filled; never nil
	// Body infers the outputs of the graph in an attribute of the node.
	Body func(attr string, in []*Value) ([]*Value, error)
}

// Has reports whether input i is present.
func (c *Infer) Has(i int) bool { return i < len(c.In) && c.In[i] != nil }

// Set sets the type and extents of output i, if the node has it. Nil dims mean an unknown rank.
func (c *Infer) Set(i int, d tensor.DType, dims graph.Dims) {
	if i < len(c.Out) {
		c.Out[i].Type = graph.TensorOf(d, slices.Clone(dims))
	}
}

// SetType sets the type of output i, of any kind, if the node has it.
func (c *Infer) SetType(i int, t graph.Type) {
	if i < len(c.Out) {
		c.Out[i].Type = t
	}
}

// Run has the operands of one node while it is computed.
type Run struct {
	In     []*tensor.Tensor // nil if an input is left out or is not a tensor
	Values []tensor.Value   // every input, of any kind; nil if it is left out
	Out    []*tensor.Tensor // nil if an output is left out or was not inferred
	Made   []tensor.Value   // outputs of other kinds, and tensors made elsewhere
	Sole   []bool           // by output: nothing else refers to the memory of the value
	Mem    Memory
	Stop   Flag // nil if nothing can end the run
	// Ctx is the context of the run that the node is in; it is nil outside a run.
	Ctx  context.Context
	Node *graph.Node
	// Threads is the number of goroutines that Parallel may use; 0 means 1.
	Threads int
	// Body runs the graph in an attribute of the node. It does not change its inputs, and its
	// results share no memory with them. The results count as reserved; Release gives back results
	// that the op does not keep.
	Body func(attr string, in []tensor.Value) ([]tensor.Value, error)
	// Repeat returns a series of runs of that graph, each on inputs that the op gives it. It is
	// valid until Run returns.
	Repeat func(attr string) (Repeat, error)
	// Stream returns a series of runs of that graph on states that keep their memory. It is valid
	// until Run returns.
	Stream func(attr string, l *Loop) (Stream, error)
	// BodyType returns the type of output i of that graph as its declarations alone give it.
	BodyType func(attr string, i int) graph.Type

	known described
}

// Context returns the context of the run. An op passes it, or a context derived from it, to
// sessions that it runs. Such an inner run does not wait to begin, whichever goroutine starts it,
// and it ends with the outer run.
func (c *Run) Context() context.Context {
	if c.Ctx == nil {
		return context.Background()
	}
	return within{c.Ctx}
}

// within is the context of a running operator.
type within struct{ context.Context }

type withinKey struct{}

// Value returns true for withinKey.
func (w within) Value(key any) any {
	if key == (withinKey{}) {
		return true
	}
	return w.Context.Value(key)
}

// Within reports whether ctx comes from Run.Context of an operator in a run.
func Within(ctx context.Context) bool { return ctx.Value(withinKey{}) != nil }

// Stopped reports whether the run must end.
func (c *Run) Stopped() bool { return c.Stop != nil && c.Stop.IsSet() }

// Set makes v output i. It is for ops that pass values on or make values other than tensors. The
// memory of v must be Go's, an input's, or a result of Body.
func (c *Run) Set(i int, v tensor.Value) { c.set(i, v, false) }

// SetSole is Set for a value with memory that nothing else refers to: a tensor of Memory.Tensor or
// New, or a result of Body.
func (c *Run) SetSole(i int, v tensor.Value) { c.set(i, v, true) }

func (c *Run) set(i int, v tensor.Value, sole bool) {
	if i < len(c.Made) {
		c.Made[i] = v
	}
	if i < len(c.Sole) {
		c.Sole[i] = sole
	}
}

// Release ends the reservation of values that Body returned or for which tensor.Footprint was
// reserved.
func (c *Run) Release(values ...tensor.Value) {
	for _, v := range values {
		// Releasing memory cannot exceed a limit.
		_ = c.Mem.Reserve(-tensor.Footprint(v))
	}
}

// Flag reports whether a run must end.
type Flag interface{ IsSet() bool }

// ErrStopped is the error of an operator that ended because the flag of the run was set.
var ErrStopped = errors.New("the run was ended")

// Memory provides the memory of Run.
type Memory interface {
	// Scratch returns n bytes, 64-byte aligned and not cleared, that the op may use until Run
	// returns.
	Scratch(n int) ([]byte, error)
	// Reserve counts n bytes that the op is about to take by other means. They count until the run
	// of the graph that the node is in ends, or until a call with -n.
	Reserve(n int) error
	// Output makes output i of the node, not cleared, if Infer could not tell its shape.
	Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error)
	// Tensor makes a tensor that may become an output or a part of one. Its elements are not set
	// unless they are strings. It counts as a reservation of tensor.SizeOf.
	Tensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error)
}

// Has reports whether input i is present.
func (c *Run) Has(i int) bool { return i < len(c.In) && c.In[i] != nil }

// Wants reports whether the node has output i.
func (c *Run) Wants(i int) bool {
	return i < len(c.Node.Outputs) && c.Node.Outputs[i] != ""
}

// Alloc makes output i. It is for ops with an output shape that only Run computes.
func (c *Run) Alloc(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	t, err := c.Mem.Output(i, d, shape)
	if err == nil {
		c.Out[i] = t
	}
	return t, err
}

// BodyTyper is an Op that knows the types that the graph in an attribute takes, for files that
// leave them out, and whether the graph is ever run.
type BodyTyper interface {
	BodyTypes(attr string, in []*Value) (types []graph.Type, used bool)
}

// BodyStarter is an Op that runs a graph repeatedly, each time on the results of the run before. It
// returns the types that the first run takes.
type BodyStarter interface {
	FirstTypes(attr string, in []*Value) []graph.Type
}
