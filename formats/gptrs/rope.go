package gptrs

import (
	"math"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
)

// anglesRate is the memory that angles takes for a column, in bytes.
const anglesRate = 8

// angles returns the rotation of the first width columns of a head.
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
			y := decoder.Yarn{Base: theta, Factor: factor, Original: math.RoundToEven(float64(context) / factor),
				Fast: s.numberOr("beta_fast", 32), Slow: s.numberOr("beta_slow", 1), Truncate: s.flagOr("truncate", true)}
			if v, err := s.count("original_max_position_embeddings"); err == nil {
				y.Original = float64(v)
			}
			y.Apply(list)
			scale := s.numberOr("mscale", 0)
			r.Magnitude = y.Magnitude(scale, s.numberOr("mscale_all_dim", scale))
		}
	}
	for j, v := range list {
		r.Frequencies[j] = float32(v)
	}
	return r
}
