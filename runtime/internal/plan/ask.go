package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// errRoom reports a node that the session's device does not compute on memory with room.
var errRoom = errors.New("an operand is in memory with room")

// ask binds the nodes that limit the stage, before the stage chooses layouts. If a node needs the
// elements of a value, the node and its readers go to the next stage. If no device computes a node
// on memory with room, the states of the node go to plain memory. A change may limit other nodes:
// ask then asks all of them again.
func (b *builder) ask(ctx context.Context) {
	defer stages.From(ctx).Begin("plan: ask")()
	b.checkRooms()
	for b.askOnce() {
		b.checkRooms()
	}
}

// askOnce asks every node and reports whether an answer changed the stage.
func (b *builder) askOnce() (changed bool) {
	for i := range b.todo {
		x := &b.todo[i]
		if x.early, x.only = nil, false; !x.needed || !b.limits(x) {
			continue
		}
		err := b.bindEarly(x)
		var need *device.NeedValue
		switch {
		case err == nil || x.only:
		case errors.Is(err, errRoom):
			b.Lengths.demote(x)
			changed = true
		case errors.As(err, &need) && b.exposeValue(x.In[need.Input]):
			b.postpone(i)
			return true
		}
	}
	return changed
}

// limits reports whether ask must bind a node: an operand is in memory with room, or the device may
// read the elements of an input before it binds the node.
func (b *builder) limits(x *inferred) bool {
	if b.Lengths.inRoom(x) {
		return true
	}
	return !x.dynamic && !x.Row.View && slices.ContainsFunc(x.inputs(), b.isExposable) &&
		b.Program.device.Reads(b.binding(x))
}

// bindEarly binds a node in plain layouts and keeps the step in x.early. If only the accelerator
// binds the node, it sets x.only.
func (b *builder) bindEarly(x *inferred) error {
	err := errRoom
	if !x.dynamic && !b.isView(x) {
		x.early, err = b.Program.device.Bind(b.binding(x))
	}
	var refusal *device.Refusal
	if errors.As(err, &refusal) {
		if err = nil; b.Lengths.inRoom(x) {
			err = errRoom
		}
	}
	if a := b.Program.device.Accelerator(); a != nil && err != nil {
		x.only = len(b.offload(a, x)) > 1
	}
	return err
}

// postpone leaves node i of the stage, and the nodes that read its outputs, to the next stage.
func (b *builder) postpone(i int) {
	left := map[*Node]bool{b.todo[i].Node: true}
	for _, n := range b.rest {
		left[n] = true
	}
	lost := func(id int) bool { return id >= 0 && !b.ready[id] && b.values[id].Const == nil }
	b.todo = append(b.todo[:i], slices.DeleteFunc(b.todo[i:], func(x inferred) bool {
		if !left[x.Node] && !(x.needed && slices.ContainsFunc(x.In, lost)) {
			return false
		}
		left[x.Node] = true
		for _, id := range x.Out {
			if id >= 0 {
				b.ready[id] = false
			}
		}
		return true
	})...)
	b.rest = slices.DeleteFunc(slices.Clone(b.all), func(n *Node) bool { return !left[n] })
}
