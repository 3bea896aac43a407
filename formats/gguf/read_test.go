package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestRefused(t *testing.T) {
	b := little()
	one := func() *builder { return little().tensor("w", 0, 0, 2) }
	typed := func(n uint32) []byte { return little().tensor("w", n, 0, 32).file(make([]byte, 32)...) }
	deep := func(n int) []byte {
		value := b.u32(nil, arrayValue)
		for range n {
			value = b.u32(b.u64(value, 1), arrayValue)
		}
		return little().pair("k", arrayValue, b.u64(value, 0)).file()
	}
	swapped := big()
	swapped.descriptions, swapped.order = one().descriptions, binary.LittleEndian
	swapped.version = 3 << 24
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"no bytes", nil, "the magic takes 4 bytes"},
		{"other magic", []byte("GGUX\x03\x00\x00\x00"), "begins with"},
		{"version 1", b.u32([]byte(magic), 1, 0), "version 1"},
		{"version 4", b.u32([]byte(magic), 4, 0), "version 4"},
		{"little after big", swapped.file(make([]byte, 8)...), "version is big-endian"},
		{"more pairs", func() []byte { b := one(); b.pairs = 1 << 40; return b.file(make([]byte, 8)...) }(), "pairs take at least"},
		{"more tensors", func() []byte { b := one(); b.tensors = 1 << 40; return b.file(make([]byte, 8)...) }(), "tensors take at least"},
		{"empty key", little().pair("", 0, []byte{1}).file(), "key is empty"},
		{"same key", little().pair("k", 0, []byte{1}).pair("k", 0, []byte{1}).file(), "more than once"},
		{"value of type 13", little().pair("k", 13, []byte{1}).file(), "of type 13"},
		{"array of type 99", little().pair("k", arrayValue, b.u64(b.u32(nil, 99), 0)).file(), "of type 99"},
		{"long array", little().pair("k", arrayValue, b.u64(b.u32(nil, 0), 1<<40)).file(), "values take at least"},
		{"array of 2⁶³", little().pair("k", arrayValue, b.u64(b.u32(nil, 0), 1<<63)).file(), "elements"},
		{"long array of strings", little().pair("k", arrayValue, b.u64(b.u32(nil, stringValue), 1<<61)).file(), "strings take at least"},
		{"long string", little().pair("k", stringValue, b.u64(nil, 1<<40)).file(), "a string takes"},
		{"deep arrays", deep(maxDepth + 1), "nested more than"},
		{"alignment of type i32", little().pair(alignmentKey, 5, b.u32(nil, 32)).file(), "power of two"},
		{"alignment of 24", little().pair(alignmentKey, 4, b.u32(nil, 24)).file(), "power of two"},
		{"alignment of 0", little().pair(alignmentKey, 4, b.u32(nil, 0)).file(), "power of two"},
		{"alignment past the end", little().pair(alignmentKey, 4, b.u32(nil, 1<<20)).tensor("w", 0, 0, 2).file(make([]byte, 8)...), "cut short"},
		{"no name", little().tensor("", 0, 0, 2).file(make([]byte, 8)...), "no name"},
		{"same name", one().tensor("w", 0, 32, 2).file(make([]byte, 40)...), "more than once"},
		{"five axes", little().tensor("w", 0, 0, 1, 1, 1, 1, 2).file(make([]byte, 8)...), "5 axes"},
		{"elements that overflow", little().tensor("w", 0, 0, 1<<33, 1<<31).file(), "more elements than memory"},
		{"an extent that is negative", little().tensor("w", 0, 0, ^uint64(31)).file(), "more elements than memory"},
		{"part of a block", little().tensor("w", 2, 0, 48).file(make([]byte, 64)...), "no multiple of the 32"},
		{"a scalar of a block", little().tensor("w", 2, 0).file(make([]byte, 64)...), "no multiple of the 32"},
		{"between alignments", little().tensor("w", 0, 4, 2).file(make([]byte, 16)...), "no multiple of the alignment"},
		{"overlap", one().tensor("v", 0, 0, 1).file(make([]byte, 8)...), "before the end of"},
		{"overlap in part", little().tensor("w", 0, 0, 9).tensor("v", 0, 32, 1).file(make([]byte, 40)...), "before the end of"},
		{"cut", one().file(make([]byte, 7)...), "cut short"},
		{"offset past the end", little().tensor("w", 0, 1<<40, 2).file(make([]byte, 8)...), "cut short"},
		{"offset that overflows", little().tensor("w", 0, ^uint64(31), 16).file(make([]byte, 64)...), "cut short"},
		{"type 4", typed(4), "Q4_2"}, {"type 5", typed(5), "Q4_3"}, {"type 32", typed(32), "Q4_0_4_8"}, {"type 36", typed(36), "IQ4_NL_4_4"},
		{"type 38", typed(38), "take the file of IQ4_NL"}, {"type 139", typed(139), "IQ4_K of ik_llama.cpp"}, {"type 150", typed(150), "ik_llama.cpp"},
		{"type 300", typed(300), "interleaved rows"}, {"type -1", typed(^uint32(0)), "which GGUF does not have"},
		{"I2_S of rows in part", little().tensor("w", 36, 0, 64, 2).file(make([]byte, 64)...), "IQ4_NL_4_4"},
		{"IQ4_NL of the number of I2_S", little().tensor("w", 36, 0, 128, 4).file(make([]byte, 288)...), "IQ4_NL_4_4"},
		{"I2_S, cut", little().tensor("w", 36, 0, 128).file(make([]byte, 63)...), "cut short"},
		{"I2_S, code 3", little().tensor("w", 36, 0, 128).file(append([]byte{1, 0x30}, make([]byte, 62)...)...), "code 3"},
		{"I2_S, factor", little().tensor("w", 36, 0, 128).file(append(make([]byte, 32), append([]byte{0, 0, 0xc0, 0x7f}, make([]byte, 28)...)...)...), "factor NaN"},
		{"I2_S, two factors", little().tensor("v.weight", 36, 0, 128).tensor("v.scale", 0, 64, 1).file(make([]byte, 68)...), "is another"},
		{"I2_S, factors of one name", little().tensor("v.weight", 36, 0, 128).tensor("v", 36, 64, 128).file(make([]byte, 128)...), "is another"},
		{"big-endian I2_S", big().tensor("w", 36, 0, 128).file(make([]byte, 64)...), "not settled"},
		{"big-endian words that are not settled", big().tensor("w", 16, 0, 256).file(make([]byte, 66)...), "not settled"},
		{"part of 70000", little().pair(splitCountKey, 4, b.u32(nil, 70000)).file(), "no number from 0 to 65535"},
		{"part 3 of 3", little().pair(splitNoKey, 2, []byte{3, 0}).pair(splitCountKey, 2, []byte{3, 0}).file(), "split.no is 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(nil, "x", c.data)
			var g *graph.Error
			if !errors.As(err, &g) || !strings.Contains(err.Error(), c.want) || g.Offset < 0 || g.Kind == nil {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if got := Verify(nil, &binio.File{Path: "x", Data: c.data}); len(got) == 0 || got[0].Error() != err.Error() {
				t.Errorf("verify finds %v, read %v", got, err)
			}
		})
	}
}

// TestBigEndian reads numbers of every width, in metadata and in blocks.
func TestBigEndian(t *testing.T) {
	b := big()
	data := make([]byte, 512)
	place := func(at int, b ...byte) uint64 { copy(data[at:], b); return uint64(at) }
	b.pair("u16", 2, []byte{1, 2}).pair("f32", 6, []byte{0x3f, 0x80, 0, 0}).pair("i64", 11, b.u64(nil, 5)).pair("text", stringValue, b.text("ab"))
	b.pair("list", arrayValue, append(b.u64(b.u32(nil, 3), 2), 0, 1, 0xff, 0xfe))
	b.pair("texts", arrayValue, append(b.u64(b.u32(nil, stringValue), 1), b.text("xyz")...))
	b.pair("lists", arrayValue, append(b.u64(b.u32(b.u64(b.u32(nil, arrayValue), 1), 2), 1), 3, 4))
	b.tensor("f32", 0, place(0, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0), 2)
	b.tensor("f16", 1, place(32, 0x3c, 0), 1)
	b.tensor("i8", 24, place(64, 1, 2, 3), 3)
	b.tensor("q4_0", 2, place(96, 0x3c, 0x01, 7), 32)
	b.tensor("q5_1", 7, place(128, 0x3c, 0x01, 0x40, 0x02, 1, 2, 3, 4, 9), 32)
	b.tensor("iq2_xs", 17, place(160, 0x3c, 0x01, 1, 2, 3, 4), 256)
	m, err := Read(nil, "x", b.file(data...))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.Meta {
		switch {
		case p.Data == nil:
			got = append(got, p.Value)
		case p.Data.DType() == tensor.String:
			got = append(got, fmt.Sprint(p.Data.Strings()))
		default:
			got = append(got, fmt.Sprintf("%x", p.Data.Bytes()))
		}
	}
	if want := "0201 0000803f 0500000000000000 ab 0100feff [xyz] 0900000001000000000000000200000001000000000000000403"; strings.Join(got, " ") != want {
		t.Errorf("metadata %s, want %s", got, want)
	}
	got = nil
	for _, x := range m.Graph.Initializers {
		got = append(got, fmt.Sprintf("%s %x", x.Name, x.Tensor.Bytes()[:min(9, x.Tensor.Size())]))
	}
	if want := "f32 0000803f000000c0; f16 003c; i8 010203; q4_0 013c07000000000000; q5_1 013c02400403020109; iq2_xs 013c02010403000000"; strings.Join(got, "; ") != want {
		t.Errorf("tensors %s, want %s", strings.Join(got, "; "), want)
	}
	again, err := Read(nil, "x", written(t, m, container.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, m)
}

// TestPlaces reads tensors out of order, with gaps, scalars and empty tensors.
func TestPlaces(t *testing.T) {
	data := make([]byte, 104)
	for i := range data {
		data[i] = byte(i)
	}
	file := little().tensor("last", 24, 96, 4, 2).tensor("first", 24, 32).tensor("none", 0, 32, 0, 3).file(data...)
	m, err := Read(nil, "x", file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, x := range m.Graph.Initializers {
		list = append(list, fmt.Sprint(x.Name, " ", x.Tensor, " ", x.Tensor.Bytes()))
	}
	if got, want := strings.Join(list, "; "), "last int8[2,4] [96 97 98 99 100 101 102 103]; first int8[] [32]; none float32[3,0] []"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if &m.Graph.Initializers[0].Tensor.Bytes()[0] != &file[len(file)-8] {
		t.Error("a tensor was copied")
	}
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].Error(), "not zero") {
		t.Errorf("warnings %v", m.Warnings)
	}
}

// TestNotFinite verifies numbers and scales that are not finite, of every type.
func TestNotFinite(t *testing.T) {
	for _, k := range types {
		n := uint64(3 * k.elements)
		data := make([]byte, 3*k.bytes)
		if k.factor {
			data = append(data, make([]byte, tailI2S)...)
		}
		file := little().tensor("w", k.number, 0, n).file(data...)
		if got := Verify(nil, &binio.File{Data: file}); got != nil {
			t.Errorf("%s of zeros: %v", k.name, got)
		}
		if k.dtype.IsInteger() {
			continue
		}
		for i := range data[:k.bytes] {
			data[2*k.bytes+i] = 0xff
		}
		file = little().tensor("w", k.number, 0, n).file(data...)
		got := Verify(nil, &binio.File{Data: file})
		if k.dtype == tensor.NVFP4 { // every code of its scales is a number
			if got != nil {
				t.Errorf("%s: %v", k.name, got)
			}
			continue
		}
		var g *graph.Error
		if len(got) != 1 || !errors.As(got[0], &g) || int(g.Offset) != len(file)-k.bytes || !strings.Contains(g.Error(), fmt.Sprint("element ", 2*k.elements)) {
			t.Errorf("%s: %v, want the block at %d", k.name, got, len(file)-k.bytes)
		}
		if _, err := Read(nil, "x", file); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// TestParts opens models of two files in folders that lack something.
func TestParts(t *testing.T) {
	file := func(no, count, tensors byte, name string) string {
		b := little().pair(splitNoKey, 2, []byte{no, 0}).pair(splitCountKey, 2, []byte{count, 0}).pair(splitTensorsKey, 5, []byte{tensors, 0, 0, 0})
		return string(b.tensor(name, 24, 0, 1).file(7))
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // of the error; empty for none
	}{
		{"whole", map[string]string{"m-00001-of-00002.gguf": file(0, 2, 2, "a"), "m-00002-of-00002.gguf": file(1, 2, 2, "b")}, ""},
		{"one missing", map[string]string{"m-00001-of-00002.gguf": file(0, 2, 2, "a")}, "m-00002-of-00002.gguf, file 2 of 2: no such file"},
		{"renamed", map[string]string{"m.gguf": file(0, 2, 2, "a"), "m-00002-of-00002.gguf": file(1, 2, 2, "b")}, "must end in -00001-of-00002.gguf"},
		{"second", map[string]string{"m-00002-of-00002.gguf": file(1, 2, 2, "b")}, "open the first, m-00001-of-00002.gguf"},
		{"second, renamed", map[string]string{"m.gguf": file(1, 2, 2, "b")}, "whose name ends in -00001-of-00002.gguf"},
		{"another for the second", map[string]string{"m-00001-of-00002.gguf": file(0, 2, 2, "a"), "m-00002-of-00002.gguf": file(0, 2, 2, "b")}, "calls it file 1 of 2"},
		{"same tensor", map[string]string{"m-00001-of-00002.gguf": file(0, 2, 2, "a"), "m-00002-of-00002.gguf": file(1, 2, 2, "a")}, "and in"},
		{"tensors missing", map[string]string{"m-00001-of-00002.gguf": file(0, 2, 3, "a"), "m-00002-of-00002.gguf": file(1, 2, 3, "b")}, "have 2 tensors"},
		{"second broken", map[string]string{"m-00001-of-00002.gguf": file(0, 2, 2, "a"), "m-00002-of-00002.gguf": file(1, 2, 2, "b")[:100]}, "m-00002-of-00002.gguf at byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var names []string
			for name, data := range c.files {
				testenv.Need(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666))
				names = append(names, name)
			}
			slices.Sort(names)
			first := names[0]
			if c.name == "renamed" {
				first = "m.gguf"
			}
			f, err := binio.Open(filepath.Join(dir, first))
			testenv.Need(t, err)
			defer f.Close()
			var problem error
			if problems := Verify(nil, f); problems != nil {
				problem = problems[0]
			}
			m, err := Open(nil, f)
			same, fromFS := ReadFiles(nil, first, []byte(c.files[first]), os.DirFS(dir))
			if fromFS == nil {
				defer same.Close()
			}
			for what, err := range map[string]error{"open": err, "verify": problem, "read": fromFS} {
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", what, err, c.want)
				}
			}
			if err != nil {
				return
			}
			if n := len(m.Graph.Initializers); n != 2 || len(m.Meta) != 0 || m.Graph.Initializers[1].Stored.Offset != -1 {
				t.Errorf("%d tensors and the metadata %v", n, m.Meta)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzRead reads data. It gives an error that verifying finds first, or a model that is written and
// read again. Memory is in proportion to the file.
func FuzzRead(f *testing.F) {
	for _, m := range []*graph.Model{{Graph: &graph.Graph{}}, whole(f)} {
		var b bytes.Buffer
		if err := Write(&b, m, container.Options{}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(big().pair("k", 4, []byte{0, 0, 0, 1}).tensor("w", 1, 0, 2).file(0x3c, 0, 0x40, 0))
	f.Add(little().pair(splitCountKey, 2, []byte{2, 0}).tensor("w", 15, 0, 256).file(make([]byte, 292)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m *graph.Model
		var err error
		if n := fixtures.Allocated(func() { m, err = Read(nil, "x", data) }); n > 1<<16+100*uint64(len(data)) {
			t.Errorf("%d bytes allocated for %d", n, len(data))
		}
		problems := Verify(nil, &binio.File{Path: "x", Data: data})
		if err != nil {
			if len(problems) == 0 {
				t.Errorf("verifying does not find %v", err)
			}
			return
		}
		if err := graph.Validate(m); err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, m, container.Options{}); err != nil {
			if !errors.Is(err, graph.ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		again, err := Read(nil, "y", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, m)
	})
}

// BenchmarkTokens reads the metadata of a large vocabulary.
func BenchmarkTokens(b *testing.B) {
	list := make([]string, 150_000)
	for i := range list {
		list[i] = fmt.Sprint("token", i)
	}
	x, err := tensor.FromStrings(list, len(list))
	if err != nil {
		b.Fatal(err)
	}
	m := &graph.Model{Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "tokens", Data: x}, {Key: "scores", Data: tensor.New(tensor.F32, len(list))}}}
	var out bytes.Buffer
	if err := Write(&out, m, container.Options{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(nil, "x", out.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSmallTernary reads a tensor of I2_S that has room for IQ4_NL by its alignment alone.
func TestSmallTernary(t *testing.T) {
	b := little()
	file := b.pair(alignmentKey, 4, b.u32(nil, 512)).tensor("w.weight", 36, 0, 128).tensor("v", 0, 512, 1).file()
	data := make([]byte, (512-len(file)%512)%512+512+4)
	m, err := Read(nil, "x", append(file, data...))
	if err != nil {
		t.Fatal(err)
	}
	if list := m.Graph.Initializers; len(list) != 3 || list[0].Tensor.DType() != tensor.I2 || list[1].Name != "w.scale" {
		t.Errorf("the tensors are %v", list)
	}
}
