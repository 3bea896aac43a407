package oinf

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Write writes the tensors, metadata and size variables of a model. It finds every part that the
// format cannot hold before it writes the first byte. The options leave out or rename such parts. A
// model's producer, domain, version and documentation are left out with its nodes. Renaming makes
// "a/b" a_x2fb: each byte that a name cannot have becomes _x and two hexadecimal digits. If two
// names become the same, Write fails.
func Write(w io.Writer, m *graph.Model, o container.Options) (err error) {
	defer guard.At(m.File).End(&err)
	f, err := target(m, o)
	if err != nil {
		return err
	}
	f.place()
	buffered := bufio.NewWriterSize(w, 1<<16)
	b := binio.NewWriter(buffered)
	f.header(b)
	f.tables(b)
	f.payloads(b)
	if err := b.Err(); err != nil {
		return err
	}
	return buffered.Flush()
}

// file is the contents of a file before it is written.
type file struct {
	version int
	sizes   []graph.Size
	meta    []metaEntry
	tensors []tensorEntry
	at      [sections]uint64
	size    uint64
}

type metaEntry struct {
	key    string
	tag    uint32
	head   []byte             // of the payload
	data   *container.Payload // follows head; nil for none
	size   uint64             // as stored in the entry
	offset uint64
}

type tensorEntry struct {
	name        string
	tag         uint32
	shape       tensor.Shape
	data        *container.Payload // nil for a declaration
	offset      uint64
	quant       *quant // nil for none
	quantOffset uint64
}

// target returns the contents of a model's file, with each table sorted by name.
func target(m *graph.Model, o container.Options) (*file, error) {
	b := &builder{Options: o, file: &file{version: 1}, m: m}
	if m.Graph == nil {
		return nil, fmt.Errorf("the model has no graph")
	}
	if m.Format == Name && m.Container == 2 {
		b.file.version = 2
	}
	if og, ok := m.Source.(*origin); ok {
		b.bitsets = og.bitsets
	}
	b.graph()
	b.variables()
	b.metadata()
	b.tensors()
	if err := b.refused.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(b.file.sizes, func(x, y graph.Size) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(b.file.meta, func(x, y metaEntry) int { return cmp.Compare(x.key, y.key) })
	slices.SortFunc(b.file.tensors, func(x, y tensorEntry) int { return cmp.Compare(x.name, y.name) })
	return b.file, nil
}

// place sets the offsets of sections and payloads.
func (f *file) place() {
	f.at[sizes] = headerPad
	at := uint64(headerPad)
	for _, s := range f.sizes {
		at += record(s.Name) + 8
	}
	f.at[metadata] = at
	for _, e := range f.meta {
		at += record(e.key) + 24
	}
	f.at[tensors] = at
	for _, e := range f.tensors {
		at += record(e.name) + 12 + 8*uint64(len(e.shape)) + 16
		if f.version == 2 {
			at += 16
		}
	}
	at = padded(at)
	f.at[payloads] = at
	for i := range f.meta {
		e := &f.meta[i]
		e.offset = at
		at = padded(at + e.size)
	}
	for i := range f.tensors {
		e := &f.tensors[i]
		if e.data != nil {
			e.offset = at
			at = padded(at + uint64(e.data.Len()))
		}
		if e.quant != nil {
			e.quantOffset = at
			at += e.quant.len()
		}
	}
	f.size = at
}

// record returns the length of a string record.
func record(s string) uint64 { return padded(4 + uint64(len(s))) }

func (f *file) header(w *binio.Writer) {
	w.Write(magic)
	w.U32(uint32(f.version))
	w.U32(0)
	w.U32(uint32(len(f.sizes)))
	w.U32(uint32(len(f.meta)))
	w.U32(uint32(len(f.tensors)))
	w.U32(0)
	for _, at := range f.at {
		w.U64(at)
	}
	w.U64(f.size)
	w.Align(8)
}

func (f *file) tables(w *binio.Writer) {
	for _, s := range f.sizes {
		writeText(w, s.Name)
		w.U64(s.Value)
	}
	for _, e := range f.meta {
		writeText(w, e.key)
		w.U32(e.tag)
		w.U32(0)
		w.U64(e.size)
		w.U64(e.offset)
	}
	for _, e := range f.tensors {
		f.tensor(w, e)
	}
	w.Align(8)
}

func (f *file) tensor(w *binio.Writer, e tensorEntry) {
	var flags uint32
	var size, quantSize uint64
	if e.data != nil {
		flags, size = hasData, uint64(e.data.Len())
	}
	if e.quant != nil {
		flags, quantSize = flags|hasQuant, e.quant.len()
	}
	writeText(w, e.name)
	w.U32(e.tag)
	w.U32(uint32(len(e.shape)))
	w.U32(flags)
	for _, n := range e.shape {
		w.U64(uint64(n))
	}
	w.U64(size)
	w.U64(e.offset)
	if f.version == 2 {
		w.U64(quantSize)
		w.U64(e.quantOffset)
	}
}

// writeText writes a string record. Its padding counts from its start.
func writeText(w *binio.Writer, s string) {
	w.U32(uint32(len(s)))
	io.WriteString(w, s)
	w.Zeros(int64(record(s)) - 4 - int64(len(s)))
}

func (f *file) payloads(w *binio.Writer) {
	for _, e := range f.meta {
		w.Write(e.head)
		writeData(w, e.data)
	}
	for _, e := range f.tensors {
		writeData(w, e.data)
		if e.quant != nil {
			e.quant.write(w)
		}
	}
}

// writeData writes a payload, unless p is nil, and pads up to a multiple of 8.
func writeData(w *binio.Writer, p *container.Payload) {
	if p != nil {
		w.Append(p)
	}
	w.Align(8)
}
