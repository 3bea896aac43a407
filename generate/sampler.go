package generate

import "github.com/nacre-ml/nacre/internal/guard"

// Sampler chooses tokens from logits, for loops over decoders that a Generator does not drive. One
// goroutine at a time uses it.
type Sampler struct{ s *sampler }

// NewSampler returns a sampler that has seen no tokens. MaxTokens, StopIDs, Stop and Alternatives
// are left to the caller. The error is as for Sampling.Validate.
func NewSampler(s Sampling) (_ *Sampler, err error) {
	defer guard.At("").End(&err)
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Sampler{newSampler(s, false, 0)}, nil
}

// See takes a token of the prompt, or a generated one, for the penalties and for Sampling.Adjust.
// Negative tokens do not count.
func (s *Sampler) See(token int32, generated bool) {
	if s != nil && s.s != nil && token >= 0 {
		s.s.see(token, generated)
	}
}

// Choose returns the token that follows, by the logits of all tokens. The next call of See may take
// it.
func (s *Sampler) Choose(logits []float32) (_ int32, err error) {
	defer guard.At("").End(&err)
	if s == nil || s.s == nil {
		return 0, errNotMade
	}
	return s.s.choose(logits)
}
