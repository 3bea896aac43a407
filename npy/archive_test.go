package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
)

// stored reads an archive that NumPy wrote (oracles/formats/arrays.py).
func stored(t *testing.T, name string) map[string]*nacre.Tensor {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadArchive(nil, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestNumPy(t *testing.T) {
	signed := func(k int) string { return fmt.Sprint(k - 6) }
	unsigned := func(k int) string { return fmt.Sprint(k) }
	quarter := func(k int) string { return fmt.Sprint(float64(k-6) / 4) }
	parts := func(k int) string { return quarter(k) + "+0i" }
	among := func(list ...string) func(int) string {
		return func(k int) string { return fmt.Sprintf("%q", list[k]) }
	}
	all := stored(t, "numpy.npz")
	for _, c := range []struct {
		name, want string
		text       func(k int) string
	}{
		{"i1", "int8[3,4]", signed}, {"i2", "int16[3,4]", signed}, {"i4", "int32[3,4]", signed}, {"i8", "int64[3,4]", signed},
		{"u1", "uint8[3,4]", unsigned}, {"u2", "uint16[3,4]", unsigned}, {"u4", "uint32[3,4]", unsigned},
		{"u8", "uint64[3,4]", unsigned},
		{"f2", "float16[3,4]", quarter}, {"f4", "float32[3,4]", quarter}, {"f8", "float64[3,4]", quarter},
		{"c8", "complex64[3,4]", parts}, {"c16", "complex128[3,4]", parts},
		{"bool", "bool[3,4]", func(k int) string { return fmt.Sprint(k%3 == 0) }},
		{"text", "string[2,2]", among("a", "ä∂", "", "𝄞x")},
		{"scalar", "float32[]", func(int) string { return "1.5" }},
		{"empty", "float32[0,4]", nil},
		{"fortran", "int32[2,3,4]", unsigned},
		{"fortran_text", "string[2,3]", among("a", "b", "c", "d", "e", "f")},
	} {
		x := all[c.name]
		if delete(all, c.name); x.String() != c.want {
			t.Errorf("%s is %v, want %s", c.name, x, c.want)
			continue
		}
		for k := range x.Len() {
			if got := x.Text(k); got != c.text(k) {
				t.Errorf("element %d of %s is %s, want %s", k, c.name, got, c.text(k))
			}
		}
	}
	if len(all) > 0 {
		t.Errorf("more arrays: %v", all)
	}
	if small := stored(t, "compressed.npz"); len(small) != 2 || small["x"].Text(999) != "999" || small["y"].Text(0) != "2" {
		t.Errorf("compressed: %v", small)
	}
}

func TestArchive(t *testing.T) {
	want := map[string]*nacre.Tensor{"b/c": sample(t, nacre.Float32, 2, 3), "a": sample(t, nacre.String, 4), "": sample(t, nacre.Bool)}
	var b, again bytes.Buffer
	if err := errors.Join(WriteArchive(&b, want), WriteArchive(&again, want)); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatalf("%v, or two archives differ", err)
	}
	got, err := ReadArchive(nil, bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(got) != len(want) {
		t.Fatal(got, err)
	}
	for name, x := range want {
		checkSame(t, got[name], x)
	}
	want["c"] = sample(t, nacre.Float8E5M2, 1)
	if err := WriteArchive(&b, want); !errors.Is(err, nacre.ErrUnsupported) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a type that NumPy lacks: %v", err)
	}
}

func TestArchiveErrors(t *testing.T) {
	zipped := func(method uint16, names []string, data []byte) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range names {
			f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
			if err == nil {
				_, err = f.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one := written(t, sample(t, nacre.Float32, 100))
	flipped := zipped(zip.Store, []string{"x.npy"}, one)
	flipped[bytes.Index(flipped, []byte(magic))+len(one)-1] ^= 1
	zeros, err := nacre.Zeros(nacre.Uint8, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		data   []byte
		budget *formats.Budget
		want   error
		text   string
	}{
		{"no archive", []byte("text"), nil, nacre.ErrFormat, "not an .npz"},
		{"twice", zipped(zip.Store, []string{"x.npy", "x.npy"}, one), nil, nacre.ErrFormat, "twice"},
		{"no array", zipped(zip.Store, []string{"x.npy"}, []byte("text")), nil, nacre.ErrFormat, `"x"`},
		{"bytes that follow", zipped(zip.Store, []string{"x.npy"}, append(bytes.Clone(one), 0)), nil, nacre.ErrFormat, "follow"},
		{"a wrong sum", flipped, nil, nacre.ErrFormat, "checksum"},
		{"a bomb", zipped(zip.Deflate, []string{"x.npy"}, written(t, zeros)),
			formats.NewBudget(t.Context(), formats.Limits{Bytes: 1 << 20}), nacre.ErrMemory, `"x"`},
	} {
		_, err := ReadArchive(c.budget, bytes.NewReader(c.data), int64(len(c.data)))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want one with %q of kind %v", c.name, err, c.text, c.want)
		}
	}
	if _, err := ReadArchive(nil, nil, 0); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("no reader: %v", err)
	}
}
