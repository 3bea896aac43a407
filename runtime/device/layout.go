package device

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Layout is the order of a value's elements in memory: plain, blocked by a number of
// channels, or plain in the memory of an accelerator. Layouts exist inside a plan; tensors
// are plain.
//
// A value [N,C,...] blocked by c is the row-major array [N,⌈C/c⌉,...,c], whose blocks
// hold c channels each. The elements of the last block behind channel C-1 are padding.
// Their contents are undefined: kernels may read and write them, and elements of
// channels do not depend on them.
type Layout uint8

// Plain is row-major order.
const Plain Layout = 0

// Blocked returns the layout in blocks of so many channels, 2 to 255.
func Blocked(channels int) Layout { return Layout(channels) }

// Block returns the channels of a block; 0 for Plain and Offloaded.
func (l Layout) Block() int {
	if l == Offloaded {
		return 0
	}
	return int(l)
}

// String is plain, offloaded, or the word blocked and the channels of a block.
func (l Layout) String() string {
	switch l {
	case Plain:
		return "plain"
	case Offloaded:
		return "offloaded"
	}
	return "blocked" + strconv.Itoa(l.Block())
}

// Extents returns the extents of the row-major array that holds a value of that shape.
// Blocked values have two axes or more.
func (l Layout) Extents(s tensor.Shape) tensor.Shape {
	if l.Block() == 0 {
		return s
	}
	list := slices.Clone(s)
	list[1] = (s[1] + l.Block() - 1) / l.Block()
	return append(list, l.Block())
}

// Bytes returns the memory that a value of that shape takes.
func (l Layout) Bytes(d tensor.DType, s tensor.Shape) int { return d.Bytes(l.Extents(s).Len()) }

// LayoutChoice is layouts of a node's operands in which a device computes the node, and
// an estimate of the time that it takes.
type LayoutChoice struct {
	In, Out []Layout // by operand; nil for all plain
	Cost    time.Duration
}

// LayoutPolicy says which of the layouts that a device offers its plans have.
type LayoutPolicy uint8

// The policies. LayoutsBlocked and LayoutsPlain are for tests and measurements.
const (
	LayoutsByCost  LayoutPolicy = iota // those of the least estimated time
	LayoutsPlain                       // plain ones
	LayoutsBlocked                     // blocked ones wherever there are any
)

// InLayout returns the layout of input i.
func (b *Binding) InLayout(i int) Layout { return layoutOf(b.InLayouts, i) }

// OutLayout returns the layout of output i.
func (b *Binding) OutLayout(i int) Layout { return layoutOf(b.OutLayouts, i) }

// IsPlain reports whether all operands are plain.
func (b *Binding) IsPlain() bool {
	blocked := func(l Layout) bool { return l != Plain }
	return !slices.ContainsFunc(b.InLayouts, blocked) && !slices.ContainsFunc(b.OutLayouts, blocked)
}

func layoutOf(list []Layout, i int) Layout {
	if i < len(list) {
		return list[i]
	}
	return Plain
}

// Reorder is the operator that copies a value from one layout to another. Graphs have no
// such nodes; plans do.
type Reorder struct{}

// Infer keeps type and extents.
func (Reorder) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Reordering returns the binding of a node that copies value v, called input, to a layout.
func Reordering(v *op.Value, from, to Layout, input, output string) *Binding {
	name := "Reorder"
	switch {
	case to == Offloaded:
		name = "Upload"
	case from == Offloaded:
		name = "Download"
	}
	n := &graph.Node{Name: strings.ToLower(name) + " " + output, Op: name, Version: 1, Inputs: []string{input}, Outputs: []string{output}}
	return &Binding{
		Op: Reorder{}, Row: &op.Row{Name: n.Op}, Node: n, In: []*op.Value{v}, Out: []*op.Value{{Type: v.Type}},
		InLayouts: []Layout{from}, OutLayouts: []Layout{to},
	}
}
