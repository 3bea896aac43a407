package quantize

import (
	"strconv"

	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stores quantises the stores of a network of Loom. A store has one scale for all its weights.
func (j *job) stores(out *graph.Model) error {
	n, ok := j.source.Source.(*loom.Network)
	switch {
	case !ok:
		return graph.Errorf(graph.ErrUnsupported, "%s has no network of layers, and a file of entity holds nothing else; "+
			"take a file of Loom, or write a folder of a decoder as .entity first (nacre convert)", j.source.File)
	case n.Spec:
		return graph.Errorf(graph.ErrUnsupported, "%s is the spec of an architecture, which has no weights", j.source.File)
	}
	list := map[string]*loom.Layer{}
	n.Walk(func(path string, l *loom.Layer) {
		if b := l.Weights; b != nil && b.Shape != nil {
			list[path] = l
			j.total += int64(b.Shape.Len())
		}
	})
	if j.total == 0 {
		return graph.Errorf(graph.ErrUnsupported, "%s has no layer with weights", j.source.File)
	}
	if err := j.bundled(n); err != nil {
		return err
	}
	if j.Type.blocks != nil {
		return j.loomBlocks(out, n)
	}
	j.graph.Initializers = append([]*graph.Initializer(nil), j.graph.Initializers...)
	for i, x := range j.graph.Initializers {
		l := list[x.Name]
		if l == nil {
			continue
		}
		y, err := j.store(x, l)
		if err != nil {
			return err
		}
		j.graph.Initializers[i] = y
	}
	return nil
}

// bundled returns an error if a network does not hold weights of the type. A transformer bundle has
// one type for all layers, and Loom computes with codes of 4 bits and ternary ones in other ways.
func (j *job) bundled(n *loom.Network) error {
	blocks := j.Type.blocks != nil
	for _, r := range j.Layers {
		if r.Type.blocks != nil {
			return graph.Errorf(graph.ErrUnsupported, "a rule gives weights %s, and a file of entity holds it for all layers of a bundle or none", r.Type)
		}
	}
	switch {
	case n.Transformer == nil && blocks:
		return graph.Errorf(graph.ErrUnsupported, "%s: only transformer bundles of entity hold %s; take i4, i8, i2, t2 or t1",
			j.source.File, j.Type)
	case n.Transformer == nil:
		return nil
	case len(j.Layers) > 0 || j.KeepAbove > 0:
		return graph.Errorf(graph.ErrUnsupported, "%s is a transformer bundle, which has one type for all its layers; leave out rules and limits",
			j.source.File)
	case !blocks && j.Type.dtype == tensor.I4:
		return graph.Errorf(graph.ErrUnsupported, "%s is a transformer bundle, whose weights of int4 are Q4_0; take q4", j.source.File)
	case !blocks && j.Type.dtype == tensor.T2:
		return graph.Errorf(graph.ErrUnsupported,
			"%s is a transformer bundle; a ternary one computes with norms and rounded rows that only models of BitNet have; take q4, i8 or i2",
			j.source.File)
	}
	return nil
}

// kept returns why a layer keeps its floats, if it does.
func kept(l *loom.Layer) string {
	switch l.Type {
	case loom.RMSNorm, loom.LayerNorm:
		return "kept: norms are floats"
	case loom.KMeans:
		return "kept: Loom gives clusters of integers equal weight"
	case loom.ConvTransposed1D, loom.ConvTransposed2D, loom.ConvTransposed3D:
		return "kept: Loom computes transposed convolutions of floats alone"
	}
	return ""
}

// store quantises the store of a layer.
func (j *job) store(x *graph.Initializer, of *loom.Layer) (*graph.Initializer, error) {
	t, b := x.Tensor, of.Weights
	l := Layer{Name: x.Name, Shape: t.Shape(), From: b.DType.String(), To: b.DType.String(),
		Bytes: int64(t.Size()), Before: int64(t.Size())}
	l.Bits = bitsOf(l.Bytes, t.Len())
	to, ruled := j.wanted(x.Name)
	l.Note = kept(of)
	switch {
	case to.keep:
		l.Note = "kept by a rule"
	case b.DType.Scaled() && !j.Requantize:
		return nil, graph.Errorf(graph.ErrUnsupported,
			"weight %q is quantised already, as %v, and errors add up; take the original model, or allow it (--allow-requantize)",
			x.Name, b.DType)
	case ruled:
		l.Note = ""
	}
	if l.Note != "" {
		j.add(l, sums{})
		j.advance(t.Len())
		return x, nil
	}
	numbers, err := b.Float32()
	if err != nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "weight %q: %w", x.Name, err)
	}
	var scale float32
	codes := make([]int8, len(numbers))
	r := &rows{name: x.Name, source: t, n: 1, k: len(numbers), read: func(_, _ int, x []float32) { copy(x, numbers) }}
	r.encode = func(_ int, x, w, y []float32) { scale = encodeRow(codes, to.dtype, x, w, y) }
	s, err := r.each(j.ctx, j.Threads, j.advance)
	if err != nil {
		return nil, err
	}
	if j.KeepAbove > 0 && s.error() > j.KeepAbove {
		l.Error, l.Note = s.error(), "kept: the error as "+to.name+" is above the limit"
		j.report.Layers = append(j.report.Layers, l)
		return x, nil
	}
	y := &graph.Initializer{Name: x.Name, Doc: x.Doc, Tensor: tensor.New(to.dtype, t.Shape()...)}
	y.Meta = []graph.Pair{{Key: "scale", Value: strconv.FormatFloat(float64(scale), 'g', -1, 32), Kind: "float32"}}
	store(y.Tensor, codes)
	if err := j.stored(y); err != nil {
		return nil, err
	}
	l.To, l.Bytes = to.name, int64(y.Tensor.Size())+4
	l.Bits = bitsOf(l.Bytes, t.Len())
	j.add(l, s)
	return y, nil
}

// loomBlocks makes the matrices of a bundle Q4_0.
func (j *job) loomBlocks(out *graph.Model, n *loom.Network) error {
	c, err := n.Blocks()
	if err != nil {
		return graph.Errorf(graph.ErrUnsupported, "%s: %w", j.source.File, err)
	}
	m, err := c.Model()
	if err != nil {
		return err
	}
	out.Source, out.Meta = c, m.Meta
	j.graph.Initializers, j.graph.Values = m.Graph.Initializers, m.Graph.Values
	for i, l := range n.Layers {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		if l.Weights == nil || l.Weights.Shape == nil {
			continue
		}
		if err := j.loomLayer("layers."+strconv.Itoa(i), l, c.Layers[i]); err != nil {
			return err
		}
		j.advance(l.Weights.Shape.Len())
	}
	return nil
}

// loomLayer adds the matrices of a layer of a bundle to the report.
func (j *job) loomLayer(path string, before, after *loom.Layer) error {
	x, err := before.Weights.Float32()
	if err != nil {
		return err
	}
	from := before.Weights.DType
	if after == before || after.Weights != nil {
		bytes := int64(len(before.Weights.Data))
		j.add(Layer{Name: path, Shape: before.Weights.Shape, From: from.String(), To: from.String(), Bytes: bytes,
			Before: bytes, Bits: bitsOf(bytes, len(x)), Note: kept(before)}, sums{})
		return nil
	}
	parts, err := before.Parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		for _, b := range after.Extra {
			if b.Kind != loom.Q4_0 || b.Name != "q4_0."+strconv.Itoa(p.Q4) {
				continue
			}
			y, err := b.Float32()
			if err != nil {
				return err
			}
			part := x[p.Offset:][:len(y)]
			for i, v := range part {
				if v-v != 0 {
					return graph.Errorf(graph.ErrFormat, "weight %q: element %d is %v, and codes stand for numbers only", path+"."+p.Name, i, v)
				}
			}
			var s sums
			s.add(part, y, nil)
			l := Layer{Name: path + "." + p.Name, Shape: p.Shape, From: from.String(), To: j.Type.name, Bytes: int64(len(b.Data)),
				Before: int64(from.Bytes(len(y)))}
			l.Bits = bitsOf(l.Bytes, len(y))
			j.add(l, s)
		}
	}
	return nil
}
