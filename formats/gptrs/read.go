package gptrs

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Read reads a file from memory. The model keeps data: every tensor is a view of it. The error is
// the first problem, a *graph.Error with the offset in the file and a Kind. Read takes memory
// within b, and stops if b's context is done.
func (f *Format) Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	s := f.scan(b, name, data, false)
	if err := s.First(); err != nil {
		return nil, err
	}
	return s.model(), nil
}

// Verify returns every problem of a file, each with its offset. It takes memory within b, and stops
// if b's context is done.
func (f *Format) Verify(b *budget.Budget, name string, data []byte) (problems []error) {
	defer guard.At(name).EndAll(&problems)
	return f.scan(b, name, data, true).All()
}

// kept holds the properties of a tensor in a file that Write would choose differently.
type kept struct {
	noID     bool
	reserved byte
}

// origin maps the names of tensors to their kept, if it is not zero.
type origin map[string]kept

// scanner reads a file and finds its problems.
type scanner struct {
	container.Problems
	*Format
	data    []byte
	all     bool // continue after a problem
	config  []byte
	entries []entry
	origin  origin
	index   int // offset of its end; payloads may begin there
}

// entry is a tensor of the index.
type entry struct {
	at     int // offset of the entry in the file
	name   string
	tag    uint32
	shape  tensor.Shape
	offset uint64
	length uint64
	sound  bool // the entry has no problem
}

func (f *Format) scan(b *budget.Budget, name string, data []byte, all bool) *scanner {
	s := &scanner{Problems: container.Problems{File: name, Budget: container.Reading(b, len(data))}, Format: f, data: data, all: all}
	if !s.header() || s.stop() {
		return s
	}
	s.places()
	if f.ids && !s.stop() {
		s.check()
	}
	return s
}

// stop reports whether the search for problems ends.
func (s *scanner) stop() bool { return !s.Goes() || !s.all && s.First() != nil }

// reader returns a reader of data at this offset. Reading past the end reports a truncated file.
func (s *scanner) reader(data []byte, off int) *binio.Reader {
	return binio.NewReader(data, off, func(off int, err error) { s.Add(off, Truncated, "%w", err) })
}

// header reads everything before the payloads. It returns false if it cannot.
func (s *scanner) header() bool {
	r := s.reader(s.data, 0)
	magic := r.Bytes(8, "the magic number")
	if !r.Failed() && string(magic) != s.magic {
		s.Add(0, BadMagic, "the file begins with %q and not with %s", magic, s.magic)
		return false
	}
	switch v := r.U32("the version"); {
	case r.Failed() || v == version:
	case v == 1:
		s.Add(8, UnsupportedVersion, "version 1 has another layout, which is not read, and neither does gpt.rs; save the model again with a newer gpt.rs")
		return false
	default:
		s.Add(8, UnsupportedVersion, "version %d is not known; version %d is", v, version)
		return false
	}
	if s.ids {
		n := r.U32("the length of the configuration")
		at := r.Offset()
		s.config = r.Bytes(uint64(n), "the configuration")
		if !r.Failed() {
			if !s.Take(at, configRate*int(n)) {
				return false
			}
			if _, err := parseConfig(s.config); err != nil {
				s.Add(at, BadConfig, "configuration: %w", err)
			}
		}
	}
	n := r.U32("the length of the index")
	at := r.Offset()
	r.Bytes(uint64(n), "the index")
	if r.Failed() || s.stop() {
		return false
	}
	s.index = r.Offset()
	return s.entriesFrom(at)
}

// entrySize is the memory, in bytes, of an entry of the index and of its tensor, without name and
// extents.
const entrySize = 768

// entriesFrom reads the index at an offset.
func (s *scanner) entriesFrom(at int) bool {
	r := s.reader(s.data[:s.index], at)
	n := r.U32("the number of tensors")
	if !r.Count(uint64(n), s.entryBytes(), "entries of the index") {
		return false
	}
	if !s.Take(at, entrySize*int(n)) {
		return false
	}
	s.entries = make([]entry, 0, n)
	met := make(map[string]bool, n)
	for range n {
		e := s.entry(r)
		if r.Failed() || !s.Take(e.at, len(e.name)) {
			return false
		}
		if met[e.name] {
			s.Add(e.at, DuplicateName, "tensor %q is there more than once", e.name)
			e.sound = false
		}
		met[e.name] = true
		s.entries = append(s.entries, e)
		if s.stop() {
			return false
		}
	}
	if left := r.Remaining(); left > 0 {
		s.Add(r.Offset(), BadIndex, "the index has %d bytes after its last entry", left)
	}
	return true
}

// entry reads an entry of the index.
func (s *scanner) entry(r *binio.Reader) entry {
	e := entry{at: r.Offset(), sound: true}
	name := r.Bytes(uint64(r.U32("the length of a name")), "a name")
	var id []byte
	if s.ids {
		id = r.Bytes(16, "a base id")
	}
	rank := r.U32("a rank")
	if !r.Count(uint64(rank), 8, "extents") {
		return e
	}
	if !s.Take(e.at, 3*8*int(rank)) {
		return e
	}
	dims := make([]uint64, rank)
	for i := range dims {
		dims[i] = r.U64("an extent")
	}
	e.tag = r.U32("an element type")
	reserved := r.U8("the reserved byte")
	e.offset = r.U64("the offset of a payload")
	e.length = r.U64("the length of a payload")
	if r.Failed() {
		return e
	}
	e.name = string(name)
	s.names(&e, id, reserved)
	s.sizes(&e, dims)
	return e
}

// bad notes a problem of an entry.
func (s *scanner) bad(e *entry, kind Kind, format string, args ...any) {
	s.Add(e.at, kind, "tensor %q "+format, append([]any{e.name}, args...)...)
	e.sound = false
}

// names checks the name, and notes an absent base id and the reserved byte.
func (s *scanner) names(e *entry, id []byte, reserved byte) {
	if err := s.holds(e.name); err != nil {
		s.bad(e, BadName, "%w", err)
		return
	}
	k := kept{reserved: reserved}
	if s.ids {
		want := BaseParamID(e.name)
		switch {
		case ID(id) == ID{}:
			k.noID = true
		case ID(id) != want:
			s.bad(e, BaseIDMismatch, "has the base id %v where its name gives %v", ID(id), want)
		}
	}
	if k != (kept{}) {
		if s.origin == nil {
			s.origin = origin{}
		}
		s.origin[e.name] = k
	}
}

// holds returns an error if a file cannot have a tensor of this name.
func (f *Format) holds(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case !utf8.ValidString(name):
		return errors.New("has a name that is not UTF-8")
	case f.ids && !ascii(name):
		return errors.New("has a name that is not ASCII, as names in a checkpoint are")
	}
	return nil
}

func ascii(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= utf8.RuneSelf })
}

// sizes checks type, extents, and the length of the payload.
func (s *scanner) sizes(e *entry, dims []uint64) {
	if uint64(e.tag) >= uint64(len(dtypes)) {
		s.bad(e, UnknownDType, "has the unknown element type %d", e.tag)
		return
	}
	row := dtypes[e.tag]
	shape, want, ok := container.Size(row.dtype, dims)
	e.shape = shape
	switch {
	case !ok:
		s.bad(e, BadShape, "has the extents %v, more elements than memory can have", dims)
	case e.length == uint64(want):
	case row.dtype == tensor.F16 || row.dtype == tensor.BF16:
		s.bad(e, UnsupportedDType, "has %d bytes of %s where %v takes %d: no other storage of %s is known than two bytes an element",
			e.length, row.name, shape, want, row.name)
	default:
		s.bad(e, BadByteLen, "has %d bytes where %s%v takes %d", e.length, row.name, shape, want)
	}
}

// places checks that payloads are inside the file, after the index, and do not overlap.
func (s *scanner) places() {
	size, total := uint64(len(s.data)), uint64(s.index)
	for _, e := range s.entries {
		if total += e.length; total < e.length {
			total = math.MaxUint64
		}
	}
	list := make([]*entry, 0, len(s.entries))
	for i := range s.entries {
		e := &s.entries[i]
		if e.offset > size || e.length > size-e.offset {
			kind := OutOfFile
			if e.offset <= size || total > size {
				kind = Truncated
			}
			s.bad(e, kind, "has %d bytes from byte %d on, and the file ends at byte %d", e.length, e.offset, size)
			if s.stop() {
				return
			}
		}
		if e.sound && e.length > 0 {
			list = append(list, e)
		}
	}
	s.overlaps(list)
}

// overlaps reports payloads that share bytes with the index or with each other.
func (s *scanner) overlaps(list []*entry) {
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(a.offset, b.offset) })
	end, before := uint64(s.index), "the index"
	for _, e := range list {
		if e.offset < end {
			s.bad(e, Overlap, "begins at byte %d, before the end of %s at %d", e.offset, before, end)
		}
		if e.offset+e.length > end {
			end, before = e.offset+e.length, "tensor "+e.name
		}
		if s.stop() {
			return
		}
	}
}

// model returns the model of a file without problems.
func (s *scanner) model() *graph.Model {
	m := &graph.Model{Format: s.Name, File: s.File, Container: version, Graph: &graph.Graph{
		Initializers: make([]*graph.Initializer, len(s.entries)),
	}}
	if s.ids {
		m.Meta = []graph.Pair{{Key: configKey, Kind: configKind, Value: string(s.config)}}
	}
	if s.origin != nil {
		m.Source = s.origin
	}
	for i, e := range s.entries {
		data := s.data[e.offset : e.offset+e.length : e.offset+e.length]
		t, err := tensor.FromBytes(dtypes[e.tag].dtype, e.shape, data)
		if err != nil {
			panic(err) // checked by sizes
		}
		m.Graph.Initializers[i] = &graph.Initializer{Name: e.name, Tensor: t,
			Stored: &graph.Stored{DType: dtypes[e.tag].name, Offset: int64(e.offset)}}
	}
	return m
}

// check compares the tensors with the configuration.
func (s *scanner) check() {
	c, err := parseConfig(s.config)
	if err != nil || !c.known() {
		return
	}
	shapes := make(map[string]tensor.Shape, len(s.entries))
	at := make(map[string]int, len(s.entries))
	for _, e := range s.entries {
		shapes[e.name], at[e.name] = e.shape, e.at
	}
	begin := len(s.magic) + 8
	c.check(s.Budget, shapes, func(tensor string, kind Kind, err error) {
		off := begin
		if a, ok := at[tensor]; ok {
			off = a
		}
		s.Add(off, kind, "%w", err)
	})
}
