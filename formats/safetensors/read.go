package safetensors

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Name is the format's name.
const Name = "safetensors"

// maxHeader is the most bytes of a header.
const maxHeader = 100_000_000

// metadataKey is the key of the metadata in a header.
const metadataKey = "__metadata__"

// Probe reports whether data begins with a header, or is an index of shards. A file begins with the
// length of its header, so Probe must be called before formats that recognise a file by its first
// byte or two.
func Probe(data []byte) bool {
	if len(data) > 9 && binary.LittleEndian.Uint64(data) <= maxHeader {
		l := &lexer{data: data, at: 8}
		if l.take('{') {
			c := l.next()
			return c == '"' || c == '}'
		}
	}
	return isIndex(data)
}

// Read reads one file from data. The model keeps data, and every tensor is a view of it. The error
// is the first problem, a *graph.Error with the offset in the file. An index is refused, because
// its shards are files. Read takes memory within the budget b. If its context ends, Read fails.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	s := scan(b, name, data)
	if err := s.First(); err != nil {
		return nil, err
	}
	return s.model(), nil
}

// origin is the header of the file that a model was read from.
type origin []byte

// scanner reads the header of a file, and collects its problems.
type scanner struct {
	container.Problems
	data []byte
	header
	raw   []byte // the header's bytes
	begin int    // offset of the payloads in the file
}

// header is the contents of a header: metadata and the entries of tensors.
type header struct {
	meta    []graph.Pair
	tensors []entry
}

// entry is the description of a tensor in a header.
type entry struct {
	at         int // offset of the key in the file
	name       string
	dtype      string
	row        int // of dtypes
	dims       []uint64
	shape      tensor.Shape
	begin, end uint64 // of the payload, counted from the first payload
}

func scan(b *budget.Budget, name string, data []byte) *scanner {
	s := &scanner{Problems: container.Problems{File: name, Budget: container.Reading(b, len(data))}, data: data}
	if isIndex(data) {
		s.Add(0, graph.ErrUnsupported, "an index of shards cannot be read here; open it as a file")
		return s
	}
	r := s.Reader(data, 0)
	n := r.U64("the length of the header")
	switch {
	case r.Failed():
		return s
	case n > maxHeader:
		s.Add(0, graph.ErrFormat, "a header of %d bytes, more than the %d that one may have", n, maxHeader)
		return s
	}
	s.raw = r.Bytes(n, "the header")
	if r.Failed() {
		return s
	}
	if n == 0 || s.raw[0] != '{' {
		s.Add(8, graph.ErrFormat, `the header does not begin with "{"`)
		return s
	}
	s.begin = r.Offset()
	l := newLexer(&s.Problems, s.raw, 8)
	s.header = parseHeader(l)
	if l.err != nil {
		s.Add(l.off, graph.ErrFormat, "header: %w", l.err)
		return s
	}
	if !s.Take(8, tensorBytes*len(s.tensors)) {
		return s
	}
	for i := range s.tensors {
		s.check(&s.tensors[i])
	}
	s.places()
	return s
}

// tensorBytes is the memory that a tensor takes, beside its name and extents.
const tensorBytes = 768

// parseHeader reads a header.
func parseHeader(l *lexer) header {
	var h header
	l.object(func(key string, at int) {
		switch key {
		case metadataKey:
			l.object(func(key string, _ int) {
				h.meta = append(h.meta, graph.Pair{Key: key, Value: l.text()})
			})
		case "":
			l.fail(at-l.base, "a tensor has no name")
		default:
			e := parseEntry(l)
			e.at, e.name = l.base+at, key
			h.tensors = append(h.tensors, e)
		}
	})
	l.end()
	return h
}

func parseEntry(l *lexer) entry {
	var e entry
	l.next()
	at, met := l.at, 0
	l.object(func(key string, _ int) {
		switch key {
		case "dtype":
			e.dtype = l.text()
			met++
		case "shape":
			e.dims = l.counts()
			met++
		case "data_offsets":
			offsets := l.counts()
			if l.err == nil && len(offsets) != 2 {
				l.fail(at, "data_offsets has %d numbers, not 2", len(offsets))
			}
			if l.err == nil {
				e.begin, e.end = offsets[0], offsets[1]
			}
			met++
		default:
			l.skip()
		}
	})
	if met != 3 {
		l.fail(at, "a tensor lacks one of dtype, shape and data_offsets")
	}
	return e
}

// counts reads an array of counts.
func (l *lexer) counts() []uint64 {
	var list []uint64
	l.array(func() {
		if list == nil {
			list = make([]uint64, 0, 4) // most shapes fit
		}
		list = append(list, l.count())
	})
	return list
}

// check compares the type, the extents and the number of bytes of a tensor.
func (s *scanner) check(e *entry) {
	e.row = named(e.dtype)
	if e.row < 0 {
		s.Add(e.at, graph.ErrUnsupported, "tensor %q has the unknown element type %.40q", e.name, e.dtype)
		return
	}
	d := dtypes[e.row].dtype
	if d == tensor.Invalid {
		s.Add(e.at, graph.ErrUnsupported, "tensor %q is of %s, which tensors cannot hold here; store it as another type", e.name, e.dtype)
		return
	}
	var bytes int
	var ok bool
	e.shape, bytes, ok = container.Size(d, e.dims)
	switch {
	case !ok:
		s.Add(e.at, graph.ErrFormat, "tensor %q has the extents %v, more elements than memory can have", e.name, e.dims)
	case e.end < e.begin:
		s.Add(e.at, graph.ErrFormat, "tensor %q ends at %d, in front of its begin at %d", e.name, e.end, e.begin)
	case e.end-e.begin != uint64(bytes):
		s.Add(e.at, graph.ErrFormat, "tensor %q has %d bytes where %s%v takes %d", e.name, e.end-e.begin, e.dtype, e.shape, bytes)
	}
}

// places checks that payloads follow each other without gaps and fill the file.
func (s *scanner) places() {
	end, size := uint64(0), uint64(len(s.data)-s.begin)
	for _, e := range s.inOrder() {
		switch {
		case e.end > size:
			s.Add(e.at, graph.ErrFormat, "tensor %q ends at %d, and the file has %d bytes after its header", e.name, e.end, size)
		case e.begin > end:
			s.Add(e.at, graph.ErrFormat, "tensor %q begins at %d, and the one before ends at %d; there must be no gap", e.name, e.begin, end)
		case e.begin < end:
			s.Add(e.at, graph.ErrFormat, "tensor %q begins at %d, in front of the end of the one before at %d", e.name, e.begin, end)
		}
		end = max(end, e.end)
	}
	if end < size {
		s.Add(s.begin+int(end), graph.ErrFormat, "%d bytes after the last tensor belong to no tensor", size-end)
	}
}

// inOrder returns the tensors in the order of their payloads.
func (h *header) inOrder() []*entry {
	list := make([]*entry, len(h.tensors))
	for i := range h.tensors {
		list[i] = &h.tensors[i]
	}
	slices.SortStableFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	return list
}

// model returns the model of a file without problems.
func (s *scanner) model() *graph.Model {
	m := &graph.Model{Format: Name, File: s.File, Meta: s.meta, Source: origin(s.raw), Graph: &graph.Graph{
		Initializers: make([]*graph.Initializer, len(s.tensors)),
	}}
	for i, e := range s.tensors {
		begin, end := s.begin+int(e.begin), s.begin+int(e.end)
		t, err := tensor.FromBytes(dtypes[e.row].dtype, e.shape, s.data[begin:end:end])
		if err != nil {
			panic(err) // check has compared them
		}
		m.Graph.Initializers[i] = &graph.Initializer{Name: e.name, Tensor: t,
			Stored: &graph.Stored{DType: e.dtype, Offset: int64(begin)}}
	}
	return m
}
