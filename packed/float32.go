package packed

import "math"

var (
	nan32 = float32(math.NaN())
	inf32 = float32(math.Inf(1))
)

func bits32(f float32) uint32      { return math.Float32bits(f) }
func float32bits(b uint32) float32 { return math.Float32frombits(b) }

// power2 returns 2^n for n from -149 to 127.
func power2(n int) float32 { return float32(math.Ldexp(1, n)) }

// roundEven returns the nearest integer, ties to even.
func roundEven(f float32) float64 { return math.RoundToEven(float64(f)) }

// signed32 returns the magnitude v with the sign bit of a one-byte code.
func signed32(code byte, v float32) float32 {
	return float32bits(bits32(v)&0x7fffffff | uint32(code&0x80)<<24)
}
