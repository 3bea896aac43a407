package hnw

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// kinds maps the names in the samples' manifest to kinds of errors.
var kinds = map[string]error{
	"archive_missing": ErrArchiveMissing, "archive_malformed": ErrMalformed, "archive_version_unsupported": ErrVersion,
	"archive_checksum_mismatch": ErrArchiveChecksum, "tensor_missing": ErrTensorMissing,
	"tensor_metadata_mismatch": ErrTensorMetadata, "tensor_checksum_mismatch": ErrTensorChecksum,
}

// kindOf returns the name of an error's only kind.
func kindOf(t *testing.T, err error) string {
	t.Helper()
	var found []string
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Errorf("%v is of the kinds %v", err, found)
		return ""
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%v has no *Error", err)
	}
	return found[0]
}

type sampleTensor struct {
	ID       string `json:"id"`
	Name     string `json:"onnx_name"`
	DType    string
	Shape    tensor.Shape
	SHA256   string
	Lookup   string `json:"kind"`
	File     string
	ByteSize int `json:"byte_len"`
}

type sample struct {
	File, Expect, Kind, Recommend string
	AlsoOK                        []string        `json:"also_ok"`
	PayloadStart                  int64           `json:"payload_start"`
	Tensors                       json.RawMessage // a list, or their number
	Model                         string
	Kinds                         []string
}

type samples struct {
	Valid, Broken, Mismatch []sample
	Lookups                 []sampleTensor
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func rewritten(t testing.TB, m *graph.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, container.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFixtures(t *testing.T) {
	dir := fixtures.Dir(t, Name)
	var list samples
	load(t, filepath.Join(dir, "manifest.json"), &list)
	if len(list.Valid) == 0 || len(list.Broken) == 0 {
		t.Fatal("no samples")
	}
	for _, s := range append(list.Valid, list.Broken...) {
		t.Run(s.File, func(t *testing.T) {
			path := filepath.Join(dir, s.File)
			m, err := Open(nil, path)
			want := s.Expect
			if s.Recommend != "" {
				want = s.Recommend
			}
			switch {
			case err == nil && want == "reject", err != nil && want == "accept":
				t.Errorf("expected %s, got %v", want, err)
			case err != nil && s.Kind != "":
				if kind := kindOf(t, err); kind != s.Kind && !slices.Contains(s.AlsoOK, kind) {
					t.Errorf("%v is of kind %s, want %s or %v", err, kind, s.Kind, s.AlsoOK)
				}
			}
			if errors.Is(err, ErrArchiveMissing) {
				return
			}
			data, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if problems := Verify(nil, path, data); len(problems) == 0 != (err == nil) {
				t.Errorf("verify finds %v, reading %v", problems, err)
			} else if err != nil && len(problems) > 0 && problems[0].Error() != err.Error() {
				t.Errorf("verify finds %v first, reading %v", problems[0], err)
			}
			if err != nil {
				return
			}
			defer m.Close()
			if err := graph.Validate(m); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(rewritten(t, m), data) {
				t.Error("written again, it is other bytes")
			}
			var tensors []sampleTensor
			var count int
			if json.Unmarshal(s.Tensors, &tensors) != nil && json.Unmarshal(s.Tensors, &count) == nil && count != len(m.Graph.Initializers) {
				t.Errorf("%d tensors, want %d", len(m.Graph.Initializers), count)
			}
			for i, want := range tensors {
				compare(t, m.Graph.Initializers[i], want, data)
			}
		})
	}
}

func compare(t *testing.T, got *graph.Initializer, want sampleTensor, data []byte) {
	t.Helper()
	b := got.Tensor.Bytes()
	id, _ := value(got.Meta, "id")
	if id != want.ID || got.Stored.DType != want.DType || !got.Tensor.Shape().Equal(want.Shape) || sumOf(b) != want.SHA256 {
		t.Errorf("got %q %s%v, want %q %s%v", id, got.Stored.DType, got.Tensor.Shape(), want.ID, want.DType, want.Shape)
	}
	if at := got.Stored.Offset; !bytes.Equal(data[at:int(at)+len(b)], b) {
		t.Errorf("%q does not lie at %d", id, at)
	}
}

// chelisOnly has types that Chelis reads and archives do not have.
var chelisOnly = map[string]tensor.DType{"f16": tensor.F16, "bf16": tensor.BF16, "i16": tensor.I16, "i8": tensor.I8}

func TestFixtureLookups(t *testing.T) {
	dir := fixtures.Dir(t, Name)
	var list samples
	load(t, filepath.Join(dir, "manifest.json"), &list)
	for _, l := range list.Lookups {
		m, err := Open(nil, filepath.Join(dir, l.File))
		if err != nil {
			t.Fatal(err)
		}
		d, ok := dtypeOf(l.DType)
		if d2, known := chelisOnly[l.DType]; known {
			d, ok = d2, true
		}
		if !ok {
			t.Fatalf("no type %s", l.DType)
		}
		x, err := Lookup(m, l.ID, d, l.Shape)
		switch {
		case l.Lookup == "ok":
			if err != nil || x.DType() != d || !x.Shape().Equal(l.Shape) {
				t.Errorf("%s %q: %v, %v", l.File, l.ID, x, err)
			}
		case err == nil:
			t.Errorf("%s %q was found", l.File, l.ID)
		case kindOf(t, err) != l.Lookup:
			t.Errorf("%s %q: %v, want %s", l.File, l.ID, err, l.Lookup)
		}
		m.Close()
	}
}

func openONNX(t *testing.T, path string) *graph.Model {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Read(nil, path, data)
	if err != nil {
		t.Fatal(err)
	}
	m.Raw = data
	return m
}

func TestFixtureMismatch(t *testing.T) {
	dir := fixtures.Dir(t, Name)
	var list samples
	load(t, filepath.Join(dir, "manifest.json"), &list)
	for _, s := range list.Mismatch {
		model := openONNX(t, filepath.Join(dir, s.Model))
		before := model.Graph.Initializers[0].Tensor
		err := Replace(nil, model, filepath.Join(dir, s.File))
		if err == nil {
			if s.Expect == "reject" {
				t.Errorf("%s fits %s", s.File, s.Model)
			}
			model.Close()
			continue
		}
		if model.Graph.Initializers[0].Tensor != before {
			t.Errorf("%s: the model changed", s.File)
		}
		for name, kind := range kinds {
			if errors.Is(err, kind) && !slices.Contains(s.Kinds, name) {
				t.Errorf("%s: %v is of kind %s, want %v", s.File, err, name, s.Kinds)
			}
		}
		if e := (*Error)(nil); !errors.As(err, &e) || e.Module == "" || e.Initializer == "" {
			t.Errorf("%s: %v does not name module and initialiser", s.File, err)
		}
	}
}

// TestFixtureExports writes the weights of every model, and compares the archive with the samples.
func TestFixtureExports(t *testing.T) {
	dir := fixtures.Dir(t, Name)
	var golden struct {
		Export []struct {
			Model, Graph string
			Opset        int
			SHA256       string `json:"onnx_sha256"`
			Tensors      []sampleTensor
		}
	}
	load(t, filepath.Join(dir, "golden.json"), &golden)
	if len(golden.Export) == 0 {
		t.Fatal("no samples")
	}
	for _, want := range golden.Export {
		model := openONNX(t, filepath.Join(dir, want.Model))
		var b bytes.Buffer
		if err := Write(&b, model, container.Options{DropGraph: true}); err != nil {
			t.Error(err)
			continue
		}
		m, err := Read(nil, "export", b.Bytes())
		if err != nil {
			t.Error(err)
			continue
		}
		for key, text := range map[string]string{"source.onnx_sha256": want.SHA256, "source.graph_name": want.Graph} {
			if got, _ := value(m.Meta, key); got != text {
				t.Errorf("%s: %s is %q, want %q", want.Model, key, got, text)
			}
		}
		if len(m.Graph.Initializers) != len(want.Tensors) {
			t.Errorf("%s: %d tensors, want %d", want.Model, len(m.Graph.Initializers), len(want.Tensors))
			continue
		}
		for i, x := range want.Tensors {
			got := m.Graph.Initializers[i]
			x.ID, _ = value(got.Meta, "id")
			if got.Name != x.Name || len(got.Tensor.Bytes()) != x.ByteSize {
				t.Errorf("%s: %q, want %q", want.Model, got.Name, x.Name)
			}
			compare(t, got, x, b.Bytes())
		}
		if err := Match(m, model); err != nil {
			t.Error(err)
		}
	}
}
