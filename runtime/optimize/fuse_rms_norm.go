package optimize

import "github.com/nacre-ml/nacre/runtime/tensor"

// fuseRMSNorm makes RMSNormalization of its parts: a value over the root of its
// mean square and epsilon, times a scale. Exporters of half precision compute
// that in float32 and the scale in half; the operator rounds once, at the end.
func fuseRMSNorm(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		s, ok := f.normalized(n)
		if !ok || s.centred || !f.narrow(&s) {
			continue
		}
		if !f.uncast(&s) {
			s.scale = f.parameter(&s, "Mul")
		}
		if s.scale != "" && f.inside(s.end, s.nodes...) {
			f.replace(s.end, instead(s.end, "", "RMSNormalization", 23, []string{s.x, s.scale}, intAttr("axis", int64(-s.axes)), floatAttr("epsilon", s.epsilon)))
		}
	}
	return f.result()
}

// uncast takes Cast from a narrower type before the normalisation and back to it
// behind, and the scale after that, into it.
func (f *finder) uncast(s *norm) bool {
	before := f.from(s.x, "Cast")
	if before == nil || f.dtype(s.x) != tensor.F32 {
		return false
	}
	half := *s
	half.x = before.Inputs[0]
	if !f.narrow(&half) || !f.back(&half) {
		return false
	}
	if half.scale = f.parameter(&half, "Mul"); half.scale == "" {
		return false
	}
	*s = half
	return true
}
