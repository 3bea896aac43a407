package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseHardSwish makes HardSwish of x·hardsigmoid(x), with a slope of 1/6, and of
// x·clip(x + 3, 0, 6)/6, whatever the order of the products.
func fuseHardSwish(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, end := range f.live {
		if !is(end, "Mul", "Div") {
			continue
		}
		p := f.product(end.Outputs[0])
		if len(p.factors) != 2 {
			continue
		}
		for i, factor := range p.factors {
			x := p.factors[1-i]
			slope, nodes := f.hardSigmoid(factor, x)
			if slope == 0 || !f.near(slope*p.number, 1.0/6, x) || !f.inside(end, slices.Concat(p.nodes, nodes)...) {
				continue
			}
			f.replace(end, instead(end, "", "HardSwish", 14, []string{x}))
			break
		}
	}
	return f.result()
}

// hardSigmoid sees a value as slope·clip(x + 3, 0, 6); 0 if it is not that.
func (f *finder) hardSigmoid(name, x string) (slope float64, nodes []*graph.Node) {
	n := f.from(name, "HardSigmoid", "Clip")
	switch {
	case n == nil:
		return 0, nil
	case n.Op == "HardSigmoid":
		if f.is(n.Inputs[0], x) && f.near(floatOf(n, "alpha", 0.2), 1.0/6, x) && floatOf(n, "beta", 0.5) == 0.5 {
			return 1.0 / 6, []*graph.Node{n}
		}
		return 0, nil
	}
	lo, hi, ok := f.limits(n)
	sum := f.from(n.Inputs[0], "Add")
	if !ok || lo != 0 || hi != 6 || sum == nil {
		return 0, nil
	}
	of, c, ok := f.split(sum)
	if !ok || c != 3 || !f.is(of, x) {
		return 0, nil
	}
	return 1, []*graph.Node{n, sum}
}

// floatOf returns a float attribute, def if it is not there.
func floatOf(n *graph.Node, name string, def float32) float64 {
	if a := n.Attr(name); a != nil {
		def = a.Float
	}
	return float64(def)
}

// limits returns the ends of the interval of a Clip, which are attributes or
// inputs and both there.
func (f *finder) limits(n *graph.Node) (lo, hi float64, ok bool) {
	if n.Version < 11 {
		if n.Attr("min") == nil || n.Attr("max") == nil {
			return 0, 0, false
		}
		return floatOf(n, "min", 0), floatOf(n, "max", 0), true
	}
	if len(n.Inputs) < 3 {
		return 0, 0, false
	}
	lo, ok1 := f.number(n.Inputs[1], 1)
	hi, ok2 := f.number(n.Inputs[2], 1)
	return lo, hi, ok1 && ok2
}
