package oinf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// answer is the content of a sample file, as the samples describe it.
type answer struct {
	File      string
	Kind      string
	Expected  string
	WrittenBy string `json:"written_by"`
	Version   int    `json:"format_version"`
	Size      int    `json:"file_size"`
	SHA256    string
	Header    struct {
		NSizes   uint32 `json:"n_sizevars"`
		NMeta    uint32 `json:"n_metadata"`
		NTensors uint32 `json:"n_tensors"`
		Sizes    uint64 `json:"offset_sizevars"`
		Meta     uint64 `json:"offset_metadata"`
		Tensors  uint64 `json:"offset_tensors"`
		Data     uint64 `json:"offset_data"`
	}
	Sizevars []struct{ Name, Value string }
	Metadata []struct {
		Key, Type string
		Tag       uint32
		Offset    int `json:"value_offset"`
		Value     any
		Bits      string `json:"bits_hex"`
	}
	Tensors []tensorAnswer
}

type tensorAnswer struct {
	Name, DType string
	Tag         uint32
	Shape       tensor.Shape
	HasData     bool  `json:"has_data"`
	Bytes       int   `json:"data_nbytes"`
	Offset      int64 `json:"data_offset"`
	HasQuant    bool  `json:"has_quant"`
	Quant       struct {
		Scheme    string
		ScaleMode string `json:"scale_mode"`
		ZeroMode  string `json:"zero_point_mode"`
		ScaleAxis int    `json:"scale_axis"`
		ZeroAxis  int    `json:"zero_point_axis"`
		Scales    []any  `json:"scale_values"`
		Zeros     []any  `json:"zero_point_values"`
	}
	Values  []any
	First   []any    `json:"first_values"`
	Bits    []string `json:"bits_hex"`
	Payload *string  `json:"payload_hex"`
}

// TestFixtures reads every sample and compares it with its answer.
func TestFixtures(t *testing.T) {
	dir := fixtures.Loose(t, Name, "generated")
	met := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".oinf") && !exists(strings.TrimSuffix(path, ".oinf")+".json") {
			met++
			t.Run(filepath.Base(path), func(t *testing.T) { unanswered(t, path) })
		}
		if err != nil || !strings.HasSuffix(path, ".json") {
			return err
		}
		var a answer
		if parse(t, path, &a); a.Kind == "" || a.File == "" {
			return nil // not of a sample
		}
		met++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			a.check(t, filepath.Join(filepath.Dir(path), a.File))
		})
		return nil
	})
	if err != nil || met == 0 {
		t.Fatalf("%d samples, %v", met, err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unanswered reads a sample without an answer.
func unanswered(t *testing.T, path string) {
	data := slurp(t, path)
	m, err := Read(nil, path, data)
	if problems := Verify(nil, path, data); (err == nil) != (len(problems) == 0) {
		t.Errorf("reading says %v, and %d problems were found: %v", err, len(problems), problems)
	}
	if err == nil {
		again(t, m)
	}
}

func (a *answer) check(t *testing.T, path string) {
	data := slurp(t, path)
	m, err := Read(nil, path, data)
	problems := Verify(nil, path, data)
	switch {
	case strings.HasPrefix(a.Expected, "reject"):
		if err == nil || len(problems) == 0 {
			t.Errorf("accepted: %v, %v", err, problems)
		}
		var e *graph.Error
		if !errors.As(err, &e) || e.File != path || e.Offset < 0 || e.Kind == nil {
			t.Errorf("%v says not where and what kind", err)
		}
		return
	case strings.HasPrefix(a.Expected, "either"):
		return
	}
	if err != nil || len(problems) > 0 {
		t.Fatalf("refused: %v, %v", err, problems)
	}
	if a.Tensors == nil {
		return
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != a.SHA256 || len(data) != a.Size {
		t.Fatalf("%d bytes with checksum %x, and the answer is of another file", len(data), sum)
	}
	a.header(t, data)
	a.model(t, m, data)
	if strings.HasPrefix(a.WrittenBy, "upstream encoder") {
		rewrite(t, m, data)
	} else {
		again(t, m)
	}
}

func (a *answer) header(t *testing.T, data []byte) {
	r := newReader(nil, "", data)
	r.file()
	h := a.Header
	if want := [payloads]uint32{h.NSizes, h.NMeta, h.NTensors}; r.count != want {
		t.Errorf("counts %v, want %v", r.count, want)
	}
	if want := [sections]uint64{h.Sizes, h.Meta, h.Tensors, h.Data}; r.at != want {
		t.Errorf("sections at %v, want %v", r.at, want)
	}
}

func (a *answer) model(t *testing.T, m *graph.Model, data []byte) {
	if m.Format != Name || m.Container != a.Version {
		t.Errorf("%s %d, want version %d", m.Format, m.Container, a.Version)
	}
	if len(m.Sizes) != len(a.Sizevars) || len(m.Meta) != len(a.Metadata) {
		t.Fatalf("%d size variables and %d metadata entries", len(m.Sizes), len(m.Meta))
	}
	for i, want := range a.Sizevars {
		if got := m.Sizes[i]; got.Name != want.Name || strconv.FormatUint(got.Value, 10) != want.Value {
			t.Errorf("size variable %v, want %v", got, want)
		}
	}
	for i, want := range a.Metadata {
		got := m.Meta[i]
		if got.Key != want.Key || got.Kind != want.Type || types[want.Tag].word != want.Type {
			t.Errorf("metadata %q of kind %s, want %q of %s", got.Key, got.Kind, want.Key, want.Type)
		}
		t.Run(want.Key, func(t *testing.T) { sameValue(t, got, want.Value, want.Bits) })
	}
	held, declared := m.Graph.Initializers, m.Graph.Values
	for _, want := range a.Tensors {
		if want.HasData && len(held) > 0 {
			t.Run(want.Name, func(t *testing.T) { want.check(t, held[0], data) })
			held = held[1:]
			continue
		}
		if want.HasData || len(declared) == 0 {
			t.Fatalf("there is no tensor %q", want.Name)
		}
		v := declared[0]
		if v.Name != want.Name || types[want.Tag].word != want.DType || v.Type.DType != elementOf(want.Tag) || v.Type.Dims.String() != want.Shape.String() {
			t.Errorf("declared %s %v, want %s %s%v", v.Name, v.Type, want.Name, want.DType, want.Shape)
		}
		declared = declared[1:]
	}
	if len(held)+len(declared) > 0 {
		t.Errorf("%d tensors too many", len(held)+len(declared))
	}
}

func (a *tensorAnswer) check(t *testing.T, init *graph.Initializer, data []byte) {
	x := init.Tensor
	if init.Name != a.Name || init.Stored.DType != a.DType || !x.Shape().Equal(a.Shape) {
		t.Fatalf("tensor %q %s%v, want %q %s%v", init.Name, init.Stored.DType, x.Shape(), a.Name, a.DType, a.Shape)
	}
	if a.Tag != 0 && types[a.Tag].word != a.DType {
		t.Errorf("tag %d is %s", a.Tag, types[a.Tag].word)
	}
	stored := data[a.Offset : a.Offset+int64(a.Bytes)]
	if init.Stored.Offset != a.Offset || !bytes.Equal(x.Bytes(), stored) || init.Stored.Bytes != nil {
		t.Errorf("at %d: %x, want %x at %d", init.Stored.Offset, x.Bytes(), stored, a.Offset)
	}
	if len(stored) > 0 && &x.Bytes()[0] != &stored[0] {
		t.Error("the elements are a copy")
	}
	if a.Payload != nil && *a.Payload != hex.EncodeToString(stored) {
		t.Errorf("payload %x, want %s", stored, *a.Payload)
	}
	if a.Values != nil {
		sameNumbers(t, x, a.Values)
	}
	sameNumbers(t, x, a.First)
	sameBits(t, x, a.Bits)
	if a.HasQuant != (len(init.Meta) > 0) {
		t.Fatalf("quantisation %v", init.Meta)
	}
	if a.HasQuant {
		q := a.Quant
		meta := init.Meta
		if meta[0].Value != q.Scheme || meta[1].Kind != q.ScaleMode || meta[3].Kind != q.ZeroMode ||
			meta[2].Value != strconv.Itoa(q.ScaleAxis) || meta[4].Value != strconv.Itoa(q.ZeroAxis) {
			t.Errorf("quantisation %v, want %+v", meta, q)
		}
		sameNumbers(t, meta[1].Data, q.Scales)
		sameNumbers(t, meta[3].Data, q.Zeros)
	}
}

// sameValue compares metadata with its answer.
func sameValue(t *testing.T, p graph.Pair, want any, bits string) {
	switch w := want.(type) {
	case string:
		if p.Kind == "string" {
			if p.Value != w || p.Data != nil {
				t.Errorf("text %q, want %q", p.Value, w)
			}
			return
		}
	case map[string]any:
		if list, ok := w["bits"]; ok {
			raw, _ := hex.DecodeString(w["bytes_hex"].(string))
			if p.Data.DType() != tensor.U1 || !bytes.Equal(raw, p.Data.Bytes()) {
				t.Errorf("%v of bytes %x, want %x", p.Data, p.Data.Bytes(), raw)
			}
			sameNumbers(t, p.Data, list.([]any))
			return
		}
		var shape tensor.Shape
		for _, n := range w["shape"].([]any) {
			shape = append(shape, must(strconv.Atoi(n.(json.Number).String())))
		}
		if tag := elementOf(uint32(must(w["element_tag"].(json.Number).Int64()))); p.Data.DType() != tag || !p.Data.Shape().Equal(shape) {
			t.Errorf("%v, want %v%v", p.Data, tag, shape)
		}
		sameNumbers(t, p.Data, w["values"].([]any))
		if list, ok := w["bits_hex"].([]any); ok {
			for i, b := range list {
				sameBits(t, must(tensor.FromBytes(p.Data.DType(), tensor.Shape{}, p.Data.Bytes()[p.Data.DType().Bytes(i):p.Data.DType().Bytes(i+1)])), []string{b.(string)})
			}
		}
		return
	}
	if len(p.Data.Shape()) != 0 {
		t.Errorf("%v is no scalar", p.Data)
	}
	sameNumbers(t, p.Data, []any{want})
	if bits != "" {
		sameBits(t, p.Data, []string{bits})
	}
}

// sameNumbers compares the first elements.
func sameNumbers(t *testing.T, x *tensor.Tensor, want []any) {
	t.Helper()
	var got []float64
	walk(context.Background(), x, func(list []float64) { got = append(got, list...) })
	for i, w := range want {
		ok := false
		switch w := w.(type) {
		case bool:
			ok = w == (got[i] == 1)
		case string:
			switch w {
			case "NaN":
				ok = math.IsNaN(got[i])
			case "Infinity", "-Infinity":
				ok = got[i] == must(strconv.ParseFloat(w, 64))
			default:
				ok = x.Text(i) == w
			}
		case json.Number:
			v := must(w.Float64())
			ok = got[i] == v && math.Signbit(got[i]) == (v < 0 || strings.HasPrefix(w.String(), "-0"))
			if ok && x.DType().IsInteger() {
				ok = x.Text(i) == w.String()
			}
		}
		if !ok {
			t.Errorf("element %d is %v (%s), want %v", i, got[i], x.Text(i), w)
		}
	}
}

// sameBits compares elements of whole bytes with the digits of their bits.
func sameBits(t *testing.T, x *tensor.Tensor, want []string) {
	t.Helper()
	size := x.DType().Bits() / 8
	for i, w := range want {
		var v uint64
		for j := range size {
			v |= uint64(x.Bytes()[i*size+j]) << (8 * j)
		}
		if got := fmt.Sprintf("%0*x", 2*size, v); got != w {
			t.Errorf("element %d is %s, want %s", i, got, w)
		}
	}
}

// rewrite writes a model, and checks that the bytes are the same.
func rewrite(t *testing.T, m *graph.Model, want []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, container.Options{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("written again, the file differs: %d bytes of %d", b.Len(), len(want))
	}
}

func slurp(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t *testing.T, path string, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(slurp(t, path)))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
