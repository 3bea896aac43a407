package openinfer

import (
	"math/big"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scalar is a number that a node takes as an input.
type scalar struct {
	there bool
	kind  tensor.Kind // Signed, Unsigned or Float
	i     int64
	u     uint64
	f     float64
}

// scalarOf reads input i. t is nil if it is left out.
func scalarOf(t *tensor.Tensor, i int) (s scalar, err error) {
	if t == nil {
		return s, nil
	}
	t = t.Aligned()
	if t.Len() != 1 {
		return s, graph.Errorf(graph.ErrShape, "input %d is %v; it must be one number", i, t)
	}
	s.there, s.kind = true, t.DType().Kind()
	switch s.kind {
	case tensor.Signed:
		s.i = firstOf[int64](t)
	case tensor.Unsigned, tensor.Boolean:
		s.kind, s.u = tensor.Unsigned, firstOf[uint64](t)
	default:
		s.f = firstOf[float64](t)
	}
	return s, nil
}

func firstOf[C number](t *tensor.Tensor) C {
	var v [1]C
	load(v[:], t, 0)
	return v[0]
}

// as returns the scalar as a C. A float that becomes an integer loses its fraction and is clamped.
// Integers keep their low bits.
func as[C number](s scalar) C {
	switch s.kind {
	case tensor.Signed:
		return C(s.i)
	case tensor.Unsigned:
		return C(s.u)
	}
	var zero C
	switch any(zero).(type) {
	case int64:
		return C(elements.ToInt(s.f))
	case uint64:
		return C(elements.ToUint(s.f))
	}
	return C(s.f)
}

// limited returns the scalar as a C, clamped to the integers of type d.
func limited[C number](s scalar, d tensor.DType) C {
	if d.IsFloat() {
		return as[C](s)
	}
	low, high := elements.Bounds[C](d)
	switch exact := s.big(); {
	case exact.Cmp(whole(low)) <= 0:
		return low
	case exact.Cmp(whole(high)) >= 0:
		return high
	}
	return as[C](s)
}

// big returns the scalar without its fraction, or 0 for NaN.
func (s scalar) big() *big.Int {
	switch {
	case s.kind == tensor.Signed:
		return big.NewInt(s.i)
	case s.kind == tensor.Unsigned:
		return new(big.Int).SetUint64(s.u)
	case s.f != s.f:
		return new(big.Int)
	}
	v, _ := big.NewFloat(max(min(s.f, 1<<70), -1<<70)).Int(nil)
	return v
}

func whole[C number](v C) *big.Int {
	if v < 0 {
		return big.NewInt(int64(v))
	}
	return new(big.Int).SetUint64(uint64(v))
}
