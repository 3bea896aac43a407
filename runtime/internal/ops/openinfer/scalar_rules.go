package openinfer

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scalarRule turns the numbers a and b, inputs of an operator, into parameters for elements of type
// d.
type scalarRule func(name string, a, b scalar, d tensor.DType) (numbers, error)

// numbers holds the parameters of a function before conversion.
type numbers struct {
	a, b scalar
	// low and high clamp a and b to the elements' range. Otherwise integers keep their low bits.
	low, high bool
	limit     bool   // as in Numbers
	modulo    uint64 // of a; 0 for none
}

// NumbersOf returns the numbers of a function on elements of type d. list has the inputs after the
// operands, with nil for those left out.
func NumbersOf[C number](o *Pointwise, d tensor.DType, list []*tensor.Tensor) (p Numbers[C], err error) {
	if o.how == nil {
		return p, nil
	}
	var given [2]scalar
	for i := range min(o.scalars, len(list)) {
		if given[i], err = scalarOf(list[i], o.operands+i); err != nil {
			return p, err
		}
	}
	n, err := o.how(o.name, given[0], given[1], d)
	if err != nil {
		return p, err
	}
	p.A, p.B, p.Limit = as[C](n.a), as[C](n.b), n.limit
	if n.low {
		p.A = limited[C](n.a, d)
	}
	if n.high {
		p.B = limited[C](n.b, d)
	}
	if n.modulo > 0 {
		p.A = C(uint64(p.A) % n.modulo)
	}
	return p, nil
}

func float(v float64) scalar { return scalar{there: true, kind: tensor.Float, f: v} }

// orElse returns s, or v if s is left out.
func (s scalar) orElse(v float64) scalar {
	if s.there {
		return s
	}
	return float(v)
}

// maskRule gives the result of a division by zero. The default is NaN for floats and 0 for
// integers.
func maskRule(_ string, a, _ scalar, d tensor.DType) (numbers, error) {
	if d.IsFloat() {
		return numbers{a: a.orElse(math.NaN())}, nil
	}
	return numbers{a: a.orElse(0)}, nil
}

func reluRule(_ string, a, b scalar, _ tensor.DType) (numbers, error) {
	return numbers{a: a.orElse(0), b: b, high: true, limit: b.there}, nil
}

func clampRule(_ string, a, b scalar, _ tensor.DType) (numbers, error) {
	return numbers{low: true, high: true, a: a.orElse(math.Inf(-1)), b: b.orElse(math.Inf(1))}, nil
}

// shiftRule takes negative counts as 0. It takes other counts modulo 8 for elements narrower than a
// byte, otherwise modulo 64.
func shiftRule(name string, a, _ scalar, d tensor.DType) (numbers, error) {
	switch {
	case !a.there:
		return numbers{}, missing(name, "bits")
	case a.kind == tensor.Signed && a.i < 0, a.kind == tensor.Float && !(a.f > 0):
		a = float(0)
	}
	n := numbers{a: a, modulo: 64}
	if d.Bits() < 8 {
		n.modulo = 8
	}
	return n, nil
}

func fillRule(name string, a, _ scalar, _ tensor.DType) (numbers, error) {
	if !a.there {
		return numbers{}, missing(name, "value")
	}
	return numbers{a: a}, nil
}

func missing(name, what string) error {
	return graph.Errorf(graph.ErrFormat, "%s has no number for %s", name, what)
}
