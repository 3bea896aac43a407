package loom

import (
	"bytes"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
)

// converted returns the network with the stores of float64, float32, float16 and
// bfloat16 in the type that the options say; everything else, and what bundles hold
// in float32 alone, stays. It notes why that cannot be.
func (n *Network) converted(o container.Options, refused *container.Refusals) *Network {
	to := Float64
	for to <= BFloat16 && dtypes[to].codes != o.DType {
		to++
	}
	if to > BFloat16 {
		refused.Add("weights cannot become %v, which Loom does not have: it has float32, float64, float16 and bfloat16", o.DType)
		return n
	}
	c := *n
	if t := n.Transformer; t != nil {
		if to == Float64 {
			refused.Add("a transformer bundle cannot be of float64")
		}
		if d := n.WeightDType(); d <= BFloat16 {
			named := *t
			named.WeightDType = to.String()
			c.Transformer = &named
		}
	}
	c.mapStores(func(l *Layer, b *Blob) *Blob {
		if b.DType > BFloat16 || b.Shape == nil || l.Type == RMSNorm && n.Transformer != nil {
			return b
		}
		w, err := b.as(to, o)
		if err != nil {
			refused.Add("%v layer: %w", l.Type, err)
			return b
		}
		return w
	})
	return &c
}

// mapStores gives copies of the layers, which n gets, the stores that f returns for theirs.
func (n *Network) mapStores(f func(l *Layer, b *Blob) *Blob) {
	replaced := map[*Blob]*Blob{}
	var layer func(l *Layer) *Layer
	list := func(layers []*Layer) []*Layer {
		copies := slices.Clone(layers)
		for i, l := range layers {
			copies[i] = layer(l)
		}
		return copies
	}
	layer = func(l *Layer) *Layer {
		k := *l
		if b := l.Weights; b != nil {
			if w := f(l, b); w != b {
				replaced[b] = w
				k.Weights, k.DType = w, w.DType
			}
		}
		k.Branches, k.Steps = list(l.Branches), list(l.Steps)
		if l.Observed != nil {
			k.Observed = layer(l.Observed)
		}
		return &k
	}
	n.Layers = list(n.Layers)
	n.order = slices.Clone(n.order)
	for i, b := range n.order {
		if w := replaced[b]; w != nil {
			n.order[i] = w
		}
	}
}

// as returns a store of floats in another type, rounded to nearest.
func (b *Blob) as(to DType, o container.Options) (*Blob, error) {
	t, err := b.DType.tensor(b.Data, b.Scale, b.Shape)
	if err != nil {
		return nil, err
	}
	p, err := o.For(t)
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(p.Len()))
	if _, err := p.WriteTo(&data); err != nil {
		return nil, err
	}
	return &Blob{DType: to, Scale: b.Scale, Native: true, Data: data.Bytes(), Shape: b.Shape, offset: -1}, nil
}
