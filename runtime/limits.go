package runtime

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// extents returns an error if extents of inputs exceed the model's limits.
func (s *Session) extents(symbols map[string]int) error {
	return s.within(func(l graph.Limit) error {
		if l.Input != "" {
			return nil
		}
		return l.Check(nil, func(name string) (int, bool) {
			n, ok := symbols[name]
			return n, ok
		})
	})
}

// elements returns an error if elements of inputs exceed the model's limits. The inputs are in the
// program's order.
func (s *Session) elements(inputs []tensor.Value) error {
	return s.within(func(l graph.Limit) error {
		for i, v := range s.program.Decl {
			if t, ok := inputs[i].(*tensor.Tensor); ok && v.Name == l.Input {
				return l.Check(t, nil)
			}
		}
		return nil
	})
}

// within returns the first error of check, as an error of the session.
func (s *Session) within(check func(l graph.Limit) error) error {
	for _, l := range s.limits {
		if err := check(l); err != nil {
			return s.reject(graph.ErrShape, "%w", err)
		}
	}
	return nil
}
