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

// Layout is the order of a value's elements in memory: plain, blocked by a number of channels, or, in
// the memory of an accelerator, plain or with channels last. Layouts exist inside a plan; tensors are
// plain.
//
// A value [N,C,...] blocked by c is the row-major array [N,⌈C/c⌉,...,c] of blocks of c channels.
// The elements of the last block after channel C-1 are padding with undefined contents: kernels may
// read and write them, but no channel depends on them.
type Layout uint8

// Plain is row-major order.
const Plain Layout = 0

// Blocked returns the layout in blocks of 3 to 255 channels.
func Blocked(channels int) Layout { return Layout(channels) }

// Block returns the channels of a block, 0 for layouts without blocks.
func (l Layout) Block() int {
	if l <= ChannelsLast {
		return 0
	}
	return int(l)
}

// IsOffloaded reports whether values are in the memory of an accelerator.
func (l Layout) IsOffloaded() bool { return l == Offloaded || l == ChannelsLast }

// String returns "plain", "offloaded", "channels last", or "blocked" and the channels of a block.
func (l Layout) String() string {
	switch l {
	case Plain:
		return "plain"
	case Offloaded:
		return "offloaded"
	case ChannelsLast:
		return "channels last"
	}
	return "blocked" + strconv.Itoa(l.Block())
}

// Extents returns the extents of the row-major array that holds a value of shape s. Blocked values,
// and values with channels last, have at least two axes.
func (l Layout) Extents(s tensor.Shape) tensor.Shape {
	if l == ChannelsLast {
		return append(append(tensor.Shape{s[0]}, s[2:]...), s[1])
	}
	if l.Block() == 0 {
		return s
	}
	list := append(make(tensor.Shape, 0, len(s)+1), s...)
	list[1] = (s[1] + l.Block() - 1) / l.Block()
	return append(list, l.Block())
}

// Bytes returns the memory of a value of shape s.
func (l Layout) Bytes(d tensor.DType, s tensor.Shape) int { return d.Bytes(l.Extents(s).Len()) }

// LayoutChoice is a choice of layouts in which a device computes a node, and the estimated time.
type LayoutChoice struct {
	In, Out []Layout // by operand; nil for all plain
	Cost    time.Duration
}

// LayoutPolicy decides which of the offered layouts a device's plans use.
type LayoutPolicy uint8

// The policies. LayoutsBlocked and LayoutsPlain are for tests and measurements.
const (
	LayoutsByCost  LayoutPolicy = iota // the layouts of the least estimated time
	LayoutsPlain                       // plain layouts
	LayoutsBlocked                     // blocked layouts wherever there are any
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

// Reorder is the operator that copies a value from one layout to another. Plans have such nodes;
// graphs do not.
type Reorder struct{}

// Infer returns the input's type and extents.
func (Reorder) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Reordering returns the binding of a node that copies value v, named input, to layout to.
func Reordering(v *op.Value, from, to Layout, input, output string) *Binding {
	name := "Reorder"
	switch {
	case from == ChannelsLast || to == ChannelsLast:
	case to == Offloaded:
		name = "Upload"
	case from == Offloaded:
		name = "Download"
	}
	n := &graph.Node{Name: strings.ToLower(name) + " " + output, Op: name, Version: 1, Inputs: []string{input},
		Outputs: []string{output}}
	return &Binding{
		Op: Reorder{}, Row: &op.Row{Name: n.Op}, Node: n, In: []*op.Value{v}, Out: []*op.Value{{Type: v.Type}},
		InLayouts: []Layout{from}, OutLayouts: []Layout{to},
	}
}
