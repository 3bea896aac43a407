package oinf

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func (r *reader) meta(t *binio.Reader, seen map[string]bool) {
	key := r.name(t, "metadata key", seen)
	at := t.Offset()
	tag, flags := t.U32("type"), t.U32("flags")
	size, offset := t.U64("size"), t.U64("offset")
	if t.Failed() {
		return
	}
	what := label("metadata", key)
	if flags != 0 {
		r.Add(at+4, graph.ErrFormat, "%s: flags are %#x, not 0", what, flags)
	}
	if tag == 0 || tag >= uint32(len(types)) {
		r.Add(at, graph.ErrFormat, "%s: %d is no type", what, tag)
		return
	}
	data, ok := r.payload(offset, size, at+16, what)
	if !ok {
		return
	}
	v := value{r: r, what: what, at: int(offset), data: data, pair: graph.Pair{Key: key, Kind: types[tag].word}}
	switch tag {
	case tagString:
		ok = v.text()
	case tagBitset:
		ok = v.bitset()
	case tagNDArray:
		ok = v.array()
	default:
		ok = v.elements(types[tag].dtype, tensor.Shape{}, 0, len(data))
	}
	if ok {
		r.m.Meta = append(r.m.Meta, v.pair)
	}
}

// value reads the payload of a metadata entry.
type value struct {
	r    *reader
	what string
	at   int // offset in the file
	data []byte
	pair graph.Pair
}

// wrong reports a problem at an offset of the payload. It returns false.
func (v *value) wrong(at int, format string, args ...any) bool {
	v.r.Add(v.at+at, graph.ErrFormat, "%s: "+format, append([]any{v.what}, args...)...)
	return false
}

// sized reports whether the payload has n bytes with padding. If not, it reports a problem.
func (v *value) sized(n uint64) bool {
	if n := padded(n); n != uint64(len(v.data)) {
		return v.wrong(0, "%s takes %d bytes, not %d", v.pair.Kind, n, len(v.data))
	}
	return true
}

// long reports whether the payload has at least n bytes. If not, it reports a problem.
func (v *value) long(n int) bool {
	if len(v.data) < n {
		return v.wrong(0, "%s takes at least %d bytes, not %d", v.pair.Kind, n, len(v.data))
	}
	return true
}

func (v *value) text() bool {
	if !v.long(4) || !v.sized(4+uint64(binary.LittleEndian.Uint32(v.data))) {
		return false
	}
	n := binary.LittleEndian.Uint32(v.data)
	if !v.r.Take(v.at, int(n)) {
		return false
	}
	v.pair.Value = string(v.data[4 : 4+n])
	if !holds(v.pair.Value) {
		return v.wrong(4, "text %.64q: it takes one or more of letters, digits, '.', '_' and '-'", v.pair.Value)
	}
	return true
}

func (v *value) bitset() bool {
	if !v.long(8) {
		return false
	}
	bits, n := binary.LittleEndian.Uint32(v.data), binary.LittleEndian.Uint32(v.data[4:])
	if want := (uint64(bits) + 7) / 8; uint64(n) != want {
		return v.wrong(4, "%d bits take %d bytes, not %d", bits, want, n)
	}
	return v.sized(8+uint64(n)) && v.elements(tensor.U1, tensor.Shape{int(bits)}, 8, 8+int(n))
}

func (v *value) array() bool {
	if !v.long(8) {
		return false
	}
	tag, rank := binary.LittleEndian.Uint32(v.data), uint64(binary.LittleEndian.Uint32(v.data[4:]))
	dtype := elementOf(tag)
	if dtype == tensor.Invalid {
		return v.wrong(0, "%d is no type of elements", tag)
	}
	if rank > uint64(len(v.data)-8)/8 {
		return v.wrong(4, "%d extents and %d bytes for them", rank, len(v.data)-8)
	}
	begin := 8 + 8*int(rank)
	if !v.r.Take(v.at, 3*8*int(rank)) {
		return false
	}
	shape, n, ok := container.Size(dtype, extents(v.data[8:begin]))
	if !ok {
		return v.wrong(8, "its extents are too large")
	}
	return v.sized(uint64(begin)+uint64(n)) && v.elements(dtype, shape, begin, begin+n)
}

// elements makes bytes begin to end of the payload the numbers of the entry.
func (v *value) elements(d tensor.DType, shape tensor.Shape, begin, end int) bool {
	if n := d.Bytes(shape.Len()); n != end-begin {
		return v.wrong(0, "%s takes %d bytes, not %d", v.pair.Kind, n, end-begin)
	}
	data := v.data[begin:end:end]
	v.pair.Data = view(d, shape, data)
	if d == tensor.Bool {
		m, i := v.r.m, len(v.r.m.Meta)
		v.r.boolean(v.at+begin, len(data), v.what, func(clean []byte) { m.Meta[i].Data = view(d, shape, clean) })
	}
	return true
}
