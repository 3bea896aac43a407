package onnx

import (
	"bytes"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Target returns a model as an ONNX file can hold it: its metadata is text, and its element types
// are types of ONNX. The error lists every part that ONNX cannot hold.
func Target(m *graph.Model, o container.Options) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	var refused container.Refusals
	r := *m
	r.Meta = nil
	for _, p := range m.Meta {
		switch {
		case p.Data == nil:
			r.Meta = append(r.Meta, graph.Pair{Key: p.Key, Value: p.Value})
		case !o.DropMeta:
			refused.Add("metadata %q is %v, and ONNX holds text only (it can be left out)", p.Key, p.Data)
		}
	}
	if len(m.Sizes) > 0 && !o.DropMeta {
		refused.Add("%d size variables have no place in ONNX (they can be left out)", len(m.Sizes))
	}
	g := *m.Graph
	r.Graph, r.Sizes = &g, nil
	if len(g.Nodes) == 0 && len(g.Values) > 0 && len(g.Outputs) == 0 {
		if !o.DropMeta {
			refused.Add("%d tensors are declared without data, which ONNX cannot say (they can be left out)", len(g.Values))
		}
		g.Values = nil
	}
	if o.DropGraph {
		g.Nodes, g.Inputs, g.Outputs, g.Values, g.Quant = nil, nil, nil, nil, nil
		r.Functions = nil
	}
	if o.DType != tensor.Invalid && len(g.Nodes) > 0 {
		refused.Add("the weights of a model with nodes cannot become %v: the nodes rely on their types (without its graph the model can be converted)", o.DType)
		return nil, refused.Err()
	}
	if !o.DropGraph {
		refuseForeign(m, &refused)
	}
	inits := packBlocks(&g, o)
	g.Initializers = nil
	for _, init := range inits {
		var text []graph.Pair
		for _, p := range init.Meta {
			switch {
			case p.Data == nil:
				text = append(text, p)
			case !o.DropMeta:
				refused.Add("metadata %q of tensor %q is %v, and ONNX holds text only (it can be left out)", p.Key, init.Name, p.Data)
			}
		}
		p, err := o.For(init.Tensor)
		if err != nil {
			refused.Add("tensor %q: %w", init.Name, err)
			continue
		}
		if !slices.Contains(tensor.DTypes(), p.DType()) {
			refused.Add("tensor %q is of %v, which ONNX does not have", init.Name, p.DType())
			continue
		}
		if p.DType() != init.Tensor.DType() {
			var b bytes.Buffer
			b.Grow(int(p.Len()))
			if _, err := p.WriteTo(&b); err != nil {
				return nil, err
			}
			t, err := tensor.FromBytes(p.DType(), init.Tensor.Shape(), b.Bytes())
			if err != nil {
				return nil, err
			}
			init = &graph.Initializer{Name: init.Name, Tensor: t, Doc: init.Doc, Meta: text}
		} else if len(text) < len(init.Meta) {
			init = &graph.Initializer{Name: init.Name, Tensor: init.Tensor, Doc: init.Doc, Meta: text}
		}
		g.Initializers = append(g.Initializers, init)
	}
	return &r, refused.Err()
}
