package generate

import (
	"math"
	"slices"
)

// Alternative is a token that could have followed, and the logarithm of its probability.
type Alternative struct {
	ID      int32
	LogProb float64
}

// distribution is the probabilities that logits say.
type distribution struct {
	most   float64 // the largest logit
	logSum float64 // of the weights exp(logit - most)
}

// distributionOf returns the distribution of logits. At least one must be above negative infinity.
func distributionOf(logits []float32) distribution {
	d := distribution{most: math.Inf(-1)}
	for _, x := range logits {
		if float64(x) > d.most {
			d.most = float64(x)
		}
	}
	sum := 0.0
	for _, x := range logits {
		switch y := float64(x); {
		case y == d.most:
			sum++
		case y < d.most:
			sum += math.Exp(y - d.most)
		}
	}
	d.logSum = math.Log(sum)
	return d
}

// logProb returns the logarithm of the probability of a token, by its logit.
func (d distribution) logProb(logit float32) float64 {
	switch x := float64(logit); {
	case x == d.most:
		return -d.logSum
	case x < d.most:
		return x - d.most - d.logSum
	}
	return math.Inf(-1) // NaN
}

// likeliest returns the n tokens of the largest logits, the likeliest first, without tokens of
// probability 0. The slice is valid until the next call of a method.
func (s *sampler) likeliest(logits []float32, n int) []candidate {
	cut := s.cut(logits, n)
	list := s.moved[:0]
	for i, x := range logits {
		if x >= cut && !math.IsInf(float64(x), -1) {
			list = append(list, candidate{id: int32(i), logit: x})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	s.moved = list
	return list[:min(n, len(list))]
}

// measure sets the log probabilities of a token by the logits that the decoder gave.
func (s *sampler) measure(t *Token, logits []float32) {
	d := distributionOf(logits)
	t.LogProb = d.logProb(logits[t.ID])
	for _, c := range s.likeliest(logits, s.Alternatives) {
		if p := d.logProb(c.logit); !math.IsInf(p, -1) {
			t.Alternatives = append(t.Alternatives, Alternative{c.id, p})
		}
	}
}
