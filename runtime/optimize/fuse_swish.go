package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseSwish makes Swish of x·sigmoid(alpha·x), also known as SiLU and, with an
// alpha of 1.702, as QuickGelu.
func fuseSwish(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		if !is(n, "Sigmoid") {
			continue
		}
		end := f.reader(n)
		if !is(end, "Mul") {
			continue
		}
		x := f.otherOperand(end, n)
		of, alpha, scale := f.scaled(n.Inputs[0])
		nodes := []*graph.Node{n, scale}
		if f.is(n.Inputs[0], x) {
			of, alpha, nodes = x, 1, nodes[:1]
		}
		if f.is(of, x) && f.inside(end, nodes...) {
			f.replace(end, instead(end, "", "Swish", 24, []string{x}, floatAttr("alpha", alpha)))
		}
	}
	return f.result()
}

// otherOperand returns the operand of a node with two that n does not compute.
func (f *finder) otherOperand(of, n *graph.Node) string {
	if f.is(of.Inputs[0], n.Outputs[0]) {
		return of.Inputs[1]
	}
	return of.Inputs[0]
}
