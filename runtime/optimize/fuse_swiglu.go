package optimize

// fuseSwiGLU makes SwiGLU of the product of Swish and a value of the same shape.
func fuseSwiGLU(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		if !is(n, "Swish") {
			continue
		}
		end := f.reader(n)
		if !is(end, "Mul") {
			continue
		}
		gate := f.otherOperand(end, n)
		if d := f.dims(n.Inputs[0]); d == nil || !f.has(gate, d) {
			continue
		}
		f.replace(end, instead(end, "", "SwiGLU", 28, []string{n.Inputs[0], gate}, n.Attrs...))
	}
	return f.result()
}
