package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// openingLen bounds the elements of the operands of a node in the opening.
const openingLen = 1024

// findOpening finds the opening of the stage: nodes that the session's device may compute before an
// accelerator begins, so that nothing is copied back and no command waits. They compute few numbers,
// such as positions, masks and lengths, from integers and booleans that exist when the stage begins,
// from constants and from each other. Their results are copied with the accelerator's other inputs.
func (b *builder) findOpening(a device.Accelerator) {
	launch := int(a.Launch())
	if launch == 0 {
		return
	}
	b.opening = map[int]int{}
	made := map[int]bool{}
	for i := range b.todo {
		for _, id := range b.todo[i].Out {
			made[id] = true
		}
	}
	for i := range b.todo {
		x := &b.todo[i]
		if !x.needed || !b.mayOpen(x, made) {
			continue
		}
		x.opens = true
		for _, id := range x.Out {
			if id >= 0 {
				b.opening[id] = unbounded // a copy of another length is recorded again
				if isConcrete(b.values[id].Dims) {
					b.opening[id] = launch
				}
			}
		}
		if x.unread {
			continue
		}
		for _, id := range x.In {
			if id >= 0 && !made[id] && b.values[id].Const == nil {
				b.opening[id] = launch
			}
		}
	}
}

// mayOpen reports whether a node belongs to the opening. The values in made are computed in the stage.
func (b *builder) mayOpen(x *inferred, made map[int]bool) bool {
	if x.dynamic || x.Bodies != nil || x.Row.Impure || x.Row.Random || x.Row.Work != nil || b.Lengths.inRoom(x) {
		return false
	}
	d := b.binding(x)
	x.unread = d.StoresInts() && !b.isView(x)
	if !d.OnlyNumbers() || !b.areFew(d.Out) {
		return false
	}
	if !x.unread && (!b.areFew(d.In) || slices.ContainsFunc(x.In, func(id int) bool { return !b.isOpen(id, made) })) {
		return false
	}
	if b.isView(x) {
		return x.in[0] != nil && x.in[0].Const == nil
	}
	_, err := b.Program.device.Bind(d)
	return err == nil
}

// isOpen reports whether a node of the opening may read value id.
func (b *builder) isOpen(id int, made map[int]bool) bool {
	if id < 0 || b.values[id].Const != nil {
		return true
	}
	if made[id] {
		_, ok := b.opening[id]
		return ok
	}
	v := b.values[id]
	return (v.DType.IsInteger() || v.DType == tensor.Bool) && !b.isState(id)
}

// isState reports whether the input id is a state.
func (b *builder) isState(id int) bool {
	return b.Lengths != nil && slices.ContainsFunc(b.Lengths.States, func(s State) bool { return s.In == id })
}

// areFew reports whether all values are tensors of at most openingLen elements.
func (b *builder) areFew(values []*op.Value) bool {
	return !slices.ContainsFunc(values, func(v *op.Value) bool {
		if v == nil {
			return false
		}
		shape, ok := b.Lengths.most(v.Dims)
		return v.Kind != graph.TensorType || !ok || shape.Len() > openingLen
	})
}

// openingFirst returns the order of the nodes: the nodes of the opening that the session's device
// computes, then the others.
func (a *assignment) openingFirst(chosen []bool) []int {
	order := make([]int, len(a.todo))
	for i := range order {
		order[i] = i
	}
	if a.other == device.Offloaded {
		slices.SortStableFunc(order, func(i, j int) int {
			return kit.Btoi(!a.todo[i].opens || chosen[i]) - kit.Btoi(!a.todo[j].opens || chosen[j])
		})
	}
	return order
}
