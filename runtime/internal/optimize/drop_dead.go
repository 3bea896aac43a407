package optimize

// dropDead removes the nodes and constants that no output depends on.
func dropDead(s *Scope) (*Edit, error) {
	g := s.Graph
	e := newEdit()
	for _, n := range g.Nodes {
		e.Replace[n] = nil
	}
	needed := map[string]bool{}
	for _, n := range g.Live() {
		delete(e.Replace, n)
		for _, name := range n.Inputs {
			needed[name] = true
		}
		for _, name := range n.Captured() {
			needed[name] = true
		}
	}
	for _, o := range g.Outputs {
		needed[o.Name] = true
	}
	for _, in := range g.Inputs {
		// A default value makes an input optional.
		needed[in.Name] = true
	}
	for _, init := range g.Initializers {
		if !needed[init.Name] {
			e.Drop[init.Name] = true
		}
	}
	return e, nil
}
