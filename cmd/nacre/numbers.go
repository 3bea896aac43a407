package main

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// numbers returns the first n elements in their JSON form: integers in full, floats as the shortest
// decimals that parse to the same float, or "NaN", "Infinity" and "-Infinity", booleans, text, and
// complex numbers as pairs. If ctx is done, the result is incomplete.
func numbers(ctx context.Context, t *tensor.Tensor, n int) []any {
	n = min(n, t.Len())
	if n <= 0 {
		return nil
	}
	t = t.Aligned()
	list := make([]any, n)
	switch t.DType() {
	case tensor.String:
		return each(ctx, list, func(i int) any { return t.Strings()[i] })
	case tensor.Bool:
		return each(ctx, list, func(i int) any { return t.Bytes()[i] != 0 })
	case tensor.I64:
		return each(ctx, list, func(i int) any { return tensor.View[int64](t)[i] })
	case tensor.U64:
		return each(ctx, list, func(i int) any { return tensor.View[uint64](t)[i] })
	case tensor.C64:
		return each(ctx, list, func(i int) any {
			v := tensor.View[complex64](t)[i]
			return []any{number(float64(real(v)), 32), number(float64(imag(v)), 32)}
		})
	case tensor.C128:
		return each(ctx, list, func(i int) any {
			v := tensor.View[complex128](t)[i]
			return []any{number(real(v), 64), number(imag(v), 64)}
		})
	}
	at, bits := tensor.Numbers(t), 32
	if kind := t.DType().Kind(); kind == tensor.Signed || kind == tensor.Unsigned {
		return each(ctx, list, func(i int) any { return int64(at(i)) })
	}
	if t.DType() == tensor.F64 {
		bits = 64
	}
	return each(ctx, list, func(i int) any { return number(at(i), bits) })
}

// each sets the elements of list by at, until ctx is done, and returns list.
func each(ctx context.Context, list []any, at func(i int) any) []any {
	_ = pieces.Each(ctx, len(list), pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			list[i] = at(i)
		}
	})
	return list
}

// number returns a float of bits bits in its JSON form.
func number(v float64, bits int) any {
	switch {
	case v != v:
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0 && math.Signbit(v):
		return json.Number("-0.0")
	case v == math.Trunc(v) && math.Abs(v) < 1<<31:
		return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return json.Number(strconv.FormatFloat(v, 'g', -1, bits))
}
