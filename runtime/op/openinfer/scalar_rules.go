package openinfer

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scalarRule says what numbers that are inputs of an operator mean for elements of a
// type.
type scalarRule func(name string, a, b scalar, d tensor.DType) (numbers, error)

// numbers is the parameters of a function before they are converted.
type numbers struct {
	a, b scalar
	// low and high say that a and b become the nearest numbers that elements can be;
	// else integers keep their low bits.
	low, high bool
	limit     bool // as in params
}

// readScalars sets the parameters that a node has as inputs.
func readScalars[C number](c *op.Run, o *pointwise, p *params[C]) error {
	var given [2]scalar
	for i := range o.scalars {
		var err error
		if given[i], err = scalarAt(c, o.operands+i); err != nil {
			return err
		}
	}
	d := c.In[0].DType()
	n, err := o.how(o.name, given[0], given[1], d)
	if err != nil {
		return err
	}
	p.a, p.b, p.limit = as[C](n.a), as[C](n.b), n.limit
	if n.low {
		p.a = limited[C](n.a, d)
	}
	if n.high {
		p.b = limited[C](n.b, d)
	}
	return nil
}

func float(v float64) scalar { return scalar{there: true, kind: tensor.Float, f: v} }

// orElse returns s, or v where s is left out.
func (s scalar) orElse(v float64) scalar {
	if s.there {
		return s
	}
	return float(v)
}

// maskRule is what a division by zero gives: NaN for floats and 0 for integers unless it
// is given.
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

// shiftRule takes negative counts for 0.
func shiftRule(name string, a, _ scalar, _ tensor.DType) (numbers, error) {
	switch {
	case !a.there:
		return numbers{}, missing(name, "bits")
	case a.kind == tensor.Signed && a.i < 0, a.kind == tensor.Float && !(a.f > 0):
		a = float(0)
	}
	return numbers{a: a}, nil
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
