package generate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/nacre-ml/nacre"
)

// sampler chooses tokens from logits.
type sampler struct {
	Sampling
	lastOfEqual bool
	random      *rand.Rand
	suppressed  []int32 // tokens that are never chosen

	prompt, generated []int32 // for Adjust; empty without it

	seen   []int32   // tokens that penalties change, each once
	counts []count   // by token; empty without penalties
	scores []float32 // logits that were changed
	order  []float32 // logits that top-k moves
	kept   []candidate
	moved  []candidate
	among  []candidate
}

// count is how often a token came.
type count struct {
	generated uint32
	seen      bool
}

func newSampler(s Sampling, lastOfEqual bool, sequence uint64) *sampler {
	if s.RepetitionPenalty == 0 {
		s.RepetitionPenalty = 1
	}
	return &sampler{Sampling: s, lastOfEqual: lastOfEqual, random: rand.New(rand.NewPCG(s.Seed, sequence))}
}

// fork returns a sampler that has seen the same tokens and draws numbers of its own.
func (s *sampler) fork(sequence uint64) *sampler {
	f := newSampler(s.Sampling, s.lastOfEqual, sequence)
	f.suppressed = s.suppressed
	f.prompt = append(f.prompt, s.prompt...)
	f.generated = append(f.generated, s.generated...)
	f.seen = append(f.seen, s.seen...)
	f.counts = append(f.counts, s.counts...)
	return f
}

func (s *sampler) penalizes() bool {
	return s.RepetitionPenalty != 1 || s.PresencePenalty != 0 || s.FrequencyPenalty != 0
}

// see takes a token that Adjust is given and that penalties count.
func (s *sampler) see(token int32, generated bool) {
	switch {
	case s.Adjust == nil:
	case generated:
		s.generated = append(s.generated, token)
	default:
		s.prompt = append(s.prompt, token)
	}
	if !s.penalizes() {
		return
	}
	if missing := int(token) + 1 - len(s.counts); missing > 0 {
		s.counts = append(s.counts, make([]count, missing)...)
	}
	c := &s.counts[token]
	if !c.seen {
		c.seen = true
		s.seen = append(s.seen, token)
	}
	if generated {
		c.generated++
	}
}

var errNoToken = errors.New("every logit is NaN or negative infinity, so no token can follow")

// choose returns a token.
func (s *sampler) choose(logits []float32) (int32, error) {
	logits, err := s.adjusted(logits)
	if err != nil {
		return 0, err
	}
	best := s.largest(logits)
	if best < 0 {
		return 0, errNoToken
	}
	if s.Temperature == 0 {
		return best, nil
	}
	s.keep(logits, logits[best])
	return s.draw(), nil
}

// adjusted returns logits with the bias and the penalties, with negative infinity for suppressed
// tokens, and as Adjust changes them. If any of these is there, the slice is the sampler's.
func (s *sampler) adjusted(logits []float32) ([]float32, error) {
	if len(s.Bias) == 0 && !s.penalizes() && len(s.suppressed) == 0 && s.Adjust == nil {
		return logits, nil
	}
	s.scores = append(s.scores[:0], logits...)
	for id, x := range s.Bias {
		if int(id) >= len(s.scores) {
			return nil, errorf(nacre.ErrOption, "Sampling.Bias has token %d; the decoder has tokens 0 to %d", id, len(s.scores)-1)
		}
		s.scores[id] += x
	}
	s.penalize(s.scores)
	for _, id := range s.suppressed {
		if id >= 0 && int(id) < len(s.scores) {
			s.scores[id] = float32(math.Inf(-1))
		}
	}
	if s.Adjust != nil {
		if err := s.Adjust(s.prompt, s.generated, s.scores); err != nil {
			return nil, fmt.Errorf("Sampling.Adjust: %w", err)
		}
	}
	return s.scores, nil
}

// penalize applies the penalties to logits.
func (s *sampler) penalize(logits []float32) {
	for _, id := range s.seen {
		if int(id) >= len(logits) {
			continue
		}
		x := float64(logits[id])
		if x < 0 {
			x *= s.RepetitionPenalty
		} else {
			x /= s.RepetitionPenalty
		}
		if n := s.counts[id].generated; n > 0 {
			x -= s.PresencePenalty + float64(n)*s.FrequencyPenalty
		}
		logits[id] = float32(x)
	}
}

// largest returns the token of the largest logit. If none is above negative infinity, it returns
// -1.
func (s *sampler) largest(logits []float32) int32 {
	best, most := -1, float32(math.Inf(-1))
	for i, x := range logits {
		if x > most || s.lastOfEqual && x == most && best >= 0 {
			best, most = i, x
		}
	}
	return int32(best)
}

// keep sets kept to the candidates that top-k, min-p and top-p keep, in ascending order of tokens.
// Most is the largest logit.
func (s *sampler) keep(logits []float32, most float32) {
	cut := s.cut(logits, s.TopK)
	s.kept = s.kept[:0]
	total := 0.0
	for i, x := range logits {
		if x >= cut {
			total += s.weigh(int32(i), x, most)
		}
	}
	s.keepLikely(total)
}

// weigh returns the weight of a token by its logit and the largest one, and adds the token to kept if
// min-p keeps it.
func (s *sampler) weigh(id int32, logit, most float32) float64 {
	w := 1.0
	if logit != most {
		w = math.Exp((float64(logit) - float64(most)) / s.Temperature)
	}
	if w > 0 && w >= s.MinP {
		s.kept = append(s.kept, candidate{id, logit, w})
	}
	return w
}

// keepLikely removes the candidates from kept that top-p does not keep. Total is the weight of all
// candidates.
func (s *sampler) keepLikely(total float64) {
	if s.TopP == 0 || s.TopP == 1 {
		return
	}
	s.moved = append(s.moved[:0], s.kept...)
	last := nucleus(s.moved, s.TopP*total)
	n := 0
	for _, c := range s.kept {
		if !last.before(c) {
			s.kept[n] = c
			n++
		}
	}
	s.kept = s.kept[:n]
}

// cut returns the smallest of the k largest logits; negative infinity if k is 0 or there are no
// more than k.
func (s *sampler) cut(logits []float32, k int) float32 {
	none := float32(math.Inf(-1))
	if k == 0 || k >= len(logits) {
		return none
	}
	s.order = s.order[:0]
	for _, x := range logits {
		if x == x {
			s.order = append(s.order, x)
		}
	}
	if k >= len(s.order) {
		return none
	}
	return kthLargest(s.order, k)
}

// draw returns a candidate by chance.
func (s *sampler) draw() int32 {
	total := 0.0
	for _, c := range s.kept {
		total += c.weight
	}
	at := s.random.Float64() * total
	for _, c := range s.kept {
		if at -= c.weight; at < 0 {
			return c.id
		}
	}
	return s.kept[len(s.kept)-1].id
}
