package optest

import (
	"slices"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// step makes a node larger. It reports false if it cannot: a step that reports true and changes
// nothing would be repeated for ever.
type step func(g growth) (growth, bool)

// grow applies steps that the operator accepts until a run is heavy or no step is left.
func (d *heavyDevice) grow(g growth, took time.Duration) (growth, time.Duration) {
	steps := stepsOf(g)
	for len(steps) > 0 && took < heavy {
		kept := steps[:0]
		for i, s := range steps {
			next, ok := s(g)
			if !ok {
				continue
			}
			t, _, err := d.run(next, 8*heavy)
			if err != nil {
				continue
			}
			g, took = next, t
			kept = append(kept, s)
			if took >= heavy {
				kept = append(kept, steps[i+1:]...)
				break
			}
		}
		steps = kept
	}
	// The last step may have been larger than the earlier ones.
	again, _, err := d.run(g, never)
	if err == nil {
		took = min(took, again)
	}
	return g, took
}

// stepsOf returns the ways to make a node larger: axes of equal extent together, single axes,
// texts, small integers, and attributes.
func stepsOf(g growth) []step {
	var list []step
	groups := map[int][][2]int{}
	var extents []int
	for i, x := range g.in {
		if x == nil {
			continue
		}
		for axis, n := range x.Shape() {
			if groups[n] == nil {
				extents = append(extents, n)
			}
			groups[n] = append(groups[n], [2]int{i, axis})
		}
	}
	for _, n := range extents {
		list = append(list, axesStep(groups[n]))
		if len(groups[n]) > 1 {
			for _, at := range groups[n] {
				list = append(list, axesStep([][2]int{at}))
			}
		}
	}
	first := [][2]int{}
	for i, x := range g.in {
		if x != nil && len(x.Shape()) > 0 {
			first = append(first, [2]int{i, 0})
		}
	}
	if len(first) > 0 {
		list = append(list, axesStep(first))
	}
	for i, x := range g.in {
		switch {
		case x == nil:
		case x.DType() == tensor.String:
			list = append(list, textStep(i))
		case x.DType() == tensor.I64 && x.Len() <= 4:
			list = append(list, numberStep(i))
		}
	}
	for i, a := range g.node.Attrs {
		if a.Kind == graph.AttrInt && a.Int > 1 || a.Kind == graph.AttrInts && len(a.Ints) > 0 && slices.Min(a.Ints) > 1 {
			list = append(list, attrStep(i))
		}
	}
	return list
}

// axesStep doubles axes of inputs by repeating their elements.
func axesStep(axes [][2]int) step {
	return func(g growth) (growth, bool) {
		g.in = slices.Clone(g.in)
		bytes := 0
		for _, at := range axes {
			x := doubled(g.in[at[0]], at[1])
			if x == nil {
				return g, false
			}
			g.in[at[0]] = x
		}
		for _, x := range g.in {
			if x != nil {
				bytes += tensor.SizeOf(x.DType(), x.Shape())
			}
		}
		return g, bytes <= mostHeavy
	}
}

// doubled returns a tensor with an axis repeated, or nil if that is too large.
func doubled(x *tensor.Tensor, axis int) *tensor.Tensor {
	shape := x.Shape().Clone()
	inner := shape[axis:].Len()
	shape[axis] *= 2
	width := x.DType().Bits() / 8
	if x.DType().Bits()%8 != 0 || x.Len() == 0 || tensor.SizeOf(x.DType(), shape) > mostHeavy {
		return nil
	}
	y := tensor.New(x.DType(), shape...)
	for at := 0; at < x.Len(); at += inner {
		for k := range 2 {
			if x.DType() == tensor.String {
				copy(y.Strings()[2*at+k*inner:], x.Strings()[at:at+inner])
			} else {
				copy(y.Bytes()[(2*at+k*inner)*width:], x.Bytes()[at*width:(at+inner)*width])
			}
		}
	}
	return y
}

// textStep doubles every text of an input.
func textStep(i int) step {
	return func(g growth) (growth, bool) {
		g.in = slices.Clone(g.in)
		x := g.in[i].Clone()
		bytes := 0
		for k, s := range x.Strings() {
			x.Strings()[k] = s + s
			bytes += 2 * len(s)
		}
		g.in[i] = x
		return g, bytes > 0 && bytes <= mostHeavy/4
	}
}

// numberStep doubles the elements of an input.
func numberStep(i int) step {
	return func(g growth) (growth, bool) {
		g.in = slices.Clone(g.in)
		x := g.in[i].Clone()
		for k := range tensor.View[int64](x) {
			tensor.View[int64](x)[k] *= 2
		}
		g.in[i] = x
		return g, slices.ContainsFunc(tensor.View[int64](x), func(v int64) bool { return v > 1 && v < mostHeavy })
	}
}

// attrStep doubles the integers of an attribute.
func attrStep(i int) step {
	return func(g growth) (growth, bool) {
		n := *g.node
		n.Attrs = slices.Clone(n.Attrs)
		a := *n.Attrs[i]
		a.Int *= 2
		a.Ints = slices.Clone(a.Ints)
		for k := range a.Ints {
			a.Ints[k] *= 2
		}
		n.Attrs[i] = &a
		g.node = &n
		return g, a.Int < mostHeavy && (len(a.Ints) == 0 || slices.Max(a.Ints) < mostHeavy)
	}
}
