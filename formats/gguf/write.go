package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Write writes the tensors and the metadata of a model to one file, in the order of the model. With
// o.DType, vectors of a network stay float32. If the format cannot hold the model, Write returns
// all reasons before it writes anything.
func Write(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	var r container.Refusals
	o.TensorsOnly(m, &r)
	f := &file{version: 3, alignment: defaultAlignment}
	if m.Format == Name && m.Container == 2 {
		f.version = 2
	}
	f.metadata(m, o, &r)
	f.items(m, o, &r)
	if err := r.Err(); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	b := binio.NewWriter(buffered)
	f.write(b)
	if err := b.Err(); err != nil {
		return err
	}
	return buffered.Flush()
}

// file is the contents of a file before it is written.
type file struct {
	version   uint32
	alignment int64
	pairs     []value
	tensors   []item
}

// value is a pair to be written.
type value struct {
	key  string
	kind uint32
	of   uint32 // type of an array's elements
	text string
	data *tensor.Tensor // nil for a string
}

// item is a tensor to be written.
type item struct {
	name    string
	kind    *elementType
	shape   tensor.Shape
	payload container.Payload
}

// metadata takes the pairs of a model, and refuses those that the format cannot hold.
func (f *file) metadata(m *graph.Model, o container.Options, r *container.Refusals) {
	met := map[string]bool{}
	for i := range m.Meta {
		p := &m.Meta[i]
		v, err := valueOf(p)
		n, aligned := alignmentOf(p)
		count, _ := integer(p)
		switch {
		case err != nil:
		case p.Key == "":
			err = errors.New("has no key")
		case met[p.Key]:
			err = errors.New("is there more than once")
		case p.Key == alignmentKey && !aligned:
			err = errors.New("is no power of two of type u32")
		case p.Key == splitCountKey && count > 1:
			err = errors.New("says that the model has several files")
		case p.Key == alignmentKey:
			f.alignment = int64(n)
		}
		if err == nil {
			met[p.Key] = true
			f.pairs = append(f.pairs, v)
		} else if !o.DropMeta {
			r.Add("metadata %q %w (it can be left out)", p.Key, err)
		}
	}
}

// valueOf returns the value of a pair. Its error follows the pair's name.
func valueOf(p *graph.Pair) (v value, err error) {
	v = value{key: p.Key, kind: stringValue, text: p.Value, data: p.Data}
	t := p.Data
	if t == nil {
		return v, nil
	}
	if p.Kind == nested && t.DType() == tensor.U8 {
		v.kind, v.of = arrayValue, arrayValue
		if !wellFormed(t.Bytes()) {
			err = errors.New("is no array of arrays")
		}
		return v, err
	}
	v.of = arrayValue
	for i, x := range values {
		if x.dtype == t.DType() && x.dtype != tensor.Invalid {
			v.of = uint32(i)
		}
	}
	switch rank := len(t.Shape()); {
	case v.of == arrayValue:
		return v, fmt.Errorf("is of %v, and the format has numbers of 8 to 64 bits, booleans and strings", t.DType())
	case rank > 1:
		return v, fmt.Errorf("is %v, and the format has numbers and lists of them", t)
	case rank == 1:
		v.kind = arrayValue
	case v.of == stringValue:
		v.text, v.data = t.Strings()[0], nil
	default:
		v.kind = v.of
	}
	return v, nil
}

// wellFormed reports whether data is the value of an array of arrays.
func wellFormed(data []byte) bool {
	s := &scanner{Problems: container.Problems{Budget: container.Reading(nil, len(data))}, data: data,
		order: binary.LittleEndian}
	r := s.Reader(data, 0)
	kind, _ := s.array(r)
	return kind == nested && !r.Failed() && r.Remaining() == 0 && s.First() == nil
}

// items takes the tensors of a model, and refuses those that the format cannot hold.
func (f *file) items(m *graph.Model, o container.Options, r *container.Refusals) {
	holds := func(name string) error {
		if name == "" {
			return errors.New("has no name")
		}
		return nil
	}
	network := slices.ContainsFunc(m.Meta, func(p graph.Pair) bool { return p.Key == architectureKey })
	for i, name := range o.Names(m.Graph, holds, r) {
		t, of := m.Graph.Initializers[i], o
		if network && len(t.Tensor.Shape()) < 2 && t.Tensor.DType() == tensor.F32 {
			of.DType = tensor.Invalid // llama.cpp takes no other norms and biases
		}
		payload, err := of.For(t.Tensor)
		if err != nil {
			r.Add("tensor %q: %w", t.Name, err)
			continue
		}
		kind, shape := typeOf(payload.DType()), t.Tensor.Shape()
		if kind == nil {
			r.Add("tensor %q is of %v, and the format has %s", t.Name, payload.DType(), typeNames())
		}
		if len(shape) > maxAxes {
			r.Add("tensor %q has %d axes, and the format has %d", t.Name, len(shape), maxAxes)
		}
		f.tensors = append(f.tensors, item{name, kind, shape, payload})
	}
}

func (f *file) write(b *binio.Writer) {
	io.WriteString(b, magic)
	b.U32(f.version)
	b.U64(uint64(len(f.tensors)))
	b.U64(uint64(len(f.pairs)))
	for i := range f.pairs {
		f.pairs[i].write(b)
	}
	at := int64(0)
	for _, t := range f.tensors {
		writeText(b, t.name)
		b.U32(uint32(len(t.shape)))
		for i := range t.shape {
			b.U64(uint64(t.shape[len(t.shape)-1-i]))
		}
		b.U32(t.kind.number)
		b.U64(uint64(at))
		at += t.payload.Len()
		at += (f.alignment - at%f.alignment) % f.alignment
	}
	if len(f.tensors) == 0 {
		b.Align(min(f.alignment, defaultAlignment))
		return
	}
	b.Align(f.alignment)
	for _, t := range f.tensors {
		b.Append(t.payload)
		b.Align(f.alignment)
	}
}

func (v *value) write(b *binio.Writer) {
	writeText(b, v.key)
	b.U32(v.kind)
	switch {
	case v.kind == stringValue:
		writeText(b, v.text)
		return
	case v.kind == arrayValue && v.of == arrayValue:
		b.Write(v.data.Bytes())
		return
	case v.kind == arrayValue:
		b.U32(v.of)
		b.U64(uint64(v.data.Len()))
	}
	if v.of == stringValue {
		for _, s := range v.data.Strings() {
			writeText(b, s)
		}
		return
	}
	data, err := container.Options{}.For(v.data)
	if err != nil {
		panic("gguf: " + err.Error()) // the type stays as it is
	}
	b.Append(data)
}

// writeText writes a string.
func writeText(b *binio.Writer, s string) {
	b.U64(uint64(len(s)))
	io.WriteString(b, s)
}
