package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseMish makes Mish of x·tanh(softplus(x)), where softplus may be in parts too:
// log(1 + exp(x)). Alone those parts stay as they are, for they overflow where
// Softplus does not.
func fuseMish(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		if !is(n, "Tanh") {
			continue
		}
		end := f.reader(n)
		if !is(end, "Mul") {
			continue
		}
		x := f.otherOperand(end, n)
		if of, nodes := f.softplus(n.Inputs[0]); nodes != nil && f.is(of, x) && f.inside(end, append(nodes, n)...) {
			f.replace(end, instead(end, "", "Mish", 18, []string{x}))
		}
	}
	return f.result()
}

// softplus sees a value as log(1 + exp(x)).
func (f *finder) softplus(name string) (x string, nodes []*graph.Node) {
	n := f.from(name, "Softplus", "Log")
	switch {
	case n == nil:
		return "", nil
	case n.Op == "Softplus":
		return n.Inputs[0], []*graph.Node{n}
	}
	sum := f.from(n.Inputs[0], "Add")
	if sum == nil {
		return "", nil
	}
	of, one, ok := f.split(sum)
	if exp := f.from(of, "Exp"); ok && one == 1 && exp != nil {
		return exp.Inputs[0], []*graph.Node{n, sum, exp}
	}
	return "", nil
}
