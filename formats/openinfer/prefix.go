package openinfer

import "github.com/nacre-ml/nacre/runtime/graph"

// prefix returns a tensor of a prefix table.
func (s *scope) prefix(v *decl, indices []string) (string, error) {
	at := make([]int64, len(indices))
	var open []int
	var values []string
	for i, text := range indices {
		x, err := s.indexOf(text)
		if err != nil {
			return "", err
		}
		if at[i] = x.n; x.value != "" {
			open, values = append(open, i), append(values, x.value)
		}
	}
	if len(open) > 0 {
		return s.choose(v, at, open, values)
	}
	w, err := s.prefixTensor(v, at)
	if err != nil {
		return "", err
	}
	return s.weight(w), nil
}

// choose returns the tensor of a prefix table at indices known only at run time. It selects from a
// box of tensors: an index runs from 0 as long as the model has tensors with the other open indices
// at 0.
func (s *scope) choose(v *decl, at []int64, open []int, values []string) (string, error) {
	sizes, err := s.box(v, at, open)
	if err != nil {
		return "", err
	}
	var list []string
	for n := range volume(sizes) {
		for i := len(open) - 1; i >= 0; i-- {
			at[open[i]] = n % sizes[i]
			n /= sizes[i]
		}
		w, err := s.prefixTensor(v, at)
		if err != nil {
			return "", err
		}
		list = append(list, s.weight(w))
	}
	return s.b.Op("SequenceAt", []string{s.b.Op("SequenceConstruct", list), s.placeIn(sizes, values)}), nil
}

// box returns the number of tensors along each open index.
func (s *scope) box(v *decl, at []int64, open []int) ([]int64, error) {
	for _, i := range open {
		at[i] = 0
	}
	if _, err := s.prefixTensor(v, at); err != nil {
		return nil, err
	}
	sizes := make([]int64, len(open))
	for k, i := range open {
		for at[i] = 0; s.weights[filled(v.pattern, v.indices, at)] != nil; at[i]++ {
		}
		sizes[k], at[i] = at[i], 0
		if n := volume(sizes[:k+1]); n > maxExpanded {
			return nil, graph.Errorf(graph.ErrUnsupported, "%q has %d tensors at indices that only a run tells; at most %d are chosen from", v.name, n, maxExpanded)
		}
	}
	return sizes, nil
}

func volume(sizes []int64) int64 {
	n := int64(1)
	for _, size := range sizes {
		n *= size
	}
	return n
}

// placeIn returns the position of indices in a box. If an index is outside the box, the position is
// past the end, an error at run time.
func (s *scope) placeIn(sizes []int64, values []string) string {
	var place, bad string
	for i, x := range values {
		out := s.b.Op("Or", []string{s.b.Op("Less", []string{x, s.b.Int(0)}), s.b.Op("GreaterOrEqual", []string{x, s.b.Int(sizes[i])})})
		if i == 0 {
			place, bad = x, out
			continue
		}
		place = s.b.Op("Add", []string{s.b.Op("Mul", []string{place, s.b.Int(sizes[i])}), x})
		bad = s.b.Op("Or", []string{bad, out})
	}
	return s.b.Op("Where", []string{bad, s.b.Int(volume(sizes)), place})
}

// indexOf returns an index of a prefix table or of a cache.
func (s *scope) indexOf(name string) (loopIndex, error) {
	if x, ok := s.loops[name]; ok {
		return x, nil
	}
	return s.bound(name)
}
