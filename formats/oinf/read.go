package oinf

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var magic = []byte("OINF\x00")

const (
	headerLen = 69
	headerPad = 72 // with padding; the first table begins here in files of Write
)

// The flags of tensors.
const (
	hasData  = 1
	hasQuant = 2
)

// The sections, in the order of their offsets in the header.
const (
	sizes = iota
	metadata
	tensors
	payloads
	sections
)

// origin has the facts of a file that Write needs and a model cannot hold.
type origin struct {
	bitsets map[string]bool // tensors of bit sets, by name
}

// Probe reports whether data begins like an OINF file.
func Probe(data []byte) bool { return bytes.HasPrefix(data, magic) }

// Read reads a model from data. Its tensors are views of data. Messages name the file name. Read
// takes memory within the budget b. If its context ends, Read fails.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	r := newReader(b, name, data)
	r.file()
	if r.First() == nil {
		r.normalize()
	}
	if err := r.First(); err != nil {
		return nil, err
	}
	return r.m, nil
}

// Verify returns every problem of a file in memory, up to a thousand. It takes memory within the
// budget b. If its context ends, Verify stops.
func Verify(b *budget.Budget, name string, data []byte) (problems []error) {
	defer guard.At(name).EndAll(&problems)
	r := newReader(b, name, data)
	r.file()
	for _, b := range r.spoiled() {
		r.Add(b.first, graph.ErrFormat, "%s: boolean is %d, not 0 or 1", b.what, data[b.first])
	}
	return r.All()
}

// reader reads a file. After a problem it goes on if it can.
type reader struct {
	container.Problems
	data    []byte
	m       *graph.Model
	version uint32
	count   [payloads]uint32 // of entries, by table
	at      [sections]uint64 // offsets
	bools   []boolRange
	bitsets map[string]bool
}

func newReader(b *budget.Budget, name string, data []byte) *reader {
	return &reader{
		Problems: container.Problems{File: name, Budget: container.Reading(b, len(data))}, data: data, bitsets: map[string]bool{},
		m: &graph.Model{Format: Name, File: name, Graph: &graph.Graph{}},
	}
}

func (r *reader) file() {
	if !r.header() || !r.layout() {
		return
	}
	seen := map[string]bool{}
	r.table(sizes, 16, "size variables", func(t *binio.Reader) { r.size(t, seen) })
	clear(seen)
	r.table(metadata, 32, "metadata entries", func(t *binio.Reader) { r.meta(t, seen) })
	clear(seen)
	r.table(tensors, 36, "tensors", func(t *binio.Reader) { r.tensor(t, seen) })
	r.m.Container = int(r.version)
	r.m.Source = &origin{r.bitsets}
}

// header reads the header. It reports whether reading can go on.
func (r *reader) header() bool {
	if len(r.data) >= len(magic) && !Probe(r.data) {
		r.Add(0, graph.ErrFormat, "a file of OINF begins with %q, not %q", magic, r.data[:len(magic)])
		return false
	}
	if len(r.data) < headerLen {
		r.Add(0, graph.ErrFormat, "the header takes %d bytes and %d are there", headerLen, len(r.data))
		return false
	}
	h := r.Reader(r.data, len(magic))
	r.version = h.U32("version")
	if r.version != 1 && r.version != 2 {
		r.Add(5, graph.ErrUnsupported, "version %d is not known; 1 and 2 are", r.version)
		return false
	}
	if flags := h.U32("flags"); flags != 0 {
		r.Add(9, graph.ErrFormat, "header flags are %#x, not 0", flags)
	}
	for i := range r.count {
		r.count[i] = h.U32("count")
	}
	if reserved := h.U32("reserved"); reserved != 0 {
		r.Add(25, graph.ErrFormat, "the reserved field is %#x, not 0", reserved)
	}
	for i := range r.at {
		r.at[i] = h.U64("offset")
	}
	size := h.U64("size")
	if size != uint64(len(r.data)) {
		r.Add(61, graph.ErrFormat, "the header says that the file has %d bytes, and it has %d", size, len(r.data))
		r.data = r.data[:min(size, uint64(len(r.data)))]
	}
	return true
}

var sectionNames = [sections]string{"size variables", "metadata", "tensors", "data"}

// layout checks the offsets of the sections.
func (r *reader) layout() bool {
	ok, end := true, uint64(headerLen)
	for i, at := range r.at {
		field := 29 + 8*i
		switch {
		case at%8 != 0:
			r.Add(field, graph.ErrFormat, "section of %s begins at %d, no multiple of 8", sectionNames[i], at)
		case at < end:
			r.Add(field, graph.ErrFormat, "section of %s begins at %d, before the end or the beginning of the section before (%d)", sectionNames[i], at, end)
		case at > uint64(len(r.data)):
			r.Add(field, graph.ErrFormat, "section of %s begins at %d, after the end of the file (%d)", sectionNames[i], at, len(r.data))
		default:
			end = at
			continue
		}
		ok = false
	}
	return ok
}

// entryBytes is the memory that an entry of a table takes, beside its name and extents.
const entryBytes = 512

// table reads the entries of a table, each of at least least bytes.
func (r *reader) table(section, least int, what string, entry func(t *binio.Reader)) {
	t := r.Reader(r.data[:r.at[section+1]], int(r.at[section]))
	n := r.count[section]
	if !t.Count(uint64(n), least, what) {
		return
	}
	for range n {
		if !r.Take(t.Offset(), entryBytes) {
			return
		}
		if entry(t); t.Failed() {
			return
		}
	}
}

// text reads a string record. If t fails, the result is empty.
func (r *reader) text(t *binio.Reader, what string) string {
	n := uint64(t.U32("the length of a name"))
	at := t.Offset()
	b := t.Bytes(padded(4+n)-4, "a name")
	if t.Failed() || !r.Take(at, 2*int(n)) {
		return ""
	}
	s := string(b[:n])
	if !holds(s) {
		r.Add(at, graph.ErrFormat, "%s %.64q: a name takes one or more of letters, digits, '.', '_' and '-'", what, s)
	}
	return s
}

// name reads the name of an entry. It must differ from the other names of its table.
func (r *reader) name(t *binio.Reader, what string, seen map[string]bool) string {
	at := t.Offset()
	s := r.text(t, what)
	if t.Failed() {
		return ""
	}
	if seen[s] {
		r.Add(at, graph.ErrFormat, "%s %.64q is there twice", what, s)
	}
	seen[s] = true
	return s
}

func (r *reader) size(t *binio.Reader, seen map[string]bool) {
	name := r.name(t, "size variable", seen)
	value := t.U64("value")
	if !t.Failed() {
		r.m.Sizes = append(r.m.Sizes, graph.Size{Name: name, Value: value})
	}
}

// payload returns the n bytes at offset. Messages give at, the offset of the fields with these
// numbers. If payload reports a problem, ok is false.
func (r *reader) payload(offset, n uint64, at int, what string) (b []byte, ok bool) {
	start := r.at[payloads]
	end := uint64(len(r.data))
	switch {
	case offset%8 != 0:
		r.Add(at, graph.ErrFormat, "%s: data at %d, no multiple of 8", what, offset)
	case offset < start:
		r.Add(at, graph.ErrFormat, "%s: data at %d, before the data section at %d", what, offset, start)
	case offset > end || n > end-offset:
		r.Add(at, graph.ErrFormat, "%s: %d bytes of data at %d, past the end at %d", what, n, offset, end)
	default:
		return r.data[offset : offset+n : offset+n], true
	}
	return nil, false
}

func (r *reader) tensor(t *binio.Reader, seen map[string]bool) {
	name := r.name(t, "tensor", seen)
	at := t.Offset()
	tag, rank, flags := t.U32("type"), t.U32("rank"), t.U32("flags")
	if !t.Count(uint64(rank), 8, "extents") || !r.Take(at, 4*8*int(rank)) {
		return
	}
	dims := extents(t.Bytes(8*uint64(rank), "extents"))
	sizeAt := t.Offset()
	size, offset := t.U64("size"), t.U64("offset")
	var quantSize, quantOffset uint64
	known := uint32(hasData)
	if r.version == 2 {
		quantSize, quantOffset = t.U64("size of the quantisation"), t.U64("offset of the quantisation")
		known |= hasQuant
	}
	if t.Failed() {
		return
	}
	what := label("tensor", name)
	dtype := elementOf(tag)
	if tag == tagBitset {
		dtype = tensor.U8
		r.bitsets[name] = true
	}
	if dtype == tensor.Invalid {
		r.Add(at, graph.ErrFormat, "%s: %d is no type of elements", what, tag)
		return
	}
	word := types[tag].word
	if flags&^known != 0 {
		r.Add(at+8, graph.ErrFormat, "%s: flags are %#x, of which version %d knows %#x", what, flags, r.version, known)
	}
	shape, need, ok := container.Size(dtype, dims)
	if !ok {
		r.Add(at+12, graph.ErrFormat, "%s: its extents are too large", what)
		return
	}
	quant := r.quantOf(flags&hasQuant != 0, quantSize, quantOffset, sizeAt+16, dims, what)
	if flags&hasData == 0 {
		if size != 0 || offset != 0 {
			r.Add(sizeAt, graph.ErrFormat, "%s is only declared, and has %d bytes at %d", what, size, offset)
		}
		r.m.Graph.Values = append(r.m.Graph.Values, &graph.Value{Name: name, Type: graph.TensorOf(dtype, graph.DimsOf(shape)), Meta: quant})
		return
	}
	if size != uint64(need) {
		r.Add(sizeAt, graph.ErrFormat, "%s: %s%v takes %d bytes, not %d", what, word, shape, need, size)
		return
	}
	data, ok := r.payload(offset, size, sizeAt+8, what)
	if !ok {
		return
	}
	init := &graph.Initializer{Name: name, Tensor: view(dtype, shape, data), Meta: quant, Stored: &graph.Stored{DType: word, Offset: int64(offset)}}
	if dtype == tensor.Bool {
		r.boolean(int(offset), len(data), what, func(clean []byte) {
			init.Tensor = view(dtype, shape, clean)
			init.Stored.Bytes = data
		})
	}
	r.m.Graph.Initializers = append(r.m.Graph.Initializers, init)
}

// label returns the kind and the name of an entry, for messages.
func label(kind, name string) string {
	if len(name) > 80 {
		name = name[:77] + "..."
	}
	return kind + " " + strconv.Quote(name)
}

// extents decodes a list of u64.
func extents(b []byte) []uint64 {
	list := make([]uint64, len(b)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return list
}

// view returns a tensor over data. The length of data must have been checked.
func view(d tensor.DType, shape tensor.Shape, data []byte) *tensor.Tensor {
	t, err := tensor.FromBytes(d, shape, data)
	if err != nil {
		panic("oinf: " + err.Error())
	}
	return t
}
