package quantize

import (
	"math"
	"strings"
	"sync"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// notWeights are parts of the names of tensors that are no weights of products, although they end in
// weight.
var notWeights = []string{
	"norm", "ffn_gate_inp", "position_embd", "token_types", "conv", "attn_rel_b", "altup", "laurel", "time_mix",
	"router", "position_embeddings", "token_type_embeddings", "wpe",
}

// isWeight reports whether a tensor of a model without nodes is a weight.
func isWeight(x *graph.Initializer) bool {
	t := x.Tensor
	if n := len(t.Shape()); n != 2 && n != 3 || t.Len() == 0 || !strings.HasSuffix(x.Name, "weight") {
		return false
	}
	for _, part := range notWeights {
		if strings.Contains(x.Name, part) {
			return false
		}
	}
	return true
}

// quantised reports whether a tensor has codes.
func quantised(x *graph.Initializer) bool {
	if x.Tensor.DType().Blocks() != nil {
		return true
	}
	for _, p := range x.Meta {
		if p.Key == "quant.scheme" {
			return true
		}
	}
	return false
}

// tensors quantises a model without nodes.
func (j *job) tensors(out *graph.Model) error {
	list := j.graph.Initializers
	j.graph.Initializers = append([]*graph.Initializer(nil), list...)
	mix := newMix(j.source, &j.Options)
	for _, x := range list {
		if isWeight(x) {
			j.total += int64(x.Tensor.Len())
		}
	}
	changed := 0
	for i, x := range list {
		if !isWeight(x) {
			continue
		}
		y, err := j.tensor(x, mix)
		if err != nil {
			return err
		}
		if y != x {
			j.graph.Initializers[i] = y
			changed++
		}
	}
	if j.total == 0 {
		return graph.Errorf(graph.ErrUnsupported,
			"%s has no weights: no float tensor with two or three axes whose name ends in weight", j.source.File)
	}
	if j.Format == "oinf" { // version 1 holds no scales
		out.Format, out.Container = "oinf", 2
	}
	if j.Format == "gguf" {
		out.Meta = j.metadata(out.Meta, changed)
	}
	return nil
}

// tensor quantises a weight of a model without nodes.
func (j *job) tensor(x *graph.Initializer, mix *mix) (*graph.Initializer, error) {
	t := x.Tensor
	l := Layer{Name: x.Name, Source: sourceName(x), Shape: t.Shape(), From: t.DType().String(), To: t.DType().String(),
		Bytes: int64(t.Size()), Before: int64(t.Size())}
	l.Bits = bitsOf(l.Bytes, t.Len())
	to, ruled := j.wanted(x.Name, l.Source)
	if !ruled && to.blocks != nil {
		to, l.Note = mix.of(x, to)
	}
	keep := func(note string) (*graph.Initializer, error) {
		l.Note = note
		j.add(l, sums{})
		j.advance(t.Len())
		return x, nil
	}
	switch {
	case to.keep && !ruled && l.Note != "":
		return keep(l.Note + ", and stay")
	case to.keep && !ruled:
		return keep("kept, as the type says")
	case to.keep:
		return keep("kept by a rule")
	case to.blocks != nil && t.DType().Blocks() == to.blocks:
		return keep("is of this type already")
	case quantised(x) && !j.Requantize:
		return nil, graph.Errorf(graph.ErrUnsupported,
			"weight %q is quantised already, as %v, and errors add up; take the original model, or allow it (--allow-requantize)",
			x.Name, t.DType())
	case quantised(x) && t.DType().Blocks() == nil:
		return nil, graph.Errorf(graph.ErrUnsupported, "weight %q has codes of %v with scales beside them; convert the model with --dequantize first",
			x.Name, t.DType())
	case !quantised(x) && !t.DType().IsFloat():
		return keep("holds no floats")
	}
	y := &graph.Initializer{Name: x.Name, Doc: x.Doc, Meta: x.Meta}
	var s sums
	var err error
	if to.blocks != nil {
		y.Tensor, s, err = j.blocks(x, to.blocks)
	} else {
		err = j.codes(y, x, to, &s)
	}
	if err != nil {
		return nil, err
	}
	if j.KeepAbove > 0 && s.error() > j.KeepAbove {
		l.Error = s.error()
		l.Note = "kept: the error as " + to.name + " is above the limit"
		j.report.Layers = append(j.report.Layers, l)
		return x, nil
	}
	if err := j.stored(y); err != nil {
		return nil, err
	}
	l.To, l.Bytes = to.name, int64(y.Tensor.Size())
	for _, p := range y.Meta[len(x.Meta):] {
		if p.Data != nil {
			l.Bytes += int64(p.Data.Size())
		}
	}
	l.Bits = bitsOf(l.Bytes, t.Len())
	j.add(l, s)
	return y, nil
}

func bitsOf(bytes int64, n int) float64 { return 8 * float64(bytes) / float64(max(n, 1)) }

// blocks returns a tensor in blocks.
func (j *job) blocks(x *graph.Initializer, b *packed.Blocks) (*tensor.Tensor, sums, error) {
	t := x.Tensor
	shape := t.Shape()
	k := shape[len(shape)-1]
	if k%b.Elements != 0 {
		return nil, sums{}, graph.Errorf(graph.ErrUnsupported,
			"weight %q has rows of %d elements, no multiple of the %d of a block of %s; give it another type by a rule",
			x.Name, k, b.Elements, b.Name)
	}
	y := tensor.New(dtypeOf(b), shape...)
	data := y.Bytes()
	bytes := b.Size(k)
	read, err := reader(t, k)
	if err != nil {
		return nil, sums{}, graph.Errorf(graph.ErrUnsupported, "weight %q: %w", x.Name, err)
	}
	weigh, err := j.Importance.of(x.Name, shape)
	if err != nil {
		return nil, sums{}, err
	}
	compute, err := search()
	if err != nil {
		return nil, sums{}, err
	}
	quantizers := sync.Pool{New: func() any { return b.Quantizer(compute) }}
	r := &rows{name: x.Name, source: t, n: t.Len() / k, k: k, read: read, weigh: weigh, encode: func(row int, x, w, y []float32) {
		dst := data[row*bytes:][:bytes]
		quantize := quantizers.Get().(func(dst []byte, src, importance []float32))
		quantize(dst, x, w)
		quantizers.Put(quantize)
		b.Unpack(y, dst)
	}}
	if h := j.products(x.Name); h != nil && len(shape) == 2 {
		if len(h) != k*k {
			return nil, sums{}, graph.Errorf(graph.ErrShape,
				"weight %q is %v, and its products are of %d columns; is the calibration of another model?", x.Name, shape, int(math.Sqrt(float64(len(h)))))
		}
		quantizer := func() func(dst []byte, src, importance []float32) { return b.Quantizer(compute) }
		err := r.compensateBlocks(h, b, data, quantizer)
		if err != nil {
			return nil, sums{}, err
		}
	}
	s, err := r.each(j.ctx, j.Threads, j.advance)
	return y, s, err
}
