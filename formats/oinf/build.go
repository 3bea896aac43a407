package oinf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// builder collects the contents of a file, and the reasons why the format cannot hold the model.
type builder struct {
	container.Options
	m       *graph.Model
	file    *file
	bitsets map[string]bool
	refused container.Refusals
}

// lost records metadata that the format cannot hold. With DropMeta it does nothing.
func (b *builder) lost(format string, args ...any) {
	if !b.DropMeta {
		b.refused.Add(format, args...)
	}
}

// graph records the parts of the graph that the format cannot hold.
func (b *builder) graph() {
	m, g := b.m, b.m.Graph
	for _, s := range g.Sparse {
		b.refused.Add("tensor %q is sparse, and OINF holds dense tensors only", s.Name)
	}
	if container.HasGraph(m) {
		if !b.DropGraph {
			b.refused.Add("the graph (%d nodes, %d inputs, %d outputs, %d functions): OINF holds tensors only (it can be left out)",
				len(g.Nodes), len(g.Inputs), len(g.Outputs), len(m.Functions))
		}
		return
	}
	for _, what := range container.Described(m) {
		b.lost("%s has no place in OINF (it can be left out)", what)
	}
	for _, p := range g.Meta {
		b.lost("metadata %q of the graph has no place in OINF (it can be left out)", p.Key)
	}
}

// name returns the name under which s is written. Names in a table must differ; taken holds those
// in use.
func (b *builder) name(taken map[string]string, s string) (string, error) {
	name := s
	if !holds(s) {
		if !b.Rename {
			return "", fmt.Errorf("the name takes one or more of letters, digits, '.', '_' and '-' (it can be escaped)")
		}
		if name = escape(s); !holds(name) {
			return "", fmt.Errorf("the name is too long")
		}
	}
	if other, ok := taken[name]; ok {
		return "", fmt.Errorf("%q has the name %q already", other, name)
	}
	taken[name] = s
	return name, nil
}

func (b *builder) variables() {
	taken := map[string]string{}
	for _, s := range b.m.Sizes {
		name, err := b.name(taken, s.Name)
		if err != nil {
			b.lost("size variable %q: %w", s.Name, err)
			continue
		}
		b.file.sizes = append(b.file.sizes, graph.Size{Name: name, Value: s.Value})
	}
}

func (b *builder) metadata() {
	taken := map[string]string{}
	for _, p := range b.m.Meta {
		e, err := entry(p)
		if err == nil {
			e.key, err = b.name(taken, p.Key)
		}
		if err != nil {
			b.lost("metadata %q: %w (it can be left out)", p.Key, err)
			continue
		}
		b.file.meta = append(b.file.meta, e)
	}
}

// entry returns a piece of metadata in the form of the format.
func entry(p graph.Pair) (e metaEntry, err error) {
	t := p.Data
	if t == nil {
		if !holds(p.Value) {
			return e, fmt.Errorf("the text takes one or more of letters, digits, '.', '_' and '-'")
		}
		e.tag = tagString
		e.head = append(binary.LittleEndian.AppendUint32(nil, uint32(len(p.Value))), p.Value...)
		e.size = record(p.Value)
		return e, nil
	}
	tag := tagOf(t.DType())
	if tag == 0 {
		return e, fmt.Errorf("OINF has no type for elements of %v", t.DType())
	}
	data, err := container.Options{}.For(t)
	if err != nil {
		return e, err
	}
	e.data = &data
	switch {
	case p.Kind == types[tagBitset].word && t.DType() == tensor.U1 && len(t.Shape()) == 1 && uint64(t.Len()) <= math.MaxUint32:
		e.tag = tagBitset
		e.head = binary.LittleEndian.AppendUint32(nil, uint32(t.Len()))
		e.head = binary.LittleEndian.AppendUint32(e.head, uint32(len(t.Bytes())))
	case len(t.Shape()) == 0 && p.Kind != types[tagNDArray].word:
		e.tag = tag
		e.size = uint64(e.data.Len())
		return e, nil
	default:
		e.tag = tagNDArray
		e.head = binary.LittleEndian.AppendUint32(nil, tag)
		e.head = binary.LittleEndian.AppendUint32(e.head, uint32(len(t.Shape())))
		for _, n := range t.Shape() {
			e.head = binary.LittleEndian.AppendUint64(e.head, uint64(n))
		}
	}
	e.size = padded(uint64(len(e.head)) + uint64(e.data.Len()))
	return e, nil
}

func (b *builder) tensors() {
	taken, weights := map[string]string{}, map[string]bool{}
	for _, init := range b.m.Graph.Initializers {
		weights[init.Name] = true
		what := fmt.Sprintf("tensor %q", init.Name)
		data, err := b.For(init.Tensor)
		e := tensorEntry{tag: b.tag(data.DType(), init.Name), shape: init.Tensor.Shape(), data: &data}
		if err == nil && e.tag == 0 {
			err = fmt.Errorf("OINF has no type for elements of %v", data.DType())
		}
		if err == nil {
			e.name, err = b.name(taken, init.Name)
		}
		if err != nil {
			b.refused.Add("%s: %w", what, err)
			continue
		}
		if init.Doc != "" {
			b.lost("%s: its documentation has no place in OINF (it can be left out)", what)
		}
		e.quant = b.details(what, init.Meta, e.shape)
		b.file.tensors = append(b.file.tensors, e)
	}
	if container.HasGraph(b.m) {
		return
	}
	for _, v := range b.m.Graph.Values {
		if !weights[v.Name] {
			b.declare(taken, v)
		}
	}
}

// tag returns the tag of a tensor's elements, or 0 if the format has none.
func (b *builder) tag(d tensor.DType, name string) uint32 {
	if d == tensor.U8 && b.bitsets[name] {
		return tagBitset
	}
	return tagOf(d)
}

// declare adds a tensor without data.
func (b *builder) declare(taken map[string]string, v *graph.Value) {
	what := fmt.Sprintf("declared tensor %q", v.Name)
	e := tensorEntry{tag: b.tag(v.Type.DType, v.Name)}
	shape, ok := v.Type.Dims.Concrete()
	var err error
	switch {
	case v.Type.Kind != graph.TensorType || e.tag == 0 || !ok || shape.Check() != nil:
		err = fmt.Errorf("OINF cannot declare %v", v.Type)
	default:
		e.shape = shape
		e.name, err = b.name(taken, v.Name)
	}
	if err != nil {
		b.lost("%s: %w (it can be left out)", what, err)
		return
	}
	if v.Doc != "" {
		b.lost("%s: its documentation has no place in OINF (it can be left out)", what)
	}
	e.quant = b.details(what, v.Meta, shape)
	b.file.tensors = append(b.file.tensors, e)
}

// details returns the quantisation in the metadata of a tensor, or nil.
func (b *builder) details(what string, list []graph.Pair, shape tensor.Shape) *quant {
	q, rest, err := quantFrom(list, shape)
	for _, p := range rest {
		b.lost("%s: its metadata %q has no place in OINF (it can be left out)", what, p.Key)
	}
	switch {
	case err != nil:
		b.lost("%s: quantisation: %w (it can be left out)", what, err)
		return nil
	case q != nil && b.file.version < 2:
		b.lost("%s: its quantisation has no place in version 1 of OINF (it can be left out)", what)
		return nil
	}
	return q
}
