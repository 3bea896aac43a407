package oinf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample returns a model with every kind of part.
func sample() *graph.Model {
	m := &graph.Model{Format: Name, Container: 1, Graph: &graph.Graph{}}
	m.Sizes = []graph.Size{{Name: "B", Value: 4}, {Name: "D", Value: math.MaxUint64}}
	m.Meta = []graph.Pair{
		{Key: "mode", Kind: "string", Value: "fast"},
		{Key: "mask", Kind: "bitset", Data: view(tensor.U1, tensor.Shape{11}, []byte{0xb1, 5})},
		{Key: "none", Kind: "bitset", Data: view(tensor.U1, tensor.Shape{0}, nil)},
		{Key: "one", Kind: "ndarray", Data: view(tensor.I16, tensor.Shape{}, []byte{42, 0})},
		{Key: "list", Kind: "ndarray", Data: view(tensor.I4, tensor.Shape{3}, []byte{0x21, 0xf})},
		{Key: "empty", Kind: "ndarray", Data: view(tensor.F32, tensor.Shape{2, 0}, nil)},
		{Key: "flags", Kind: "ndarray", Data: view(tensor.Bool, tensor.Shape{3}, []byte{0, 1, 1})},
	}
	raw := bytes.Repeat([]byte{1, 0, 0x8e}, 100)
	for tag, row := range types {
		d := row.dtype
		if tag == tagBitset {
			d = tensor.U8
			m.Source = &origin{map[string]bool{"t_bitset": true, "u_bitset": true}}
		}
		if d == tensor.Invalid {
			continue
		}
		data := raw
		if d == tensor.Bool {
			data = bytes.Repeat([]byte{1, 0, 1}, 5)
		}
		m.Graph.Initializers = append(m.Graph.Initializers,
			&graph.Initializer{Name: "t_" + row.word, Tensor: view(d, tensor.Shape{3, 5}, data[:d.Bytes(15)]), Stored: &graph.Stored{DType: row.word}})
		m.Graph.Values = append(m.Graph.Values, &graph.Value{Name: "u_" + row.word, Type: graph.TensorOf(d, graph.DimsOf(tensor.Shape{1 << 20, 7}))})
		if tag != tagBitset {
			m.Meta = append(m.Meta, graph.Pair{Key: "m_" + row.word, Kind: row.word, Data: view(d, tensor.Shape{}, data[:d.Bytes(1)])})
		}
	}
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: "void", Tensor: view(tensor.F64, tensor.Shape{0, 3}, nil), Stored: &graph.Stored{DType: "f64"}})
	return m
}

// quantized returns a model of version 2. Its tensors, with and without data, have quantisations of
// every kind.
func quantized() *graph.Model {
	m := sample()
	m.Container = 2
	for i, q := range []quant{
		{scheme: 1, scaleMode: perTensor, scaleCount: 1, scales: []byte{0, 0, 0x80, 0x3f}},
		{scheme: 2, scaleMode: perTensor, scaleCount: 1, scales: []byte{0, 0, 0, 0x3f}, zeroMode: perTensor, zeroCount: 1, zeros: []byte{0xff, 0xff, 0xff, 0xff}},
		{scheme: 1, scaleMode: perChannel, scaleCount: 3, scales: make([]byte, 12)},
		{scheme: 2, scaleMode: perChannel, scaleAxis: 1, scaleCount: 5, scales: make([]byte, 20), zeroMode: perChannel, zeroAxis: 1, zeroCount: 5, zeros: make([]byte, 20)},
	} {
		m.Graph.Initializers[2*i].Meta = q.pairs()
		if q.scaleMode == perTensor {
			m.Graph.Values[2*i].Meta = q.pairs()
		}
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	again(t, sample())
	again(t, quantized())
	again(t, &graph.Model{Container: 1, Graph: &graph.Graph{}})
}

// TestViews checks that tensors are views of the file.
func TestViews(t *testing.T) {
	data := encode(t, sample(), container.Options{})
	m := must(Read(nil, "", data))
	for _, init := range m.Graph.Initializers {
		if n := init.Tensor.Len(); n > 0 && &init.Tensor.Bytes()[0] != &data[init.Stored.Offset] {
			t.Errorf("%s is a copy", init.Name)
		}
	}
}

func TestProbe(t *testing.T) {
	for text, want := range map[string]bool{"OINF\x00": true, "OINF\x00\x09": true, "OINF": false, "": false, "oinf\x00": false, " OINF\x00": false} {
		if got := Probe([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// edit is a change of a file, with the error that must follow.
type edit struct {
	name string
	do   func(b []byte) []byte
	kind error // nil if the file stays valid
	want string
}

// put32 returns a function that writes a number at an offset; so does put64.
func put32(at int, v uint32) func(b []byte) []byte {
	return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
}

func put64(at int, v uint64) func(b []byte) []byte {
	return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return b }
}

func (e edit) check(t *testing.T, data []byte) {
	t.Helper()
	data = e.do(slices.Clone(data))
	m, err := Read(nil, "f", data)
	problems := Verify(nil, "f", data)
	if e.kind == nil {
		if err != nil || problems != nil {
			t.Fatalf("refused: %v, %v", err, problems)
		}
		again(t, m)
		return
	}
	if len(problems) == 0 || !strings.Contains(errors.Join(problems...).Error(), e.want) {
		t.Fatalf("problems %v, want %q", problems, e.want)
	}
	if err == nil || err.Error() != problems[0].Error() || !errors.Is(err, e.kind) {
		t.Errorf("read: %v; problems %v", err, problems)
	}
}

// TestHeader changes the fields of a file of one tensor, x of f32[2]. Its table is at 72 and its
// data are at 120.
func TestHeader(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "x", Tensor: view(tensor.F32, tensor.Shape{2}, make([]byte, 8))}}}}
	data := encode(t, m, container.Options{})
	if len(data) != 128 {
		t.Fatalf("%d bytes", len(data))
	}
	wrong := graph.ErrFormat
	for _, e := range []edit{
		{"as it is", func(b []byte) []byte { return b }, nil, ""},
		{"magic", func(b []byte) []byte { b[4] = 1; return b }, wrong, "begins with"},
		{"version", put32(5, 3), graph.ErrUnsupported, "version 3 is not known"},
		{"flags", put32(9, 1<<31), wrong, "header flags are 0x80000000"},
		{"reserved", put32(25, 1), wrong, "reserved field is 0x1"},
		{"more size variables", put32(13, 1), wrong, "1 size variables take"},
		{"more metadata", put32(17, math.MaxUint32), wrong, "metadata entries take"},
		{"more tensors", put32(21, 2), wrong, "are left"},
		{"fewer tensors", put32(21, 0), nil, ""},
		{"table in the header", put64(29, 64), wrong, "begins at 64"},
		{"table not aligned", put64(37, 73), wrong, "no multiple of 8"},
		{"tables out of order", put64(37, 80), wrong, "the section before"},
		{"data after the end", put64(53, 1<<63), wrong, "after the end"},
		{"size", put64(61, 144), wrong, "says that the file has 144 bytes"},
		{"smaller size", put64(61, 120), wrong, "says that the file has 120 bytes"},
		{"more bytes", func(b []byte) []byte { return append(b, make([]byte, 8)...) }, wrong, "it has 136"},
		{"header padding", func(b []byte) []byte { b[70] = 1; return b }, nil, ""},
		{"name padding", func(b []byte) []byte { b[79] = 1; return b }, nil, ""},
		{"name", func(b []byte) []byte { b[76] = '/'; return b }, wrong, `tensor "/": a name takes`},
		{"long name", put32(72, math.MaxUint32), wrong, "a name takes"},
		{"no name", put32(72, 0), wrong, `tensor "": a name takes`},
		{"string", put32(80, tagString), wrong, "14 is no type"},
		{"no type", put32(80, 0), wrong, "0 is no type"},
		{"unknown type", put32(80, 26), wrong, "26 is no type"},
		{"rank", put32(84, math.MaxUint32), wrong, "extents take"},
		{"smaller rank", put32(84, 0), wrong, "f32[] takes 4 bytes"},
		{"flag", put32(88, 5), wrong, "flags are 0x5"},
		{"quantisation flag", put32(88, 3), wrong, "of which version 1 knows 0x1"},
		{"declared", put32(88, 0), wrong, "only declared"},
		{"extent", put64(92, 3), wrong, "takes 12 bytes, not 8"},
		{"large extent", put64(92, 1<<62), wrong, "too large"},
		{"larger extent", put64(92, 1<<63), wrong, "too large"},
		{"bytes", put64(100, 9), wrong, "takes 8 bytes, not 9"},
		{"offset not aligned", put64(108, 124), wrong, "no multiple of 8"},
		{"offset before the data", put64(108, 72), wrong, "before the data section"},
		{"offset at the end", put64(108, 128), wrong, "past the end"},
		{"offset that overflows", put64(108, math.MaxUint64-7), wrong, "past the end"},
	} {
		t.Run(e.name, func(t *testing.T) { e.check(t, data) })
	}
}

// TestNothingWithData changes the offset of a tensor without elements.
func TestNothingWithData(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "x", Tensor: view(tensor.F32, tensor.Shape{0}, nil)}}}}
	data := encode(t, m, container.Options{})
	edit{do: put64(108, 120)}.check(t, data)
	edit{do: put64(108, 112), kind: graph.ErrFormat, want: "before the data"}.check(t, data)
	edit{do: put64(108, 128), kind: graph.ErrFormat, want: "past the end"}.check(t, data)
}

// TestQuant changes the fields of a quantisation of u8[3,5] at the end of a file of version 2.
func TestQuant(t *testing.T) {
	m := &graph.Model{Format: Name, Container: 2, Graph: &graph.Graph{}}
	q := quant{scheme: 2, scaleMode: perChannel, scaleCount: 3, scales: make([]byte, 12), zeroMode: perChannel, zeroCount: 3, zeros: make([]byte, 12)}
	m.Graph.Initializers = []*graph.Initializer{{Name: "x", Tensor: view(tensor.U8, tensor.Shape{3, 5}, make([]byte, 15)), Meta: q.pairs()}}
	data := encode(t, m, container.Options{})
	at := len(data) - 72
	wrong := graph.ErrFormat
	for _, e := range []edit{
		{"as it is", func(b []byte) []byte { return b }, nil, ""},
		{"scheme 0", put32(at, 0), wrong, "scheme 0"},
		{"scheme", put32(at, 3), wrong, "scheme 3"},
		{"symmetric", put32(at, 1), wrong, "symmetric, and has zero points"},
		{"no mode", put32(at+4, 0), wrong, "mode 0 of scales"},
		{"mode", put32(at+4, 3), wrong, "mode 3 of scales"},
		{"other mode", put32(at+4, 1), wrong, "scales are per_tensor"},
		{"mode of zero points", put32(at+8, 3), wrong, "mode 3 of zero points"},
		{"no zero points", put32(at+8, 0), wrong, "no zero points, and 3"},
		{"reserved", put32(at+12, 1), wrong, "reserved"},
		{"axis", put64(at+16, 2), wrong, "along axis 2"},
		{"axes", put64(at+16, 1), wrong, "scales are along axis 1"},
		{"scales", put64(at+24, 4), wrong, "4 scales and 3 zero points"},
		{"fewer scales", put64(at+24, 1), wrong, "it takes 64 bytes, not 72"},
		{"wrong scales", put64(at+24, 2), wrong, "2 scales for 3 channels"},
		{"many scales", put64(at+24, math.MaxUint64), wrong, "scales and 3 zero points in 24 bytes"},
		{"many zero points", put64(at+40, 1<<62), wrong, "zero points in 24 bytes"},
		{"flag", put32(88, 1), wrong, "no quantisation, and 72 bytes"},
	} {
		t.Run(e.name, func(t *testing.T) { e.check(t, data) })
	}
	for name, do := range map[string]func(b []byte) []byte{"size": put64(116, 64), "small size": put64(116, 40), "offset": put64(124, 80), "declared": put32(88, 2)} {
		t.Run("entry "+name, func(t *testing.T) {
			if _, err := Read(nil, "", do(slices.Clone(data))); !errors.Is(err, graph.ErrFormat) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestTruncated cuts a file at every byte. The size in the header stays, or is the new size.
func TestTruncated(t *testing.T) {
	for _, m := range []*graph.Model{sample(), quantized()} {
		data := encode(t, m, container.Options{})
		for n := range data {
			if _, err := Read(nil, "", data[:n]); err == nil || len(Verify(nil, "", data[:n])) == 0 {
				t.Fatalf("the first %d bytes of %d are accepted", n, len(data))
			}
			if n < headerLen {
				continue
			}
			cut := put64(61, uint64(n))(slices.Clone(data[:n]))
			if _, err := Read(nil, "", cut); (err == nil) != (len(Verify(nil, "", cut)) == 0) {
				t.Fatalf("cut to %d bytes: %v", n, err)
			}
		}
	}
}

// TestFlipped flips a bit of every byte. The file is refused, or read and written again.
func TestFlipped(t *testing.T) {
	for _, m := range []*graph.Model{sample(), quantized()} {
		data := encode(t, m, container.Options{})
		for i := range data {
			data[i] ^= 1 << (i % 8)
			m, err := Read(nil, "", data)
			if problems := Verify(nil, "", data); err != nil && len(problems) == 0 {
				t.Fatalf("byte %d: %v is no problem", i, err)
			}
			if err == nil && i%7 == 0 {
				again(t, m)
			}
			data[i] ^= 1 << (i % 8)
		}
	}
}

// TestBooleans reads and verifies files with booleans other than 0 and 1 that share bytes.
func TestBooleans(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{}}
	for i := range 4 {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: fmt.Sprint("b", i), Tensor: view(tensor.Bool, tensor.Shape{16}, make([]byte, 16))})
	}
	m.Meta = []graph.Pair{{Key: "f", Data: view(tensor.Bool, tensor.Shape{}, []byte{1})}, {Key: "g", Data: view(tensor.Bool, tensor.Shape{3}, []byte{1, 0, 1})}}
	data := encode(t, m, container.Options{})
	begin := int(must(Read(nil, "", data)).Graph.Initializers[0].Stored.Offset)
	// b0 and b1 share eight bytes, and one of these is spoiled. b2 has the bytes of b1.
	r := newReader(nil, "", data)
	r.file()
	entry := func(i int) int { return int(r.at[tensors]) + i*44 + 36 }
	put64(entry(1), uint64(begin+8))(data)
	put64(entry(2), uint64(begin+8))(data)
	data[begin+10] = 7
	data[begin+23] = 255
	m = must(Read(nil, "", data))
	for i, want := range []string{"2:1", "2:1 15:1", "2:1 15:1", ""} {
		if i == 0 {
			want = "10:1"
		}
		init := m.Graph.Initializers[i]
		var got []string
		for j, v := range init.Tensor.Bytes() {
			if v != 0 {
				got = append(got, fmt.Sprintf("%d:%d", j, v))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is %v, want %s", init.Name, got, want)
		}
		if (want == "") != (init.Stored.Bytes == nil) || want != "" && &init.Stored.Bytes[0] != &data[init.Stored.Offset] {
			t.Errorf("%s: stored are %v", init.Name, init.Stored.Bytes)
		}
	}
	problems := Verify(nil, "f", data)
	if len(problems) != 3 || !strings.Contains(problems[0].Error(), fmt.Sprint("at byte ", begin+10, ": load: tensor \"b0\": boolean is 7")) {
		t.Errorf("problems %v", problems)
	}
	data[r.at[payloads]] = 2
	data[r.at[payloads]+8+16] = 3
	m = must(Read(nil, "", data))
	if f, g := m.Meta[0].Data.Bytes(), m.Meta[1].Data.Bytes(); f[0] != 1 || !bytes.Equal(g, []byte{1, 0, 1}) {
		t.Errorf("metadata %v and %v", f, g)
	}
	if n := len(Verify(nil, "", data)); n != 5 {
		t.Errorf("%d problems", n)
	}
}

// TestAllocation reads files that claim large contents.
func TestAllocation(t *testing.T) {
	shared := func(n int) []byte { // booleans that all have the same bytes
		m := &graph.Model{Graph: &graph.Graph{}}
		for i := range n {
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: fmt.Sprint(1000 + i), Tensor: view(tensor.Bool, tensor.Shape{0}, nil)})
		}
		data := encode(t, m, container.Options{})
		size := 1 << 16
		first := len(data)
		data = append(data, bytes.Repeat([]byte{9}, size)...)
		r := newReader(nil, "", data)
		put64(61, uint64(len(data)))(data)
		r.file()
		for i := range n {
			at := int(r.at[tensors]) + 44*i
			put64(at+20, uint64(size))(data)
			put64(at+28, uint64(size))(data)
			put64(at+36, uint64(first))(data)
		}
		return data
	}(2000)
	for name, data := range map[string][]byte{
		"counts":   put32(21, math.MaxUint32)(encode(t, sample(), container.Options{})),
		"booleans": shared,
	} {
		t.Run(name, func(t *testing.T) {
			used := fixtures.Allocated(func() { Read(nil, "", data) }) + fixtures.Allocated(func() { Verify(nil, "", data) })
			if limit := uint64(1<<16 + 100*len(data)); used > limit {
				t.Errorf("%d bytes for a file of %d", used, len(data))
			}
		})
	}
	if m, err := Read(nil, "", shared); err != nil || m.Graph.Initializers[1999].Tensor.Bytes()[1] != 1 {
		t.Error(err)
	}
}
