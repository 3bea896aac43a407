package invent

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/packed"
)

// Random returns a tensor of random values for the input in: floats from a normal distribution,
// integers and booleans 0 or 1. Open extents come from e. If ctx is done, it returns the error of ctx.
func Random(ctx context.Context, r *rand.Rand, in nacre.Info, e *Extents) (*nacre.Tensor, error) {
	if in.Kind != nacre.TensorKind || in.Shape == nil || !in.DType.Valid() {
		return nil, fmt.Errorf("no random value of type %s can be made", in.Type())
	}
	x, err := nacre.Zeros(in.DType, e.Shape(in)...)
	if err != nil {
		return nil, err
	}
	switch in.DType {
	case nacre.Float32:
		err = fill(ctx, x, func() float32 { return float32(r.NormFloat64()) })
	case nacre.Float64:
		err = fill(ctx, x, r.NormFloat64)
	case nacre.Float16:
		err = fill(ctx, x, func() packed.F16 { return packed.ToF16(float32(r.NormFloat64())) })
	case nacre.BFloat16:
		err = fill(ctx, x, func() packed.BF16 { return packed.ToBF16(float32(r.NormFloat64())) })
	default:
		// The lowest bit of every element is random: 0 or 1 in any integer type.
		if size := in.DType.Bits() / 8; size > 0 && (in.DType.IsInteger() || in.DType == nacre.Bool) {
			b := x.Bytes()
			err = pieces.Each(ctx, len(b)/size, pieces.Elements, func(from, to int) {
				for i := from; i < to; i++ {
					b[i*size] = byte(r.IntN(2))
				}
			})
		}
	}
	return x, err
}

func fill[T nacre.Element](ctx context.Context, t *nacre.Tensor, next func() T) error {
	s, err := nacre.Data[T](t)
	if err != nil {
		return err
	}
	return pieces.Each(ctx, len(s), pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			s[i] = next()
		}
	})
}
