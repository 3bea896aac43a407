// Package compare judges computed tensors against expected ones.
package compare

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"strconv"

	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Tolerance bounds the difference of a number from the expected one: at most Abs + Rel*|expected|.
// NaN equals NaN, and infinities equal themselves.
type Tolerance struct {
	Rel, Abs float64
	// Threshold, unless it is nil, turns real numbers into decisions. Two numbers then match if
	// both are above it or neither is, at any difference.
	Threshold *float64
}

// Result is the outcome of one comparison. MaxAbs, MaxRel and Share leave out elements that are not
// finite in both tensors, and elements that decide otherwise.
type Result struct {
	Reason string  // first difference; empty if the values match
	MaxAbs float64 // largest |got - want|
	MaxRel float64 // largest |got - want| / |want|, without elements of want 0
	Share  float64 // largest MaxAbs / largest finite |want| of a tensor; 0 if all of want is 0
}

// Match reports whether the tensors agree.
func (r Result) Match() bool { return r.Reason == "" }

// Values compares got with want, item by item if they are not tensors. If ctx is done, it returns
// the error of ctx.
func Values(ctx context.Context, got, want tensor.Value, tol Tolerance) (Result, error) {
	switch w := want.(type) {
	case *tensor.Tensor:
		g, ok := got.(*tensor.Tensor)
		if got != nil && !ok {
			return Result{Reason: fmt.Sprintf("got %v, want %v", got, want)}, nil
		}
		return Tensors(ctx, g, w, tol)
	case *tensor.Sequence:
		if g, ok := got.(*tensor.Sequence); ok && len(g.Items) == len(w.Items) {
			return all(ctx, g.Items, w.Items, tol)
		}
	case *tensor.Optional:
		if g, ok := got.(*tensor.Optional); ok && (g.Item == nil) == (w.Item == nil) {
			if w.Item == nil {
				return Result{}, nil
			}
			return Values(ctx, g.Item, w.Item, tol)
		}
		if w.Item != nil && got != nil {
			return Values(ctx, got, w.Item, tol)
		}
	case *tensor.Map:
		if g, ok := got.(*tensor.Map); ok {
			return all(ctx, []tensor.Value{g.Keys, g.Values}, []tensor.Value{w.Keys, w.Values}, tol)
		}
	}
	return Result{Reason: fmt.Sprintf("got %v, want %v", got, want)}, nil
}

// all compares two lists of the same length. The first difference gives the reason.
func all(ctx context.Context, got, want []tensor.Value, tol Tolerance) (sum Result, err error) {
	for i := range want {
		r, err := Values(ctx, got[i], want[i], tol)
		if err != nil {
			return Result{}, err
		}
		sum.MaxAbs, sum.MaxRel, sum.Share = max(sum.MaxAbs, r.MaxAbs), max(sum.MaxRel, r.MaxRel), max(sum.Share, r.Share)
		if sum.Match() && !r.Match() {
			sum.Reason = fmt.Sprintf("part %d: %s", i, r.Reason)
		}
	}
	return sum, nil
}

// Tensors compares got with want: type, shape and strings exactly, numbers within tol. If ctx is
// done, it returns the error of ctx.
func Tensors(ctx context.Context, got, want *tensor.Tensor, tol Tolerance) (Result, error) {
	c := counter{tol: tol}
	var element func(i int)
	switch {
	case got == nil:
		return Result{Reason: fmt.Sprintf("there is none, want %v", want)}, nil
	case got.DType() != want.DType() || !got.Shape().Equal(want.Shape()):
		return Result{Reason: fmt.Sprintf("got %v, want %v", got, want)}, nil
	case got.DType() == tensor.String:
		element = c.texts(got.Strings(), want.Strings())
	case got.DType().Kind() == tensor.Complex:
		element = c.complexes(got, want)
	default:
		g, w := tensor.Numbers(got), tensor.Numbers(want)
		element = func(i int) { c.number(i, g(i), w(i)) }
	}
	err := pieces.Each(ctx, want.Len(), pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			element(i)
		}
	})
	return c.result(want), err
}

// complexes returns a function that compares element i of two complex tensors.
func (c *counter) complexes(got, want *tensor.Tensor) func(i int) {
	at := func(t *tensor.Tensor) func(int) complex128 {
		if t.DType() == tensor.C64 {
			s := tensor.View[complex64](t.Aligned())
			return func(i int) complex128 { return complex128(s[i]) }
		}
		s := tensor.View[complex128](t.Aligned())
		return func(i int) complex128 { return s[i] }
	}
	g, w := at(got), at(want)
	return func(i int) {
		a, b := g(i), w(i)
		c.size(cmplx.Abs(b))
		if a != b && !(cmplx.IsNaN(a) && cmplx.IsNaN(b)) {
			c.add(i, cmplx.Abs(a-b), cmplx.Abs(b), a, b)
		}
	}
}

// texts returns a function that compares element i of two tensors of strings.
func (c *counter) texts(got, want []string) func(i int) {
	return func(i int) {
		if got[i] != want[i] {
			c.miss(i, strconv.Quote(got[i]), strconv.Quote(want[i]))
		}
	}
}

// counter collects the differences between elements.
type counter struct {
	tol     Tolerance
	maxAbs  float64
	maxRel  float64
	largest float64 // largest finite |want|
	missed  int
	first   string // text of the first miss
}

func (c *counter) number(i int, got, want float64) {
	c.size(math.Abs(want))
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return
	}
	if t := c.tol.Threshold; t != nil && (got > *t) != (want > *t) {
		c.miss(i, fmt.Sprintf("%v, which decides otherwise", got), fmt.Sprintf("%v by the threshold %v", want, *t))
		return
	}
	c.add(i, math.Abs(got-want), math.Abs(want), got, want)
}

func (c *counter) size(want float64) {
	if want > c.largest && !math.IsInf(want, 0) {
		c.largest = want
	}
}

func (c *counter) add(i int, diff, size float64, got, want any) {
	finite := !math.IsNaN(diff) && !math.IsInf(diff, 0)
	if finite {
		c.maxAbs = max(c.maxAbs, diff)
		if size != 0 {
			c.maxRel = max(c.maxRel, diff/size)
		}
	}
	if !finite || c.tol.Threshold == nil && diff > c.tol.Abs+c.tol.Rel*size {
		c.miss(i, got, want)
	}
}

func (c *counter) miss(i int, got, want any) {
	if c.missed == 0 {
		c.first = fmt.Sprintf("element %d is %v, want %v", i, got, want)
	}
	c.missed++
}

func (c *counter) result(want *tensor.Tensor) Result {
	r := Result{MaxAbs: c.maxAbs, MaxRel: c.maxRel}
	if c.largest > 0 {
		r.Share = c.maxAbs / c.largest
	}
	if c.missed > 0 {
		r.Reason = fmt.Sprintf("%d of %d elements differ; %s", c.missed, want.Len(), c.first)
	}
	return r
}
