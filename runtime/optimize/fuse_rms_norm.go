package optimize

import "github.com/nacre-ml/nacre/runtime/tensor"

// fuseRMSNorm makes RMSNormalization of its parts: a value over the root of its
// mean square and epsilon, times a scale. Exporters of half precision compute
// that in float32 and the scale in half; the operator rounds once, at the end.
func fuseRMSNorm(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		s, ok := f.normalized(n)
		if ok && !s.centred && f.narrow(&s) {
			f.normalize(f.parameters(f.uncast(s), false), "RMSNormalization", 23)
		}
	}
	return f.result()
}

// uncast takes Cast from a narrower type before the normalisation, and back to it
// behind, into it.
func (f *finder) uncast(s norm) norm {
	before := f.from(s.x, "Cast")
	if before == nil || f.dtype(s.x) != tensor.F32 {
		return s
	}
	half := s
	half.x = before.Inputs[0]
	if f.narrow(&half) && f.back(&half) {
		return half
	}
	return s
}
