package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// norm is a normalisation over the last axes found in a graph: a value, less its
// mean if it is centred, over the root of the mean square and epsilon.
type norm struct {
	x       string
	axes    int // how many are normalised
	epsilon float64
	centred bool
	wide    bool // the elements are cast between
	nodes   []*graph.Node
	end     *graph.Node // computes the result
	scale   string      // "" for none
	bias    string
}

// inverse sees a value as 1 over the square root of another.
func (f *finder) inverse(name string) (of string, nodes []*graph.Node) {
	n := f.from(name, "Reciprocal", "Div", "Pow")
	switch {
	case n == nil:
		return "", nil
	case n.Op == "Pow":
		if c, ok := f.numberFor(n, 1); !ok || c != -0.5 {
			return "", nil
		}
		return n.Inputs[0], []*graph.Node{n}
	case n.Op == "Div":
		if c, ok := f.numberFor(n, 0); !ok || c != 1 {
			return "", nil
		}
	}
	root := f.from(n.Inputs[len(n.Inputs)-1], "Sqrt")
	if root == nil {
		return "", nil
	}
	return root.Inputs[0], []*graph.Node{n, root}
}

// square returns what a value is the square of.
func (f *finder) square(name string) (of string, n *graph.Node) {
	switch n = f.from(name, "Pow", "Mul"); {
	case n == nil || len(n.Inputs) != 2:
	case n.Op == "Mul" && f.is(n.Inputs[0], n.Inputs[1]):
		return n.Inputs[0], n
	case n.Op == "Pow":
		if c, ok := f.numberFor(n, 1); ok && c == 2 {
			return n.Inputs[0], n
		}
	}
	return "", nil
}

// mean returns what a value is the mean of, over its last axes, which stay with
// an extent of 1.
func (f *finder) mean(name string) (of string, axes int, n *graph.Node) {
	n = f.from(name, "ReduceMean")
	if n == nil {
		return "", 0, nil
	}
	if keep := n.Attr("keepdims"); keep != nil && keep.Int != 1 {
		return "", 0, nil
	}
	list, _ := f.ints(n, "axes", 1)
	rank := len(f.dims(n.Inputs[0]))
	for i, a := range list {
		if a >= 0 {
			if a -= rank; rank == 0 {
				return "", 0, nil
			}
		}
		list[i] = a
	}
	slices.Sort(list)
	for i, a := range list {
		if a != i-len(list) {
			return "", 0, nil
		}
	}
	if len(list) == 0 {
		return "", 0, nil
	}
	return n.Inputs[0], len(list), n
}

// centre sees a value as another less its mean; wide says that it is cast after
// that.
func (f *finder) centre(name string) (of string, axes int, wide bool, nodes []*graph.Node) {
	sub := f.from(name, "Sub")
	if cast := f.from(name, "Cast"); cast != nil && (f.dtype(name) == tensor.F32 || f.dtype(name) == tensor.F64) {
		sub, wide, nodes = f.from(cast.Inputs[0], "Sub"), true, []*graph.Node{cast}
	}
	if sub == nil {
		return "", 0, false, nil
	}
	of, axes, mean := f.mean(sub.Inputs[1])
	if mean == nil || !f.is(of, sub.Inputs[0]) {
		return "", 0, false, nil
	}
	return of, axes, wide, append(nodes, sub, mean)
}

// deviation sees a value as the mean square of another and epsilon. What is
// squared is centred when that other less its mean is.
func (f *finder) deviation(name string) (s norm, ok bool) {
	add := f.from(name, "Add")
	if add == nil {
		return s, false
	}
	var variance string
	if variance, s.epsilon, ok = f.split(add); !ok {
		return s, false
	}
	squared, axes, mean := f.mean(variance)
	if mean == nil {
		return s, false
	}
	x, square := f.square(squared)
	if square == nil {
		return s, false
	}
	s.x, s.axes, s.nodes = x, axes, []*graph.Node{add, mean, square}
	if of, n, wide, nodes := f.centre(x); n == axes {
		s.x, s.centred, s.wide, s.nodes = of, true, wide, append(s.nodes, nodes...)
	}
	return s, true
}

// normalized finds the normalisation whose last node, before a scale and a bias,
// is n.
func (f *finder) normalized(n *graph.Node) (s norm, ok bool) {
	if !is(n, "Div", "Mul") || len(n.Inputs) != 2 {
		return s, false
	}
	var over string // what is normalised, the mean taken off
	if n.Op == "Div" {
		root := f.from(n.Inputs[1], "Sqrt")
		if root == nil {
			return s, false
		}
		if s, ok = f.deviation(root.Inputs[0]); !ok {
			return s, false
		}
		over, s.nodes = n.Inputs[0], append(s.nodes, root)
	} else {
		for i := range 2 {
			of, nodes := f.inverse(n.Inputs[i])
			if nodes == nil {
				continue
			}
			if s, ok = f.deviation(of); ok {
				over, s.nodes = n.Inputs[1-i], append(s.nodes, nodes...)
				break
			}
		}
		if !ok {
			return s, false
		}
	}
	s.end = n
	if !s.centred {
		return s, f.is(over, s.x)
	}
	// The mean may have been taken off twice.
	x, axes, wide, nodes := f.centre(over)
	if axes != s.axes || wide != s.wide || !f.is(x, s.x) {
		return s, false
	}
	s.nodes = append(s.nodes, nodes...)
	return s, !s.wide || f.back(&s)
}

// back takes the Cast that follows, to the type of what is normalised, into the
// normalisation.
func (f *finder) back(s *norm) bool {
	cast := f.reader(s.end)
	if !is(cast, "Cast") || f.dtype(cast.Outputs[0]) != f.dtype(s.x) {
		return false
	}
	s.nodes, s.end = append(slices.Clone(s.nodes), s.end), cast
	return true
}

// maxNorms bounds the normalisations that have a part in common.
const maxNorms = 8

// parameters returns the normalisation with the scale, and the bias if the
// operator has one, that follow; several if it is scaled in several ways, as the
// common part of two normalisations of one value is.
func (f *finder) parameters(s norm, bias bool) []norm {
	name := f.name(s.end.Outputs[0])
	if n := len(f.readers[name]); f.kept[name] || n == 0 || n > maxNorms {
		return []norm{s}
	}
	var list []norm
	for _, n := range f.readers[name] {
		each := s
		each.scale = f.parameter(&each, n, "Mul")
		if bias {
			next := n
			if each.scale != "" {
				next = f.reader(each.end)
			}
			each.bias = f.parameter(&each, next, "Add")
		}
		if each.scale == "" && each.bias == "" {
			return []norm{s}
		}
		list = append(list, each)
	}
	return list
}

// parameter takes a node that follows, if it is of op, with a parameter that it
// returns, into the normalisation; "" if it is another.
func (f *finder) parameter(s *norm, n *graph.Node, op string) string {
	if !f.bound[n] || !is(n, op) || len(n.Inputs) != 2 {
		return ""
	}
	for i, name := range n.Inputs {
		if f.is(n.Inputs[1-i], s.end.Outputs[0]) && f.fits(name, s) {
			s.nodes, s.end = append(slices.Clone(s.nodes), s.end), n
			return name
		}
	}
	return ""
}

// normalize puts an operator in the place of each of the normalisations, unless
// their parts are read elsewhere.
func (f *finder) normalize(list []norm, op string, version int) {
	var ends, nodes []*graph.Node
	for _, s := range list {
		ends, nodes = append(ends, s.end), append(nodes, s.nodes...)
	}
	if !f.insideOf(ends, nodes) {
		return
	}
	for _, s := range list {
		if s.scale == "" {
			s.scale = f.ones(&s)
		}
		if s.scale == "" {
			continue
		}
		in := []string{s.x, s.scale}
		if s.bias != "" {
			in = append(in, s.bias)
		}
		f.replace(s.end, instead(s.end, "", op, version, in, intAttr("axis", int64(-s.axes)), floatAttr("epsilon", s.epsilon)))
	}
}

// fits reports whether a parameter has one element for each of the normalised.
func (f *finder) fits(name string, s *norm) bool {
	x, p := f.dims(s.x), f.dims(name)
	if f.dtype(name) != f.dtype(s.x) || len(x) < s.axes || p == nil {
		return false
	}
	for len(p) > s.axes && p[0].Is(1) {
		p = p[1:]
	}
	return slices.EqualFunc(x[len(x)-s.axes:], p, f.equal)
}

// ones returns the name of a constant for a normalisation without a scale; ""
// when the extents are not known.
func (f *finder) ones(s *norm) string {
	x := f.dims(s.x)
	if len(x) < s.axes {
		return ""
	}
	shape, ok := x[len(x)-s.axes:].Concrete()
	if !ok || shape.Len() > foldGrowth {
		return ""
	}
	t := tensor.New(f.dtype(s.x), shape...)
	op.SetNumbers(t, slices.Repeat([]float64{1}, t.Len()))
	return f.add("ones", t)
}

// narrow reports whether a value's elements are of types that are normalised in
// float32, as the epsilon of the operators is.
func (f *finder) narrow(s *norm) bool {
	return slices.Contains([]tensor.DType{tensor.F32, tensor.F16, tensor.BF16}, f.dtype(s.x))
}
