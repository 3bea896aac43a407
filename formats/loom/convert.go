package loom

import (
	"bytes"

	"github.com/nacre-ml/nacre/formats/internal/container"
)

// converted returns the network with its float64, float32, float16 and bfloat16 stores converted to
// the type in the options. Other stores stay, and so do stores that bundles hold only in float32.
// If a store cannot be converted, converted notes the reason in refused.
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
	return c.mapped(func(l *Layer, b *Blob) *Blob {
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
}

// mapped returns the network with every store replaced by f's result.
func (n *Network) mapped(f func(l *Layer, b *Blob) *Blob) *Network {
	by := map[*Blob]*Blob{}
	n.walk(func(_ func() string, l *Layer) {
		if b := l.Weights; b != nil && by[b] == nil {
			if w := f(l, b); w != b {
				by[b] = w
			}
		}
	})
	return n.replaced(by)
}

// as returns a store of floats converted to another type, rounded to nearest.
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
