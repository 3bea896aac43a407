package oinf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Dequantize returns the model with float32 tensors in place of quantised ones: scale * (code -
// zero point). Tensors that are declared without data become float32 too. If ctx ends, Dequantize
// returns its error.
func Dequantize(ctx context.Context, m *graph.Model) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	out, g := *m, *m.Graph
	out.Graph = &g
	g.Initializers = slices.Clone(g.Initializers)
	for i, init := range g.Initializers {
		q, rest, err := quantFrom(init.Meta, init.Tensor.Shape())
		if err != nil {
			return nil, fmt.Errorf("tensor %q: quantisation: %w", init.Name, err)
		}
		if q == nil {
			continue
		}
		t, err := q.apply(ctx, init.Tensor)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: quantisation: %w", init.Name, err)
		}
		g.Initializers[i] = &graph.Initializer{Name: init.Name, Tensor: t, Doc: init.Doc, Meta: rest}
	}
	g.Values = slices.Clone(g.Values)
	for i, v := range g.Values {
		shape, ok := v.Type.Dims.Concrete()
		if !ok {
			continue
		}
		q, rest, err := quantFrom(v.Meta, shape)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: quantisation: %w", v.Name, err)
		}
		if q != nil {
			g.Values[i] = &graph.Value{Name: v.Name, Type: graph.TensorOf(tensor.F32, v.Type.Dims), Doc: v.Doc, Meta: rest}
		}
	}
	return &out, nil
}

// apply returns the numbers that codes stand for.
func (q *quant) apply(ctx context.Context, codes *tensor.Tensor) (*tensor.Tensor, error) {
	at := tensor.Numbers(codes)
	if at == nil {
		return nil, fmt.Errorf("elements of %v are no codes", codes.DType())
	}
	shape := codes.Shape()
	channels, inner := 1, 1
	if q.scaleMode == perChannel {
		channels = shape[q.scaleAxis]
		inner = tensor.Shape(shape[q.scaleAxis+1:]).Len()
	}
	w := make([]float32, codes.Len())
	for i := range w {
		if i%chunk == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		c := i / inner % channels
		zero := 0.0
		if q.zeroMode != none {
			zero = float64(int32(binary.LittleEndian.Uint32(q.zeros[4*c:])))
		}
		scale := math.Float32frombits(binary.LittleEndian.Uint32(q.scales[4*c:]))
		w[i] = float32(float64(scale) * (at(i) - zero))
	}
	return tensor.From(w, shape...)
}
