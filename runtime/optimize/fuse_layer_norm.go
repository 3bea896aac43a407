package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseLayerNorm makes LayerNormalization of its parts: the mean taken off, the
// root of the mean square and epsilon divided by, a scale and a bias applied.
// Exporters write the square as a power or as a product, the quotient as a
// product with an inverse, and, coming from TensorFlow, x·a + (b - mean·a) where
// a is the scale over the root.
func fuseLayerNorm(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		list := []norm{}
		if s, ok := f.normalized(n); ok && s.centred && f.narrow(&s) {
			list = f.parameters(s, true)
		} else if s, ok := f.rearranged(n); ok && f.narrow(&s) {
			list = []norm{s}
		}
		f.normalize(list, "LayerNormalization", 17)
	}
	return f.result()
}

// rearranged finds x·a + (b - mean·a) that ends in n.
func (f *finder) rearranged(n *graph.Node) (s norm, ok bool) {
	if !is(n, "Add") {
		return s, false
	}
	for i := range 2 {
		sub, product := f.from(n.Inputs[i], "Sub"), f.from(n.Inputs[1-i], "Mul")
		if sub == nil || product == nil {
			continue
		}
		shift := f.from(sub.Inputs[1], "Mul")
		if shift == nil {
			continue
		}
		for k := range 4 {
			x, a := product.Inputs[k%2], product.Inputs[1-k%2]
			mean, b := shift.Inputs[k/2], shift.Inputs[1-k/2]
			if !f.is(a, b) {
				continue
			}
			if s, ok = f.rearrangedOf(x, a, mean); !ok {
				continue
			}
			s.bias, s.end = sub.Inputs[0], n
			s.nodes = append(s.nodes, sub, product, shift)
			return s, f.fits(s.bias, &s) && (s.scale == "" || f.fits(s.scale, &s))
		}
	}
	return s, false
}

// rearrangedOf finds the parts of a: a scale, if there is one, over the root of
// x's variance.
func (f *finder) rearrangedOf(x, a, mean string) (s norm, ok bool) {
	of, nodes := f.inverse(a)
	scale := ""
	if nodes == nil {
		product := f.from(a, "Mul")
		if product == nil {
			return s, false
		}
		for i := range 2 {
			if of, nodes = f.inverse(product.Inputs[i]); nodes != nil {
				scale, nodes = product.Inputs[1-i], append(nodes, product)
				break
			}
		}
	}
	if nodes == nil {
		return s, false
	}
	if s, ok = f.deviation(of); !ok || !s.centred || !f.is(s.x, x) {
		return s, false
	}
	of, axes, n := f.mean(mean)
	s.scale, s.nodes = scale, append(append(s.nodes, nodes...), n)
	return s, n != nil && axes == s.axes && f.is(of, x)
}
