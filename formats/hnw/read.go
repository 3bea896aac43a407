package hnw

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Name is the format's name.
const Name = "hnw"

// Constants of the layout.
const (
	magic      = "HNXWGT\x00"
	major      = 1
	headerSize = 80
	align      = 64
)

// origin has the facts of an archive that a model cannot hold.
type origin struct {
	extension int // bytes
	minor     int64
	offsets   []int64 // of tensors, from the payload's start
	lens      []int64
	end       int64 // of the payload
}

// Probe reports whether data begins like an archive of any version.
func Probe(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// Open maps an archive and reads it. If there is no file, the error is of kind ErrArchiveMissing.
func Open(b *budget.Budget, path string) (_ *graph.Model, err error) {
	defer guard.At(path).End(&err)
	f, err := binio.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &graph.Error{Stage: "load", File: path, Offset: -1, Err: &Error{Kind: ErrArchiveMissing, Err: fs.ErrNotExist}}
	}
	if err != nil {
		return nil, &graph.Error{Stage: "load", File: path, Offset: -1, Err: err}
	}
	m, err := Read(b, path, f.Data)
	if err != nil {
		f.Close()
		return nil, err
	}
	m.Closer = f
	return m, nil
}

// Read reads an archive from data. Its tensors are views of data. Read checks every byte. Errors
// have one of the kinds of this package, unless they are of the budget. Read takes memory within
// the budget b. If its context ends, Read fails.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	r := newReader(b, name, data)
	m := r.read()
	if err := r.problems.First(); err != nil {
		return nil, err
	}
	return m, nil
}

// Verify returns every problem found in an archive. It does not compare tensors that overlap others
// with their digests. Verify takes memory within the budget b. If its context ends, Verify stops.
func Verify(b *budget.Budget, name string, data []byte) (problems []error) {
	defer guard.At(name).EndAll(&problems)
	r := newReader(b, name, data)
	r.all = true
	r.read()
	return r.problems.All()
}

// reader reads one archive.
type reader struct {
	problems container.Problems
	data     []byte
	all      bool // go on after the first problem
	man      manifest
	payload  []byte // up to the end of the file
	start    int    // offset of the payload
}

func newReader(b *budget.Budget, name string, data []byte) *reader {
	return &reader{problems: container.Problems{File: name, Budget: container.Reading(b, len(data))}, data: data}
}

func (r *reader) bad(off int, kind error, format string, args ...any) {
	r.add(off, kind, "", format, args...)
}

func (r *reader) add(off int, kind error, initializer, format string, args ...any) {
	class := graph.ErrFormat
	if kind == ErrVersion {
		class = graph.ErrUnsupported
	}
	r.problems.Add(off, class, "%w", &Error{kind, r.man.module, initializer, fmt.Errorf(format, args...)})
}

// enough reports whether reading stops here.
func (r *reader) enough() bool { return !r.problems.Goes() || !r.all && r.problems.First() != nil }

// read returns the model, or nil if there is a problem.
func (r *reader) read() *graph.Model {
	headerLen, manifestLen, ok := r.header()
	if !ok || r.enough() {
		return nil
	}
	text := r.data[headerLen : headerLen+manifestLen]
	if got, want := r.sum(text), digest(r.data[16:48]); got != want {
		r.bad(16, ErrArchiveChecksum, "the manifest has SHA-256 %v, the header says %v", got, want)
	}
	if r.enough() || !r.manifest(text, headerLen) {
		return nil
	}
	r.extent(headerLen + manifestLen)
	if r.enough() {
		return nil
	}
	r.sums(r.entries())
	if r.problems.First() != nil {
		return nil
	}
	return r.model(headerLen - headerSize)
}

// sum returns the digest of data. If the context ends, it is the digest of a part.
func (r *reader) sum(data []byte) (d digest) {
	h := sha256.New()
	_, _ = pieces.Writer(r.problems.Budget, h).Write(data)
	h.Sum(d[:0])
	return d
}

// header reads the bytes before the manifest. ok is true if the manifest can be found.
func (r *reader) header() (headerLen, manifestLen int, ok bool) {
	if n := min(len(r.data), len(magic)); string(r.data[:n]) != magic[:n] {
		r.bad(0, ErrMalformed, "it does not begin with %q", magic)
		return 0, 0, false
	}
	if len(r.data) > len(magic) && r.data[len(magic)] != major {
		r.bad(len(magic), ErrVersion, "major version %d is not %d", r.data[len(magic)], major)
		return 0, 0, false
	}
	size := len(r.data)
	if size < headerSize {
		r.bad(size, ErrMalformed, "it ends within its header of %d bytes", headerSize)
		return 0, 0, false
	}
	first, second := uint64(binary.LittleEndian.Uint32(r.data[8:])), uint64(binary.LittleEndian.Uint32(r.data[12:]))
	switch {
	case first < headerSize:
		r.bad(8, ErrMalformed, "header_len %d is less than %d", first, headerSize)
		return 0, 0, false
	case first+second > uint64(size):
		r.bad(12, ErrMalformed, "header_len %d and manifest_len %d reach past the %d bytes of the file", first, second, size)
		return 0, 0, false
	}
	r.zeros(headerSize, int(first), "the header's extension")
	return int(first), int(second), true
}

// zeros reports the first nonzero byte of a range.
func (r *reader) zeros(from, to int, what string) {
	if i := container.Index(r.problems.Budget, r.data[from:to], func(c byte) bool { return c != 0 }); i >= 0 {
		r.bad(from+i, ErrMalformed, "%s must be zeros", what)
	}
}

// manifest reads the JSON text. It reports whether the payload can be found.
func (r *reader) manifest(text []byte, base int) bool {
	type noted struct {
		off, tensor int
		kind, err   error
	}
	var list []noted
	s := scanner{data: text, goes: func(bytes int) bool { return r.problems.Take(base, bytes) }}
	s.note = func(off int, kind error, format string, args ...any) {
		list = append(list, noted{base + off, s.index, kind, fmt.Errorf(format, args...)})
	}
	r.man.major = unset
	whole := s.manifest(&r.man)
	m := &r.man
	switch {
	case m.format != "" && m.format != formatName:
		r.bad(base, ErrMalformed, "format.name %.80q is not %q", m.format, formatName)
		return false
	case m.major != unset && m.major != major:
		r.bad(base, ErrVersion, "format.major %d is not %d", m.major, major)
		return false
	}
	for _, n := range list {
		name := ""
		if n.tensor >= 0 && n.tensor < len(m.tensors) {
			name = m.tensors[n.tensor].onnxName
		}
		r.add(n.off, n.kind, name, "%w", n.err)
	}
	switch {
	case !whole:
		return false
	case m.format == "":
		r.bad(base, ErrMalformed, "format.name is empty")
		return false
	case m.minor < 0:
		r.bad(base, ErrMalformed, "format.minor is %d", m.minor)
		return false
	case m.payloadLen < 0:
		r.bad(base, ErrMalformed, "payload.byte_len is %d", m.payloadLen)
		return false
	}
	for i := range m.tensors {
		m.tensors[i].at += base
	}
	return true
}

// extent finds the payload. It begins after offset end, where the manifest ends.
func (r *reader) extent(end int) {
	size := uint64(len(r.data))
	start := (uint64(end) + align - 1) / align * align
	r.start = int(min(start, size))
	r.zeros(end, r.start, "the bytes between manifest and payload")
	switch length := uint64(r.man.payloadLen); {
	case start > size || size-start < length:
		r.bad(len(r.data), ErrMalformed, "it ends here, before the payload of %d bytes from %d does", length, start)
		r.payload = r.data[r.start:]
	case size-start > length:
		r.bad(int(start+length), ErrMalformed, "the payload ends here, and the file %d bytes later", size-start-length)
		r.payload = r.data[start : start+length]
	default:
		r.payload = r.data[start:]
	}
}

// model returns the model of an archive.
func (r *reader) model(extension int) *graph.Model {
	man := &r.man
	o := &origin{extension: extension, minor: man.minor, end: man.payloadLen}
	g := &graph.Graph{Name: man.graph, Initializers: make([]*graph.Initializer, 0, len(man.tensors))}
	for i := range man.tensors {
		e := &man.tensors[i]
		d, _ := dtypeOf(e.dtype)
		t, err := tensor.FromBytes(d, e.extents(), r.bytes(e))
		if err != nil {
			r.add(e.at, ErrMalformed, e.onnxName, "%w", err)
			return nil
		}
		g.Initializers = append(g.Initializers, &graph.Initializer{
			Name: e.onnxName, Tensor: t,
			Meta:   []graph.Pair{{Key: idKey, Value: e.id}, {Key: consumerKey, Value: e.consumer}},
			Stored: &graph.Stored{DType: e.dtype, Offset: int64(r.start) + e.offset},
		})
		o.offsets, o.lens = append(o.offsets, e.offset), append(o.lens, e.byteLen)
	}
	m := &graph.Model{Format: Name, File: r.problems.File, Container: major, Graph: g, Source: o}
	for _, f := range man.settings() {
		m.Meta = append(m.Meta, setting(f))
	}
	return m
}

// The keys of a tensor's metadata.
const (
	idKey       = "id"
	consumerKey = "consumer"
)

// setting returns a field of the manifest as metadata.
func setting(f field) graph.Pair {
	switch v := f.value.(type) {
	case *int64:
		return graph.Pair{Key: f.key, Value: strconv.FormatInt(*v, 10), Kind: "int"}
	case *digest:
		return graph.Pair{Key: f.key, Value: v.String(), Kind: "sha256"}
	}
	return graph.Pair{Key: f.key, Value: *f.value.(*string), Kind: "string"}
}
