package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// offload returns the choices for a node between the session's device and an accelerator. If there
// is no choice, it sets x.stays to the reason.
func (b *builder) offload(a device.Accelerator, x *inferred) []device.LayoutChoice {
	d := b.binding(x)
	if x.dynamic {
		x.most = x.counted()
		d.Out = x.most
	}
	x.unread = d.StoresInts() && !b.isView(x)
	if why := b.keptBack(x, d); why != "" {
		x.stays = why
		return nil
	}
	d.InLayouts, d.OutLayouts = device.OffloadLayouts(d.In), device.OffloadLayouts(d.Out)
	if b.isView(x) {
		for i := range d.InLayouts[1:] {
			d.InLayouts[1+i] = device.Plain
		}
		return []device.LayoutChoice{{}, {In: d.InLayouts, Out: d.OutLayouts}}
	}
	if x.unread {
		d.InLayouts = nil
	}
	step, err := a.Bind(d)
	if err != nil && !device.Refused(err) {
		x.defect = fmt.Errorf("%s: %w", a.Name(), err)
	}
	if err != nil {
		x.stays = refusal(err)
		return nil
	}
	x.offloaded = step
	if x.most != nil {
		d.OutLayouts = nil // the results are copied at the end of the stage in any case
	}
	own := b.elsewhere(d, step)
	choices := []device.LayoutChoice{{Cost: a.Saves(own)}, {In: d.InLayouts, Out: d.OutLayouts}}
	switch {
	case x.only:
		choices[0].Cost = unbounded
	case x.opens:
		choices[0].Cost, choices[1].Cost = own, time.Duration(len(step.Commands))*a.Launch()
	}
	return choices
}

// order returns the choices for a node on an accelerator between channels first and last.
func (b *builder) order(a device.Accelerator, x *inferred) []device.LayoutChoice {
	held := func(id int) bool { return id >= 0 && b.isInState(id) }
	if x.dynamic || x.most != nil || b.isView(x) || slices.ContainsFunc(slices.Concat(x.In, x.Out), held) {
		return nil
	}
	return a.Layouts(b.binding(x))
}

// elsewhere returns the time that the session's device takes for the node of an accelerator's step.
// Constants that the step copies few elements of do not count.
func (b *builder) elsewhere(d *device.Binding, s *device.Step) time.Duration {
	bytes := 0
	count := func(v *op.Value) {
		if v != nil && v.Kind == graph.TensorType {
			most, _ := d.Max(v.Dims.Len())
			bytes += v.DType.Bytes(most)
		}
	}
	for i, v := range d.In {
		if !s.Scatters(i) {
			count(v)
		}
	}
	for _, v := range d.Out {
		count(v)
	}
	return b.Program.device.Estimate(s.Work, bytes)
}

// refusal returns the reason why an accelerator does not compute a node.
func refusal(err error) string {
	var need *device.NeedValue
	if errors.As(err, &need) {
		return fmt.Sprintf("the elements of input %d are known only while running", need.Input)
	}
	return err.Error()
}

// isView reports whether a node only reshapes its input.
func (b *builder) isView(x *inferred) bool {
	return x.Row.View && len(x.Out) == 1 && x.out[0].Kind == graph.TensorType
}

// keptBack returns the reason why a node must stay on the session's device; empty if it may run on
// an accelerator.
func (b *builder) keptBack(x *inferred, d *device.Binding) string {
	switch {
	case x.dynamic && x.most == nil:
		return "extents of its outputs are known only while running"
	case x.Bodies != nil:
		return "it runs graphs"
	case !d.OnlyNumbers():
		return "not all of its operands are tensors of numbers"
	case b.Lengths.inRoom(x) && b.isView(x):
		return "it is a view of a state in memory with more room than its value"
	case b.isView(x) && (x.in[0] == nil || x.in[0].Const != nil):
		return "it is a view of a constant"
	}
	list := d.Out
	if !x.unread {
		list = slices.Concat(d.Out, d.In)
	}
	for i, v := range list {
		if v == nil || v.Const != nil {
			continue
		}
		shape, ok := b.Lengths.most(v.Dims)
		switch {
		case !ok:
			return "extents are known only while running"
		case v.DType == tensor.String:
			return fmt.Sprintf("elements of type %v", v.DType)
		case v.DType.Bits()%8 != 0 && !isConcrete(v.Dims):
			return fmt.Sprintf("elements of type %v; their number is known only while running", v.DType)
		case shape.Len() == 0 && i < len(d.Out):
			return "it has no elements"
		}
	}
	return ""
}

// isInState reports whether a value is a state in memory with room or a state that an accelerator
// holds. Such a value is never copied: its memory belongs to the device with the nodes that read
// it.
func (b *builder) isInState(id int) bool {
	return b.Lengths.of(id) >= 0 ||
		b.Lengths != nil && slices.ContainsFunc(b.Lengths.States, func(s State) bool { return s.Offloaded && s.In == id })
}

// holdFixed finds the states without a growing axis that can stay in the accelerator's memory. Only
// nodes there may read the state, and they must compute its next value, which nothing else reads.
func (a *assignment) holdFixed(chosen []bool) {
	if a.Lengths == nil {
		return
	}
	for i := range a.Lengths.States {
		s := &a.Lengths.States[i]
		s.Offloaded = s.Axis < 0 && a.Done() && s.In != s.Out && !a.expose[s.Out] && a.isOne(s.Out) &&
			a.sameValue(s.In, s.Out) &&
			a.onlyThere(chosen, s.In, s.Out)
	}
}

// isOne reports whether a value is exactly one result of the program.
func (a *assignment) isOne(id int) bool {
	n := 0
	for _, x := range a.Program.Outputs {
		if x == id {
			n++
		}
	}
	return n == 1
}

// sameValue reports whether two values have equal types and extents, and the extents are numbers.
func (a *assignment) sameValue(id, other int) bool {
	v, w := a.values[id], a.values[other]
	s, ok := v.Dims.Concrete()
	t, known := w.Dims.Concrete()
	return ok && known && v.Const == nil && w.Const == nil && v.DType == w.DType && s.Equal(t) && s.Len() > 0
}

// onlyThere reports whether only nodes on the accelerator read in and out, and one of them computes
// out.
func (a *assignment) onlyThere(chosen []bool, in, out int) bool {
	read, made := false, false
	for i := range a.todo {
		x := &a.todo[i]
		if !x.needed {
			continue
		}
		for k, id := range x.In {
			if id != in && id != out {
				continue
			}
			if !chosen[i] || a.choices[i][1].In[k] == device.Plain {
				return false
			}
			read = read || id == in
		}
		for k, id := range x.Out {
			if id == out {
				made = chosen[i] && a.choices[i][1].Out[k] != device.Plain
			}
		}
	}
	return read && made
}

// replaceFixed adds copies of results over the states in the accelerator's memory that they
// replace.
func (a *assignment) replaceFixed() {
	if a.Lengths == nil {
		return
	}
	for i := range a.Lengths.States {
		if s := &a.Lengths.States[i]; s.Offloaded && a.missing[s.Out] {
			delete(a.missing, s.Out)
			s.from = a.blocked[s.Out]
			a.Slots[s.Out].Layout = a.other
			a.reorder(a.blocked[s.Out], s.Out, a.other, a.other)
		}
	}
}

// holdTogether makes the nodes that touch a state in memory with room compute on one device.
func (a *assignment) holdTogether(c *cut) {
	touch := map[int]int{} // the vertex of a node, by state
	for i := range a.todo {
		x := &a.todo[i]
		if !x.needed {
			continue
		}
		for _, id := range slices.Concat(x.In, x.Out) {
			s := a.Lengths.of(id)
			if s < 0 {
				continue
			}
			v := a.vertex[i]
			w, ok := touch[s]
			touch[s] = v
			if ok && v != w {
				c.edge(v, w, unbounded)
				c.edge(w, v, unbounded)
			}
		}
	}
}

func isConcrete(d graph.Dims) bool {
	_, ok := d.Concrete()
	return ok
}
