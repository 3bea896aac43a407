package gguf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample is a file of the samples.
type sample struct {
	Bytes    int
	Expect   string
	Kind     string
	Reason   string
	Version  int
	Part     int
	Parts    []string
	SameAs   string `json:"same_as"`
	Metadata map[string]struct {
		Type  string
		Value any
		Of    string
		N     int
		Head  []any
	}
	Tensors []struct {
		Name, Type string
		NE         []int
		Offset     int64
		NBytes     int
		SHA        string `json:"f32_sha256"`
	}
	DataStart int64 `json:"data_start"`
}

// samples returns the folder of the samples, and the samples by file name.
func samples(t testing.TB) (dir string, list map[string]*sample) {
	t.Helper()
	dir = fixtures.Dir(t, Name)
	var m struct{ Files map[string]*sample }
	fixtures.JSON(t, filepath.Join(dir, "manifest.json"), &m)
	if len(m.Files) == 0 {
		t.Fatal("the manifest has no file")
	}
	return dir, m.Files
}

// open opens a file, which closes when the test ends.
func open(t *testing.T, path string) (*graph.Model, error) {
	t.Helper()
	f, err := binio.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(nil, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	t.Cleanup(func() { m.Close() })
	return m, nil
}

// TestSamples compares metadata and tensors with the manifest, and writes the files again.
func TestSamples(t *testing.T) {
	dir, list := samples(t)
	for name, s := range list {
		if s.Expect != "accept" || s.Kind == "split" || !strings.HasSuffix(name, ".gguf") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			m, err := open(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := graph.Validate(m); err != nil {
				t.Error(err)
			}
			s.compare(t, m)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			again := written(t, m, container.Options{})
			if !bytes.Equal(again, data) && s.Kind != "odd" && name != "zoo.a.gguf" {
				t.Error("written otherwise than it was")
			}
			m2, err := Read(nil, name, again)
			if err != nil {
				t.Fatal(err)
			}
			same(t, m2, m)
		})
	}
}

// compare compares a model with the manifest.
func (s *sample) compare(t *testing.T, m *graph.Model) {
	t.Helper()
	if m.Container != s.Version && s.Version != 0 {
		t.Errorf("version %d, want %d", m.Container, s.Version)
	}
	if len(m.Meta) != len(s.Metadata) {
		t.Errorf("%d pairs, want %d", len(m.Meta), len(s.Metadata))
	}
	words := map[string]string{"str": "string", "arr": "array"}
	word := func(s string) string {
		if w, ok := words[s]; ok {
			return w
		}
		return s
	}
	for _, p := range m.Meta {
		want, ok := s.Metadata[p.Key]
		if !ok {
			t.Errorf("pair %q is not in the manifest", p.Key)
			continue
		}
		kind := word(want.Type)
		if kind == "array" {
			kind = arrayOf + word(want.Of)
		}
		if p.Kind != kind {
			t.Errorf("%s is of kind %s, want %s", p.Key, p.Kind, kind)
		}
		switch {
		case kind == "string":
			if p.Value != want.Value {
				t.Errorf("%s is %q, want %q", p.Key, p.Value, want.Value)
			}
		case kind == nested:
		case want.Type == "arr":
			if !p.Data.Shape().Equal(tensor.Shape{want.N}) {
				t.Errorf("%s is %v, want %d elements", p.Key, p.Data, want.N)
			}
			for i, v := range want.Head {
				if got := element(p.Data, i); got != number(v) {
					t.Errorf("%s begins with %v, want %v", p.Key, got, v)
				}
			}
		default:
			if got := element(p.Data, 0); len(p.Data.Shape()) != 0 || got != number(want.Value) {
				t.Errorf("%s is %v, want %v", p.Key, got, want.Value)
			}
		}
	}
	if len(m.Graph.Initializers) != len(s.Tensors) {
		t.Fatalf("%d tensors, want %d", len(m.Graph.Initializers), len(s.Tensors))
	}
	for i, x := range m.Graph.Initializers {
		want := s.Tensors[i]
		shape := make(tensor.Shape, len(want.NE))
		for k, n := range want.NE {
			shape[len(shape)-1-k] = n
		}
		if x.Name != want.Name || x.Stored.DType != want.Type || !x.Tensor.Shape().Equal(shape) || x.Stored.Offset != s.DataStart+want.Offset {
			t.Errorf("tensor %d is %s %s %v at %d, want %+v", i, x.Name, x.Stored.DType, x.Tensor, x.Stored.Offset, want)
		}
		if got := digest(x.Tensor); got != want.SHA {
			t.Errorf("tensor %s of %s has the digest %s, want %s", x.Name, want.Type, got, want.SHA)
		}
	}
}

// number returns a value of JSON as element does.
func number(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return 1.0
		}
		return 0.0
	}
	return v
}

// element returns a string, or a number as float64.
func element(t *tensor.Tensor, i int) any {
	if t.DType() == tensor.String {
		return t.Strings()[i]
	}
	return tensor.Numbers(t)(i)
}

// digest returns the SHA-256 of the elements as little-endian float32.
func digest(t *tensor.Tensor) string {
	list := make([]float32, t.Len())
	if b := t.DType().Blocks(); b != nil {
		b.Unpack(list, t.Bytes())
	} else {
		at := tensor.Numbers(t)
		for i := range list {
			list[i] = float32(at(i))
		}
	}
	h := sha256.New()
	for _, v := range list {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
		h.Write(b[:])
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// written returns the file of a model.
func written(t *testing.T, m *graph.Model, o container.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// same compares pairs and tensors in their order.
func same(t *testing.T, got, want *graph.Model) {
	t.Helper()
	text := func(m *graph.Model) (list []string) {
		for _, p := range m.Meta {
			s := fmt.Sprintf("%q %s %q %v", p.Key, p.Kind, p.Value, p.Data)
			if p.Data != nil {
				s += fmt.Sprintf(" %x %q", p.Data.Bytes(), p.Data.Strings())
			}
			list = append(list, s)
		}
		for _, x := range m.Graph.Initializers {
			list = append(list, fmt.Sprintf("%q %v %x", x.Name, x.Tensor, x.Tensor.Bytes()))
		}
		return list
	}
	g, w := text(got), text(want)
	if len(g) != len(w) {
		t.Errorf("%d pairs and tensors, want %d", len(g), len(w))
		return
	}
	for i := range w {
		if g[i] != w[i] {
			t.Errorf("got %.200s, want %.200s", g[i], w[i])
		}
	}
}

// TestBrokenSamples reads files that are wrong. They are refused soon and with little memory, by an
// error with an offset, which verifying finds too.
func TestBrokenSamples(t *testing.T) {
	dir, list := samples(t)
	n := 0
	for name, s := range list {
		if s.Expect != "reject" {
			continue
		}
		n++
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Hour
		bytes := fixtures.Allocated(func() {
			begin := time.Now()
			_, err = Read(nil, name, data)
			took = min(took, time.Since(begin))
		})
		var g *graph.Error
		if !errors.As(err, &g) || g.Offset < 0 || g.Kind == nil {
			t.Errorf("%s (%s): %v", name, s.Reason, err)
			continue
		}
		t.Logf("%s: %v", s.Reason, err)
		if took > 10*time.Millisecond || bytes > 16<<20 {
			t.Errorf("%s: %v and %d bytes", name, took, bytes)
		}
		if got := Verify(nil, &binio.File{Path: name, Data: data}); len(got) == 0 || got[0].Error() != err.Error() {
			t.Errorf("%s: verifying finds %v, reading %v", name, got, err)
		}
	}
	if n == 0 {
		t.Error("no sample is broken")
	}
}

// TestOddSamples verifies files that are legal and unusual.
func TestOddSamples(t *testing.T) {
	dir, list := samples(t)
	filled := []string{"odd.alignment_8.gguf", "odd.gap.gguf"} // padding and gaps
	wrong := map[string]string{"odd.scale_inf.gguf": "not finite", "odd.scale_nan.gguf": "not finite"}
	for name, s := range list {
		if s.Kind != "odd" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got := errors.Join(Verify(nil, &binio.File{Path: name, Data: data})...)
		if want := wrong[name]; (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%s: %v, want %q", name, got, want)
		}
		m, err := Read(nil, name, data)
		if err != nil {
			t.Fatal(err)
		}
		if warned := len(m.Warnings) > 0; warned != slices.Contains(filled, name) {
			t.Errorf("%s: warnings %v", name, m.Warnings)
		}
	}
}

// TestSplitSamples opens a model of three files.
func TestSplitSamples(t *testing.T) {
	dir, list := samples(t)
	n := 0
	for name, s := range list {
		if s.Kind != "split" {
			continue
		}
		n++
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		m, err := open(t, filepath.Join(dir, name))
		from, err2 := ReadFiles(nil, name, data, os.DirFS(dir))
		if s.Part > 0 {
			for _, err := range []error{err, err2} {
				if err == nil || !strings.Contains(err.Error(), s.Parts[0]) {
					t.Errorf("%s: %v, want the name of the first file", name, err)
				}
			}
			continue
		}
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		all, err := open(t, filepath.Join(dir, s.SameAs))
		if err != nil {
			t.Fatal(err)
		}
		same(t, m, all)
		same(t, from, all)
		if err := from.Close(); err != nil {
			t.Error(err)
		}
		if _, err := Read(nil, name, data); !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), "open it as a file") {
			t.Errorf("from memory: %v", err)
		}
		f, err := binio.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if problems := Verify(nil, f); problems != nil {
			t.Error(problems)
		}
		f.Close()
	}
	if n < 3 {
		t.Errorf("%d files of a model of several", n)
	}
}
