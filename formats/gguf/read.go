package gguf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Name is the format's name.
const Name = "gguf"

const (
	magic        = "GGUF"
	alignmentKey = "general.alignment"
	// defaultAlignment is the alignment of files without alignmentKey.
	defaultAlignment = 32
)

// The fewest bytes of a pair and of the description of a tensor.
const (
	leastPair   = 8 + 1 + 4 + 1
	leastTensor = 8 + 1 + 4 + 4 + 8
)

// Probe reports whether data begins like a GGUF file of any version.
func Probe(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// Read reads a file from data. Its tensors are views of data, or copies if the file is big-endian.
// Messages name the file name. A file of a model of several files is refused. Read takes memory
// within the budget b. If its context ends, Read fails.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	s := scan(b, name, data)
	s.alone()
	return s.opened()
}

// scanner reads a file. After a problem it goes on if it can.
type scanner struct {
	container.Problems
	data      []byte
	big       bool // numbers are big-endian
	order     binary.ByteOrder
	version   uint32
	keys      map[string]int // offsets of pairs
	meta      []graph.Pair
	tensors   []entry
	inOrder   []*entry // in the order of their data, without empty ones; nil before places
	alignment uint64
	begin     uint64 // offset of the data
	warnings  []error
}

// entry is the description of a tensor.
type entry struct {
	at     int // offset of the description
	name   string
	kind   *elementType // nil if it is not known
	shape  tensor.Shape
	offset uint64 // from the beginning of the data
	bytes  uint64
}

// tensorBytes is the memory that a tensor takes, beside its name and extents.
const tensorBytes = 768

func scan(b *budget.Budget, name string, data []byte) *scanner {
	s := &scanner{Problems: container.Problems{File: name, Budget: container.Reading(b, len(data))}, data: data,
		order: binary.LittleEndian, keys: map[string]int{}}
	r := s.Reader(data, 0)
	tensors, pairs, ok := s.header(r)
	if !ok {
		return s
	}
	for range pairs {
		if !s.pair(r) {
			return s
		}
	}
	s.align()
	met := map[string]bool{}
	for range tensors {
		if !s.tensor(r, met) {
			return s
		}
	}
	s.begin = roundUp(uint64(r.Offset()), s.alignment)
	s.places()
	s.padding(uint64(r.Offset()))
	return s
}

// header reads the bytes before the pairs. ok is false if the pairs cannot be read.
func (s *scanner) header(r *binio.Reader) (tensors, pairs uint64, ok bool) {
	if b := r.Bytes(uint64(len(magic)), "the magic"); !r.Failed() && string(b) != magic {
		r.Fail(0, "a file of GGUF begins with %q, not %q", magic, b)
	}
	version := r.U32("the version")
	if r.Failed() {
		return 0, 0, false
	}
	if version&0xffff == 0 && version != 0 {
		s.big, s.order = true, binary.BigEndian
		r.BigEndian()
		version = bits.ReverseBytes32(version)
	}
	switch s.version = version; version {
	case 2, 3:
	case 1:
		s.Add(len(magic), graph.ErrUnsupported, "version 1 of GGUF has other lengths, and no program writes it any more; convert the original model again")
		return 0, 0, false
	default:
		s.Add(len(magic), graph.ErrUnsupported, "version %d of GGUF is not known; 2 and 3 are", version)
		return 0, 0, false
	}
	at := r.Offset()
	tensors, pairs = r.U64("the number of tensors"), r.U64("the number of pairs")
	if left := uint64(r.Remaining()); s.big && !r.Failed() && (tensors > left || pairs > left) &&
		bits.ReverseBytes64(tensors) <= left && bits.ReverseBytes64(pairs) <= left {
		r.Fail(at, "the version is big-endian, and the numbers after it are little-endian")
	}
	return tensors, pairs, r.Count(pairs, leastPair, "pairs") && r.Count(tensors, leastTensor, "tensors")
}

// align sets the alignment.
func (s *scanner) align() {
	s.alignment = defaultAlignment
	p := find(s.meta, alignmentKey)
	if p == nil {
		return
	}
	if n, ok := alignmentOf(p); ok {
		s.alignment = n
		return
	}
	s.Add(s.keys[alignmentKey], graph.ErrFormat, "%s is no power of two of type u32", alignmentKey)
}

// alignmentOf returns the alignment that a pair gives. ok is false if it is none.
func alignmentOf(p *graph.Pair) (n uint64, ok bool) {
	v, ok := integer(p)
	return uint64(v), ok && p.Data.DType() == tensor.U32 && bits.OnesCount64(uint64(v)) == 1
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// tensor reads the description of a tensor. It reports whether reading can go on.
func (s *scanner) tensor(r *binio.Reader, met map[string]bool) bool {
	e := entry{at: r.Offset()}
	e.name = s.text(r, "the name of a tensor")
	n := r.U32("the number of axes")
	if !r.Failed() && n > maxAxes {
		r.Fail(r.Offset()-4, "tensor %.80q has %d axes; the most are %d", e.name, n, maxAxes)
	}
	var dims []uint64
	for range min(n, maxAxes) {
		dims = append(dims, r.U64("an extent"))
	}
	number := r.U32("the type of a tensor")
	e.offset = r.U64("the offset of a tensor")
	if r.Failed() || !s.Take(e.at, tensorBytes) {
		return false
	}
	switch {
	case e.name == "":
		s.Add(e.at, graph.ErrFormat, "a tensor has no name")
	case met[e.name]:
		s.Add(e.at, graph.ErrFormat, "tensor %.80q is there more than once", e.name)
	}
	met[e.name] = true
	if e.kind = types[number]; e.kind == nil {
		s.Add(e.at, graph.ErrUnsupported, "tensor %.80q has the type of %s", e.name, stranger(number))
		return true
	}
	if s.check(&e, dims) {
		s.tensors = append(s.tensors, e)
	}
	return true
}

// check finds the shape and the size of a tensor with extents in the order of the file. It reports
// whether they are right.
func (s *scanner) check(e *entry, dims []uint64) bool {
	row := uint64(1)
	if len(dims) > 0 {
		row = dims[0]
	}
	slices.Reverse(dims)
	shape, _, ok := container.Size(e.kind.dtype, dims)
	switch k := e.kind; {
	case !ok:
		s.Add(e.at, graph.ErrFormat, "tensor %.80q has the extents %v, more elements than memory can have", e.name,
			dims)
	case k.factor && row%uint64(k.elements) != 0:
		s.Add(e.at, graph.ErrUnsupported, "tensor %.80q has the type of %s", e.name, stranger(k.number))
	case row%uint64(k.elements) != 0:
		s.Add(e.at, graph.ErrFormat, "tensor %.80q has rows of %d elements, no multiple of the %d of a block of %s",
			e.name, row, k.elements, k.name)
	case s.big && k.mixed:
		s.Add(e.at, graph.ErrUnsupported, "tensor %.80q is of %s, whose bytes in a big-endian file are not settled; convert the little-endian file",
			e.name, k.name)
	default:
		e.shape, e.bytes = shape, uint64(shape.Len()/k.elements*k.bytes)
		if k.factor {
			e.bytes += tailI2S
		}
		return true
	}
	return false
}

// places checks the offsets of tensors.
func (s *scanner) places() {
	if len(s.tensors) == 0 {
		return
	}
	size := uint64(len(s.data))
	if s.begin > size {
		s.Add(len(s.data), graph.ErrFormat, "the data begins at %d, and the file ends here: it is cut short", s.begin)
		return
	}
	if !s.Take(0, 16*len(s.tensors)) {
		return
	}
	for i := range s.tensors {
		s.inOrder = append(s.inOrder, &s.tensors[i])
	}
	slices.SortStableFunc(s.inOrder, func(a, b *entry) int { return cmp.Compare(a.offset, b.offset) })
	var last *entry
	for _, e := range s.inOrder {
		switch {
		case e.offset%s.alignment != 0:
			s.Add(e.at, graph.ErrFormat, "tensor %.80q has the offset %d, no multiple of the alignment %d", e.name,
				e.offset, s.alignment)
		case e.offset > size-s.begin || e.bytes > size-s.begin-e.offset:
			s.Add(e.at, graph.ErrFormat, "tensor %.80q takes %d bytes at offset %d of the data, past the end of the file at %d: it is cut short",
				e.name, e.bytes, e.offset, size)
		case last != nil && e.bytes > 0 && e.offset < last.offset+last.bytes:
			s.Add(e.at, graph.ErrFormat, "tensor %.80q begins at offset %d of the data, before the end of %.80q at %d",
				e.name, e.offset, last.name, last.offset+last.bytes)
		case e.bytes > 0:
			last = e
		}
	}
	s.factors()
	s.inOrder = slices.DeleteFunc(s.inOrder, func(e *entry) bool { return e.bytes == 0 })
}

// padding adds a warning if padding is not zero. end is the offset after the descriptions.
func (s *scanner) padding(end uint64) {
	if len(s.tensors) == 0 || s.First() != nil {
		return
	}
	at, n := -1, 0
	zeros := func(from, to uint64) {
		for i, b := range s.data[from:max(from, min(to, uint64(len(s.data))))] {
			if b != 0 {
				if n++; at < 0 {
					at = int(from) + i
				}
			}
		}
	}
	zeros(end, min(s.begin, end+s.alignment))
	for i, e := range s.inOrder {
		from := s.begin + e.offset + e.bytes
		to := roundUp(from, s.alignment)
		if i+1 < len(s.inOrder) {
			to = min(to, s.begin+s.inOrder[i+1].offset)
		}
		if !s.Goes() {
			return
		}
		zeros(from, min(to, from+defaultAlignment))
	}
	if n > 0 {
		s.warnings = append(s.warnings, &graph.Error{Stage: "load", File: s.File, Offset: int64(at),
			Kind: graph.ErrFormat,
			Err:  graph.Errorf(graph.ErrFormat, "padding has %d bytes that are not zero, the first here", n)})
	}
}

// bytesOf returns the stored bytes of a tensor.
func (s *scanner) bytesOf(e *entry) []byte {
	from := s.begin + e.offset
	return s.data[from : from+e.bytes : from+e.bytes]
}

// opened returns the model, or the first problem.
func (s *scanner) opened() (*graph.Model, error) {
	if s.First() != nil {
		return nil, s.First()
	}
	m := &graph.Model{Format: Name, File: s.File, Container: int(s.version), Meta: s.meta, Warnings: s.warnings,
		Graph: &graph.Graph{Initializers: make([]*graph.Initializer, 0, len(s.tensors))}}
	for i := range s.tensors {
		e := &s.tensors[i]
		stored := s.bytesOf(e)
		var t, factor *tensor.Tensor
		if e.kind.factor {
			t, factor = s.ternary(e, stored)
		} else {
			t = s.elements(e, stored)
		}
		if t == nil {
			return nil, s.First()
		}
		x := &graph.Initializer{Name: e.name, Tensor: t,
			Stored: &graph.Stored{DType: e.kind.name, Offset: int64(s.begin + e.offset)}}
		if s.big || e.kind.floats != nil || factor != nil {
			x.Stored.Bytes = stored
		}
		m.Graph.Initializers = append(m.Graph.Initializers, x)
		if factor != nil {
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: e.factorName(), Tensor: factor})
		}
	}
	return m, nil
}

// elements returns the tensor of stored bytes. It is nil if the budget is spent.
func (s *scanner) elements(e *entry, stored []byte) *tensor.Tensor {
	if s.big {
		if !s.Take(e.at, len(stored)) {
			return nil
		}
		stored = bytes.Clone(stored)
		e.kind.swap(stored)
	}
	if e.kind.floats != nil {
		n := e.shape.Len()
		if !s.Take(e.at, 4*n) {
			return nil
		}
		t := tensor.New(tensor.F32, e.shape...)
		list := tensor.View[float32](t)
		for i := range n / e.kind.elements {
			e.kind.floats(list[i*e.kind.elements:][:e.kind.elements], stored[i*e.kind.bytes:])
		}
		return t
	}
	t, err := tensor.FromBytes(e.kind.dtype, e.shape, stored)
	if err != nil {
		s.Add(e.at, graph.ErrFormat, "tensor %.80q: %w", e.name, err)
		return nil
	}
	return t
}
