package gguf

import (
	"context"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Dequantize returns the model with float32 tensors in place of tensors of blocks. If ctx ends,
// Dequantize returns its error.
func Dequantize(ctx context.Context, m *graph.Model) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	out, g := *m, *m.Graph
	out.Graph = &g
	g.Initializers = slices.Clone(g.Initializers)
	for i, init := range g.Initializers {
		b := init.Tensor.DType().Blocks()
		if b == nil {
			continue
		}
		t := tensor.New(tensor.F32, init.Tensor.Shape()...)
		list, blocks := tensor.View[float32](t), init.Tensor.Bytes()
		err := pieces.Each(ctx, t.Len()/b.Elements, pieces.Elements/b.Elements, func(from, to int) {
			b.Unpack(list[from*b.Elements:to*b.Elements], blocks[from*b.Bytes:to*b.Bytes])
		})
		if err != nil {
			return nil, err
		}
		g.Initializers[i] = &graph.Initializer{Name: init.Name, Tensor: t, Doc: init.Doc, Meta: init.Meta}
	}
	return &out, nil
}
