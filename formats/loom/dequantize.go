package loom

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Dequantize returns a model of this package with float32 weights in place of codes and scales: the
// numbers that Loom computes with. Floats of 16 bits and more stay. The matrices of a ternary
// bundle still multiply 8-bit rows. If the context is done, Dequantize returns its error.
func Dequantize(ctx context.Context, m *graph.Model) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	n, ok := m.Source.(*Network)
	if !ok {
		return m, nil
	}
	out := *m
	if n.Transformer != nil {
		g := *m.Graph
		out.Graph = &g
		return &out, n.plainTensors(ctx, &g)
	}
	var problem error
	c := n.mapped(func(l *Layer, b *Blob) *Blob {
		if b.Shape == nil || !b.DType.Scaled() || problem != nil {
			return b
		}
		w, err := b.float32Within(ctx)
		if err != nil {
			problem = fmt.Errorf("%v layer: %w", l.Type, err)
			return b
		}
		plain := NewStore(Float32, w)
		plain.Shape = b.Shape
		return plain
	})
	if problem != nil {
		return nil, problem
	}
	plain, err := c.Model()
	if err != nil {
		return nil, err
	}
	out.Graph, out.Meta, out.Source = plain.Graph, plain.Meta, c
	return &out, nil
}

// float32Within is Float32, but fails if the context is done.
func (b *Blob) float32Within(ctx context.Context) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.Float32()
}

// plainTensors replaces the codes in the graph of a bundle by float32 numbers.
func (n *Network) plainTensors(ctx context.Context, g *graph.Graph) error {
	g.Initializers = slices.Clone(g.Initializers)
	blobs, paths := n.ordered()
	for _, b := range blobs {
		if b.Shape == nil || b.Kind == "" && !b.DType.Scaled() {
			continue
		}
		w, err := b.float32Within(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", paths[b], err)
		}
		t, err := tensor.From(w, b.Shape...)
		if err != nil {
			return fmt.Errorf("%s: %w", paths[b], err)
		}
		for i, init := range g.Initializers {
			if init.Name == paths[b] {
				g.Initializers[i] = &graph.Initializer{Name: init.Name, Tensor: t}
			}
		}
		if b.Kind == Q4_0 {
			g.Initializers = slices.DeleteFunc(g.Initializers, func(init *graph.Initializer) bool { return init.Name == paths[b]+scales })
		}
	}
	return nil
}
