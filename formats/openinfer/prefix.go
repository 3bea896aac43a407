package openinfer

import "github.com/nacre-ml/nacre/runtime/graph"

// prefix returns a tensor of a prefix table.
func (s *scope) prefix(v *decl, indices []string) (string, error) {
	at := make([]int64, len(indices))
	open := -1
	var index loopIndex
	for i, text := range indices {
		x, err := s.indexOf(text)
		if err != nil {
			return "", err
		}
		if at[i] = x.n; x.value != "" {
			if open >= 0 {
				return "", graph.Errorf(graph.ErrUnsupported, "%q has two indices that only a run tells; the bounds of one loop must be numbers or sizes", v.name)
			}
			open, index = i, x
		}
	}
	if open < 0 {
		w, err := s.prefixTensor(v, at)
		if err != nil {
			return "", err
		}
		return s.weight(w), nil
	}
	return s.choose(v, at, open, index.value)
}

// choose returns the tensor of a prefix table at an index that only a run tells, of all
// that the model has from index 0 on.
func (s *scope) choose(v *decl, at []int64, open int, index string) (string, error) {
	var list []string
	for at[open] = 0; ; at[open]++ {
		w := s.weights[filled(v.pattern, v.indices, at)]
		if w == nil {
			break
		}
		if err := s.fits(v, "tensor", w.Name, w.Tensor.DType(), w.Tensor.Shape()); err != nil {
			return "", err
		}
		list = append(list, s.weight(w))
	}
	if len(list) == 0 {
		at[open] = 0
		_, err := s.prefixTensor(v, at)
		return "", err
	}
	// A negative index would count from the end; it is beyond the end instead.
	index = s.b.Op("Where", []string{s.b.Op("Less", []string{index, s.b.Int(0)}), s.b.Int(int64(len(list))), index})
	return s.b.Op("SequenceAt", []string{s.b.Op("SequenceConstruct", list), index}), nil
}

// indexOf returns an index of a prefix table or of a cache.
func (s *scope) indexOf(name string) (loopIndex, error) {
	if x, ok := s.loops[name]; ok {
		return x, nil
	}
	return s.bound(name)
}
