package runtime

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// limit is a limit of a model on the extents of inputs, or on the elements of one.
type limit struct {
	graph.Limit
	input int // -1 for extents
}

// limitsOf returns the limits of a model whose runs take these inputs.
func limitsOf(m *graph.Model, inputs []*graph.Value) []limit {
	var list []limit
	for _, l := range m.Limits {
		at := slices.IndexFunc(inputs, func(v *graph.Value) bool { return v.Name == l.Input })
		if l.Input == "" || at >= 0 {
			list = append(list, limit{l, at})
		}
	}
	return list
}

// extents returns an error if extents of inputs exceed the model's limits.
func (s *Session) extents(symbols map[string]int) error {
	for _, l := range s.limits {
		if l.input >= 0 {
			continue
		}
		err := l.Check(nil, func(name string) (int, bool) {
			n, ok := symbols[name]
			return n, ok
		})
		if err != nil {
			return s.reject(graph.ErrShape, "%w", err)
		}
	}
	return nil
}

// elements returns an error if elements of inputs exceed the model's limits.
func (s *Session) elements(inputs []tensor.Value) error {
	for _, l := range s.limits {
		if l.input < 0 {
			continue
		}
		if t, ok := inputs[l.input].(*tensor.Tensor); ok {
			if err := l.Check(t, nil); err != nil {
				return s.reject(graph.ErrShape, "%w", err)
			}
		}
	}
	return nil
}
