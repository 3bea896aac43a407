package gptrs

import (
	"math"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
)

// angles returns the rotation of so many columns of a head.
func angles(f fields, width int, theta float64, context int64) *decoder.Rope {
	list := make([]float64, width/2)
	for j := range list {
		list[j] = math.Pow(theta, -2*float64(j)/float64(width))
	}
	r := &decoder.Rope{Frequencies: make([]float32, width/2)}
	if s, err := object(f["rope_scaling"]); err == nil {
		kind, _ := text(s["kind"])
		factor, _ := s.number("factor")
		switch kind {
		case "linear":
			for j := range list {
				list[j] /= factor
			}
		case "yarn":
			r.Magnitude = yarnMagnitude(s, factor)
			list = yarn(s, list, theta, factor, math.RoundToEven(float64(context)/factor))
		}
	}
	for j, v := range list {
		r.Frequencies[j] = float32(v)
	}
	return r
}

// yarn slows down the pairs that turn seldom within the context that the network was
// made for.
func yarn(s fields, list []float64, theta, factor, original float64) []float64 {
	if v, err := s.count("original_max_position_embeddings"); err == nil {
		original = float64(v)
	}
	n := float64(2 * len(list))
	pair := func(turns float64) float64 {
		return n * math.Log(original/(turns*2*math.Pi)) / (2 * math.Log(theta))
	}
	low, high := pair(s.numberOr("beta_fast", 32)), pair(s.numberOr("beta_slow", 1))
	if s.flagOr("truncate", true) {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, n-1)
	if low == high {
		high += 0.001
	}
	for j, base := range list {
		ramp := min(max((float64(j)-low)/(high-low), 0), 1)
		list[j] = base/factor*ramp + base*(1-ramp)
	}
	return list
}

// yarnMagnitude is the factor of cosines and sines.
func yarnMagnitude(s fields, factor float64) float64 {
	m := func(scale float64) float64 {
		if factor <= 1 {
			return 1
		}
		return 0.1*scale*math.Log(factor) + 1
	}
	scale := s.numberOr("mscale", 0)
	all := s.numberOr("mscale_all_dim", scale)
	if scale != 0 && all != 0 {
		return m(scale) / m(all)
	}
	return m(1)
}
