package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseRotary makes RotaryEmbedding of its parts: a value times cosines, and its
// halves swapped, the second with its sign changed, times sines; or the same with
// pairs of neighbours for halves. Cosines and sines are as wide as what is turned
// and hold each number twice; where that is certain the operator gets them once.
// A part of each head may turn alone. Where heads were split off by Reshape and
// Transpose before, those come after, so that attention can take them over.
func fuseRotary(s *Scope) (*Edit, error) {
	w := &rotaryWriter{finder: newFinder(s), caches: map[string]string{}}
	for _, n := range w.live {
		if r, ok := w.rotation(n); ok {
			w.write(r)
		}
	}
	return w.result()
}

// rotation is what the parts compute.
type rotation struct {
	x           string
	cos, sin    string
	interleaved bool // neighbours turn, not halves
	half        bool // the caches hold each number once
	size        int  // elements of each head that turn
	nodes       []*graph.Node
	end         *graph.Node
}

// rotation finds the parts that end in n.
func (f *finder) rotation(n *graph.Node) (r rotation, ok bool) {
	switch {
	case is(n, "Add"):
		r, ok = f.swapped(n)
	case is(n, "Concat"):
		r, ok = f.halves(n)
	}
	if !ok {
		return r, false
	}
	r.end = n
	f.partial(&r)
	return r, f.inside(r.end, r.nodes...)
}

// swapped sees a sum as x·cos + y·sin, y being x with its halves swapped.
func (f *finder) swapped(n *graph.Node) (r rotation, ok bool) {
	for i := range 2 {
		a, b := f.from(n.Inputs[i], "Mul"), f.from(n.Inputs[1-i], "Mul")
		if a == nil || b == nil {
			continue
		}
		for k := range 2 {
			if r, ok = f.swap(b.Inputs[k]); !ok {
				continue
			}
			r.sin, r.nodes = b.Inputs[1-k], append(r.nodes, a, b)
			switch {
			case f.is(a.Inputs[0], r.x):
				r.cos = a.Inputs[1]
			case f.is(a.Inputs[1], r.x):
				r.cos = a.Inputs[0]
			default:
				continue
			}
			return r, f.repeats(r.cos, r.interleaved, 0) && f.repeats(r.sin, r.interleaved, 0)
		}
	}
	return r, false
}

// swap sees a value as another with its halves swapped and the sign of the second
// changed, or that with neighbours.
func (f *finder) swap(name string) (r rotation, ok bool) {
	join := f.from(name, "Concat")
	wrap := func(name string) string { return name }
	if flat := f.from(name, "Reshape"); flat != nil {
		join = f.from(flat.Inputs[0], "Concat")
		r.interleaved, r.nodes = true, []*graph.Node{flat}
		wrap = func(name string) string {
			n := f.from(name, "Unsqueeze")
			axes, ok := []int(nil), false
			if n != nil {
				axes, ok = f.ints(n, "axes", 1)
			}
			if !ok || len(axes) != 1 || axes[0] != -1 && axes[0] != len(f.dims(name))-1 {
				return ""
			}
			r.nodes = append(r.nodes, n)
			return n.Inputs[0]
		}
	}
	if join == nil || len(join.Inputs) != 2 || !f.last(join, join.Inputs[0]) {
		return r, false
	}
	neg := f.from(wrap(join.Inputs[0]), "Neg")
	if neg == nil {
		return r, false
	}
	first, ok1 := f.cut(wrap(join.Inputs[1]))
	second, ok2 := f.cut(neg.Inputs[0])
	if !ok1 || !ok2 || !f.is(first.of, second.of) || !f.has(name, f.dims(first.of)) {
		return r, false
	}
	r.x, r.size = first.of, first.extent
	r.nodes = append(r.nodes, join, neg, first.node, second.node)
	return r, r.size%2 == 0 && first.takes(0, r.interleaved) && second.takes(1, r.interleaved)
}

// halves sees Concat as [x1·cos - x2·sin, x2·cos + x1·sin], x1 and x2 being the
// halves of a value.
func (f *finder) halves(n *graph.Node) (r rotation, ok bool) {
	if len(n.Inputs) != 2 || !f.last(n, n.Outputs[0]) {
		return r, false
	}
	sub, add := f.from(n.Inputs[0], "Sub"), f.from(n.Inputs[1], "Add")
	if sub == nil || add == nil {
		return r, false
	}
	r.nodes = []*graph.Node{sub, add}
	var list []*graph.Node // x1·cos, x2·sin, and in either order x2·cos, x1·sin
	for _, name := range slices.Concat(sub.Inputs, add.Inputs) {
		m := f.from(name, "Mul")
		if m == nil {
			return r, false
		}
		list = append(list, m)
	}
	r.nodes, r.half = append(r.nodes, list...), true
	for k := range 4 {
		x1, x2 := list[0].Inputs[k%2], list[1].Inputs[k/2]
		cos, sin := list[0].Inputs[1-k%2], list[1].Inputs[1-k/2]
		if !f.multiplies(list[2], x2, cos) || !f.multiplies(list[3], x1, sin) {
			if !f.multiplies(list[3], x2, cos) || !f.multiplies(list[2], x1, sin) {
				continue
			}
		}
		first, ok1 := f.cut(x1)
		second, ok2 := f.cut(x2)
		if ok1 && ok2 && f.is(first.of, second.of) && first.extent%2 == 0 && first.takes(0, false) && second.takes(1, false) {
			r.x, r.cos, r.sin, r.size = first.of, cos, sin, first.extent
			r.nodes = append(r.nodes, first.node, second.node)
			return r, true
		}
	}
	return r, false
}

// multiplies reports whether a node is the product of these two.
func (f *finder) multiplies(n *graph.Node, a, b string) bool {
	return f.is(n.Inputs[0], a) && f.is(n.Inputs[1], b) || f.is(n.Inputs[0], b) && f.is(n.Inputs[1], a)
}

// partial takes into the rotation that it is of the first elements of heads, the
// rest of which is put behind it again.
func (f *finder) partial(r *rotation) {
	join := f.reader(r.end)
	first, ok := f.cut(r.x)
	if !is(join, "Concat") || !ok || len(join.Inputs) != 2 || !f.is(join.Inputs[0], r.end.Outputs[0]) || !f.last(join, first.of) {
		return
	}
	rest, ok := f.cut(join.Inputs[1])
	if !ok || !f.is(rest.of, first.of) || first.start != 0 || first.step != 1 || rest.step != 1 || rest.start != first.end || rest.end != rest.extent {
		return
	}
	r.x, r.nodes, r.end = first.of, append(r.nodes, r.end, first.node, rest.node), join
}
