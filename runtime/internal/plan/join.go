package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// join merges two nodes of the session's device if the device can compute both in one step. The
// value between them is then never stored.
func (b *builder) join() {
	reads := make([]int, len(b.values))
	read := func(id int) {
		if id >= 0 {
			reads[id]++
		}
	}
	from := make([]int, len(b.values)) // by value id: the index in todo of the node that computes it, plus 1
	for i := range b.todo {
		x := &b.todo[i]
		if !x.needed {
			continue
		}
		for _, id := range x.In {
			read(id)
		}
		for _, id := range x.Out {
			if id >= 0 {
				from[id] = i + 1
			}
		}
	}
	b.eachLeft(read)
	for i := range b.todo {
		second := &b.todo[i]
		if !second.joins() || second.In[0] < 0 || reads[second.In[0]] != 1 || from[second.In[0]] == 0 {
			continue
		}
		if first := &b.todo[from[second.In[0]]-1]; first.joins() && len(first.Out) == 1 {
			if d := b.Program.device.Join(b.binding(first), b.binding(second)); d != nil {
				second.become(d, slices.Concat(first.In, second.In[1:]))
				first.needed = false
			}
		}
	}
}

// joins reports whether a node may be merged with another.
func (x *inferred) joins() bool {
	return x.needed && !x.dynamic && !x.Row.View && !x.isOffloaded() && len(x.In) > 0 && len(x.In) == len(x.Node.Inputs)
}

// become replaces the node by the node of a binding that reads the values in.
func (x *inferred) become(d *device.Binding, in []int) {
	x.Node = &Node{Node: d.Node, Op: d.Op, Row: d.Row, In: in, Out: x.Out}
	x.in, x.inLayouts, x.outLayouts, x.early = d.In, d.InLayouts, d.OutLayouts, nil
}
