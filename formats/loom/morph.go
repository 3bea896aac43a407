package loom

import (
	"math"

	"github.com/nacre-ml/nacre/internal/budget"
)

// Morph quantises weights as Loom does and returns the packed codes and their scale. A scale of 1
// is computed anew from the weights. Other scales are used as they are, even 0, which gives
// meaningless codes. Float32 keeps its scale. Values that overflow an integer type without clamping
// wrap around.
func Morph(d DType, w []float32, scale float32) ([]byte, float32) {
	codes, scale, _ := morph(nil, d, w, scale)
	return codes, scale
}

// morph is Morph, but stops if the budget's context is done.
func morph(b *budget.Budget, d DType, w []float32, scale float32) ([]byte, float32, error) {
	if d != Float32 && scale == 1 && len(w) > 0 {
		scale = autoScale(d, w)
	}
	codes := make([]byte, d.Bytes(len(w)))
	code := d.coder()
	for at := 0; at < len(w); at += chunk {
		if err := b.Err(); err != nil {
			return nil, scale, err
		}
		for i, x := range w[at:min(at+chunk, len(w))] {
			d.setBits(codes, at+i, code(x, x/scale))
		}
	}
	return codes, scale, nil
}

// autoScale returns the scale that suits the weights, computed in float32.
func autoScale(d DType, w []float32) float32 {
	var scale float32
	if d == Binary {
		var sum float64
		for _, x := range w {
			sum += math.Abs(float64(x))
		}
		scale = float32(sum) / float32(len(w))
	} else {
		var steps float32 = 127
		switch d {
		case Int4, Uint4:
			steps = 7
		case FP4:
			steps = 3
		case Int2, Uint2, Ternary:
			steps = 1
		}
		scale = maxAbs(w) / steps
	}
	if scale == 0 {
		return 1
	}
	return scale
}

func maxAbs(w []float32) float32 {
	var m float32
	for _, x := range w {
		if x < 0 {
			x = -x
		}
		if x > m {
			m = x
		}
	}
	return m
}

// coder returns a function that gives the code of a weight w, where v = w / scale.
func (d DType) coder() func(w, v float32) uint64 {
	switch d {
	case Float64:
		return func(w, _ float32) uint64 { return math.Float64bits(float64(w)) }
	case Float32:
		return func(w, _ float32) uint64 { return uint64(math.Float32bits(w)) }
	case Float16:
		return func(w, _ float32) uint64 { return shortened(w, 16, 10, 112, 31, 0x7c00) }
	case BFloat16:
		return func(w, _ float32) uint64 { return uint64(math.Float32bits(w) >> 16) }
	case FP8E4M3:
		return func(_, v float32) uint64 { return shortened(v, 8, 3, 120, 15, 0x7f) }
	case FP8E5M2:
		return func(_, v float32) uint64 { return shortened(v, 8, 2, 112, 31, 0x7c) }
	case Uint64, Uint32, Uint16:
		return func(_, v float32) uint64 { return integer(math.Abs(math.Round(float64(v)))) }
	case Uint8:
		return clamped(0, 255)
	case Int4:
		return clamped(-8, 7)
	case Uint4:
		return clamped(0, 15)
	case Int2:
		return clamped(-2, 1)
	case Uint2:
		return clamped(0, 3)
	case Ternary:
		return clamped(-1, 1)
	case Binary:
		return func(_, v float32) uint64 {
			if v >= 0 {
				return 1
			}
			return 0
		}
	case FP4:
		return func(_, v float32) uint64 { return nearest4(v) }
	}
	return func(_, v float32) uint64 { return integer(math.Round(float64(v))) }
}

// shortened cuts a float32 down to a float of this many bits. If the rebiased exponent is 0 or
// less, the result is a zero, and if it is limit or more, the code most, both with the sign.
func shortened(v float32, bits, mantissa, rebias, limit int, most uint64) uint64 {
	b := math.Float32bits(v)
	sign := uint64(b>>31) << (bits - 1)
	e := int(b>>23&0xff) - rebias
	switch {
	case e <= 0:
		return sign
	case e >= limit:
		return sign | most
	}
	return sign | uint64(e)<<mantissa | uint64(b>>(23-mantissa))&(1<<mantissa-1)
}

// integer returns the two's complement of a whole number. NaN and numbers outside 64 bits give the
// least integer.
func integer(v float64) uint64 {
	switch {
	case v >= -(1<<63) && v < 1<<63:
		return uint64(int64(v))
	case v >= 1<<63 && v < 1<<64:
		return uint64(v)
	}
	return 1 << 63
}

func clamped(low, high float64) func(w, v float32) uint64 {
	return func(_, v float32) uint64 { return integer(min(max(math.Round(float64(v)), low), high)) }
}

// nearest4 returns the finite FP4 code nearest to v. Of two equally near codes, it returns the
// first.
func nearest4(v float32) uint64 {
	best, dist := uint64(0), float32(math.Inf(1))
	for _, c := range [...]uint64{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13} {
		d := v - values[FP4][c]
		if d < 0 {
			d = -d
		}
		if d < dist {
			best, dist = c, d
		}
	}
	return best
}
