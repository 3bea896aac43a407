package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// SummationMoves is a summation as a list of moves of values, for devices. It takes operands from
// left to right, each by one batch of products. Axes that only one of two operands has, and that
// nothing later needs, are summed first. Inputs are values 0 and up; intermediate results follow.
type SummationMoves struct {
	List   []SummationMove
	Sizes  []int // elements of the intermediate results
	Result int   // SummationOutput, or the value with the output's elements in order
}

// SummationOutput is the number of the output as a value.
const SummationOutput = -1

// SummationMove computes a value from one or two others. It writes in row-major order, except
// copies. Strides are in elements.
type SummationMove struct {
	Kind     SummationKind
	From, By int // By is the right operand of products
	To       int
	Axes     []SummationAxis // for a copy, B is the stride of the destination; for products, the batch

	M, N, K                int // a sum has M rows of K elements
	ARow, ACol, BRow, BCol int
}

// SummationKind is the operation of a move.
type SummationKind int

// The kinds.
const (
	SummationCopy SummationKind = iota
	SummationSum
	SummationProducts
)

// SummationAxis is an extent and the strides of two values along it.
type SummationAxis struct{ N, A, B int }

// SummationRules describes the needs of a device.
type SummationRules struct {
	Direct bool // sums have the output's type and may be written to it
	Rows   bool // the elements of a sum must be in rows without gaps
}

// summation builds the moves.
type summation struct {
	SummationMoves
	SummationRules
	inputs int
	output *named
}

// named is a value with named axes, each of more than one element, in any order in memory.
type named struct {
	value int
	names []rune
	axes  map[rune]namedAxis
}

type namedAxis struct{ n, step int }

// Moves returns the moves for operands of known shapes without empty axes; names and out come from
// Axes.
func (o *Einsum) Moves(
	names [][]rune, out []rune, operands []tensor.Shape, result tensor.Shape, rules SummationRules,
) (*SummationMoves, error) {
	e := &summation{SummationRules: rules, inputs: len(operands), output: namedAs(SummationOutput, out, result)}
	var acc *named
	for i, shape := range operands {
		x := namedAs(i, names[i], shape)
		if i == 0 {
			acc = x
			continue
		}
		needed := slices.Concat(append([][]rune{e.output.names}, names[i+1:]...)...) // by the result and operands to come
		var err error
		if acc, err = e.contract(acc, x, needed, i == len(operands)-1); err != nil {
			return nil, err
		}
	}
	acc, err := e.sum(acc, e.output.names, true)
	if err != nil {
		return nil, err
	}
	return &e.SummationMoves, e.finish(acc)
}

// Sums reports whether the equation adds or multiplies; names and out come from Axes.
func (o *Einsum) Sums(names [][]rune, out []rune) bool {
	return len(names) > 1 || slices.ContainsFunc(names[0], func(n rune) bool { return !slices.Contains(out, n) })
}

// namedAs returns a value under the names of its axes. A name that occurs twice stands for the
// diagonal.
func namedAs(value int, names []rune, shape tensor.Shape) *named {
	x := &named{value: value, axes: map[rune]namedAxis{}}
	steps := shape.Strides()
	for a, name := range names {
		if shape[a] == 1 {
			continue
		}
		axis, had := x.axes[name]
		if !had {
			x.names = append(x.names, name)
		}
		x.axes[name] = namedAxis{shape[a], axis.step + steps[a]}
	}
	return x
}

// result returns a new value with the named axes in row-major order: an intermediate result, or the
// output if the axes match it.
func (e *summation) result(names []rune, last bool, from ...*named) (*named, error) {
	shape := make(tensor.Shape, len(names))
	for i, name := range names {
		for _, x := range from {
			shape[i] = max(shape[i], x.axes[name].n)
		}
	}
	if err := shape.Check(); err != nil {
		return nil, graph.Errorf(graph.ErrShape, "an intermediate result: %w", err)
	}
	if last && e.Direct && slices.Equal(names, e.output.names) {
		return namedAs(SummationOutput, names, shape), nil
	}
	e.Sizes = append(e.Sizes, shape.Len())
	return namedAs(e.inputs+len(e.Sizes)-1, names, shape), nil
}

// steps returns the named axes with their steps in x and in y. An axis that a value lacks has step
// 0.
func (x *named) steps(names []rune, y *named) []SummationAxis {
	list := make([]SummationAxis, len(names))
	for i, name := range names {
		list[i] = SummationAxis{max(x.axes[name].n, y.axes[name].n), x.axes[name].step, y.axes[name].step}
	}
	return list
}

// joined merges adjacent axes into one, if their steps allow it.
func (x *named) joined(names []rune) (n, step int, ok bool) {
	n, step = 1, 1
	for i, name := range slices.Backward(names) {
		axis := x.axes[name]
		if i == len(names)-1 {
			step = axis.step
		} else if axis.step != n*step {
			return 0, 0, false
		}
		n *= axis.n
	}
	return n, step, true
}

// isRows reports whether the axes, in the given order, form a value without gaps.
func (x *named) isRows(order []rune) bool {
	_, step, ok := x.joined(order)
	return ok && (step == 1 || len(order) == 0)
}

// arranged returns x, or a copy if its axes in first or second cannot be merged into one.
func (e *summation) arranged(x *named, batch, first, second []rune) (*named, error) {
	_, _, ok := x.joined(first)
	_, _, both := x.joined(second)
	if ok && both {
		return x, nil
	}
	return e.copied(x, slices.Concat(batch, first, second))
}

// copied returns a copy of x with its axes in the given order.
func (e *summation) copied(x *named, names []rune) (*named, error) {
	y, err := e.result(names, false, x)
	if err != nil {
		return nil, err
	}
	e.copy(x, y)
	return y, nil
}

func (e *summation) copy(x, y *named) {
	e.List = append(e.List, SummationMove{Kind: SummationCopy, From: x.value, To: y.value, Axes: x.steps(y.names, y)})
}

// sum sums over the axes that are not in kept.
func (e *summation) sum(x *named, kept []rune, last bool) (*named, error) {
	var names, summed []rune
	for _, name := range x.names {
		if slices.Contains(kept, name) {
			names = append(names, name)
		} else {
			summed = append(summed, name)
		}
	}
	if summed == nil {
		return x, nil
	}
	y, err := e.result(names, last, x)
	if err != nil {
		return nil, err
	}
	order := slices.Concat(names, summed)
	switch {
	case !e.Rows:
		x, err = e.arranged(x, nil, names, summed)
	case !x.isRows(order):
		x, err = e.copied(x, order)
	}
	if err != nil {
		return nil, err
	}
	m, row, _ := x.joined(names)
	k, col, _ := x.joined(summed)
	e.List = append(e.List, SummationMove{Kind: SummationSum, From: x.value, To: y.value, M: m, K: k, ARow: row,
		ACol: col})
	return y, nil
}

// contract multiplies two operands and sums over axes that are not in needed.
func (e *summation) contract(a, b *named, needed []rune, last bool) (*named, error) {
	a, err := e.sum(a, slices.Concat(needed, b.names), false)
	if err != nil {
		return nil, err
	}
	if b, err = e.sum(b, slices.Concat(needed, a.names), false); err != nil {
		return nil, err
	}
	var batch, rows, inner, cols []rune
	for _, name := range a.names {
		switch {
		case b.axes[name].n == 0:
			rows = append(rows, name)
		case slices.Contains(needed, name):
			batch = append(batch, name)
		default:
			inner = append(inner, name)
		}
	}
	for _, name := range b.names {
		if a.axes[name].n == 0 {
			cols = append(cols, name)
		}
	}
	if a, err = e.arranged(a, batch, rows, inner); err != nil {
		return nil, err
	}
	if b, err = e.arranged(b, batch, inner, cols); err != nil {
		return nil, err
	}
	y, err := e.result(slices.Concat(batch, rows, cols), last, a, b)
	if err != nil {
		return nil, err
	}
	p := SummationMove{Kind: SummationProducts, From: a.value, By: b.value, To: y.value, Axes: a.steps(batch, b)}
	p.M, p.ARow, _ = a.joined(rows)
	p.K, p.ACol, _ = a.joined(inner)
	_, p.BRow, _ = b.joined(inner)
	p.N, p.BCol, _ = b.joined(cols)
	e.List = append(e.List, p)
	return y, nil
}

// finish puts the result in the order of the output's axes, and into the output if the sums have
// its type.
func (e *summation) finish(x *named) error {
	e.Result = x.value
	switch {
	case x.value == SummationOutput:
	case e.Direct:
		e.copy(x, e.output)
		e.Result = SummationOutput
	case !x.isRows(e.output.names):
		x, err := e.copied(x, e.output.names)
		if err != nil {
			return err
		}
		e.Result = x.value
	}
	return nil
}
