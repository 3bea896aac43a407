package loom

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Blocks returns the network of a bundle with the matrices of its layers as Q4_0 blobs. Other weights are shared
// with n. It fails for a network that is no bundle, for stores that are quantised already, and for
// biases of attention, which a bundle of int4 has no place for.
func (n *Network) Blocks() (_ *Network, err error) {
	defer guard.At("").End(&err)
	if n.Transformer == nil {
		return nil, fmt.Errorf("only transformer bundles hold Q4_0; stores of other networks hold int4")
	}
	c, t := *n, *n.Transformer
	t.WeightDType, c.Transformer = Int4.String(), &t
	c.Layers, c.order = slices.Clone(n.Layers), nil
	for i, l := range c.Layers {
		if l.Type != MultiHeadAttention && l.Type != SwiGLU {
			continue
		}
		if c.Layers[i], err = l.blocks(); err != nil {
			return nil, fmt.Errorf("layers.%d: %w", i, err)
		}
	}
	return &c, nil
}

// blocks returns a layer of a bundle with its matrices as Q4_0 blobs.
func (l *Layer) blocks() (*Layer, error) {
	b := l.Weights
	if b == nil || b.DType > BFloat16 {
		return nil, fmt.Errorf("the layer has no store of floats; take the original model")
	}
	w, err := b.Float32()
	if err != nil {
		return nil, err
	}
	parts, err := l.Parts()
	if err != nil {
		return nil, err
	}
	k := *l
	k.DType, k.Weights, k.Extra = Int4, nil, nil
	first := len(w) // the first bias
	for _, p := range parts {
		if p.Offset+p.Shape.Len() > len(w) {
			return nil, fmt.Errorf("%d weights are too few", len(w))
		}
		if p.Q4 == 0 {
			first = min(first, p.Offset)
			continue
		}
		k.Extra = append(k.Extra, &Blob{Name: fmt.Sprintf("q4_0.%d", p.Q4), Kind: Q4_0, DType: Float32, Native: true,
			Data: PackQ4_0(w[p.Offset:][:p.Shape.Len()]), Shape: p.Shape, offset: -1})
	}
	biases := w[first:]
	switch {
	case l.Type == SwiGLU:
		k.Extra = append(k.Extra, plainBlob("biases", biases, tensor.Shape{len(biases)}))
	case slices.ContainsFunc(biases, func(v float32) bool { return v != 0 }):
		return nil, fmt.Errorf("a bundle of int4 has no place for the biases of attention (one of int8 has)")
	}
	k.Extra = append(k.Extra, l.Extra...)
	return &k, nil
}
