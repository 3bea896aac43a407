package generate

// TopEverywhere makes runs of the CPU too, and of small vocabularies, give the largest logits alone. It
// returns a function that ends this.
func TopEverywhere() (restore func()) {
	rows, any := rowsPerTop, anyDevice
	rowsPerTop, anyDevice = 1, true
	return func() { rowsPerTop, anyDevice = rows, any }
}

// Top returns how many of the largest logits choose tokens; 0 for all.
func (g *Generator) Top(s Sampling) int { return g.top(&s) }
