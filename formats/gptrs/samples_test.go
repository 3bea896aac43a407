package gptrs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// sample is an entry of the samples' manifest.
type sample struct {
	File, Format, Expect, Stage, Kind string
	AlsoOK                            []string `json:"also_ok"`
	LoadModel                         string   `json:"load_model"`
}

func formatOf(name string) *Format {
	if name == Checkpoint.magic {
		return Checkpoint
	}
	return Archive
}

func manifest(t *testing.T, dir string) (valid, broken []sample) {
	t.Helper()
	var m struct{ Valid, Broken []sample }
	fixtures.JSON(t, filepath.Join(dir, "manifest.json"), &m)
	if len(m.Valid) == 0 || len(m.Broken) == 0 {
		t.Fatal("the manifest lists nothing")
	}
	return m.Valid, m.Broken
}

// load reads a file. For a checkpoint, it also checks that it is a network.
func load(f *Format, name string, data []byte) (m *graph.Model, opened, built error) {
	m, opened = f.Read(nil, name, data)
	built = opened
	if opened == nil && f == Checkpoint {
		built = Check(m)
	}
	return m, opened, built
}

func TestSamples(t *testing.T) {
	dir := fixtures.Dir(t, "gptrs")
	valid, broken := manifest(t, dir)
	for _, s := range valid {
		t.Run(s.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, s.File))
			if err != nil {
				t.Fatal(err)
			}
			f := formatOf(s.Format)
			m, opened, built := load(f, s.File, data)
			if opened != nil {
				t.Fatal(opened)
			}
			if (built != nil) != (s.LoadModel != "") || s.LoadModel != "" && !errors.Is(built, UnsupportedKind) {
				t.Errorf("as a network: %v, and the manifest says %q", built, s.LoadModel)
			}
			if p := f.Verify(nil, s.File, data); len(p) > 0 {
				t.Errorf("problems %v", p)
			}
			rewrite(t, f, m, data)
		})
	}
	for _, s := range broken {
		t.Run(s.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, s.File))
			if err != nil {
				t.Fatal(err)
			}
			f := formatOf(s.Format)
			m, opened, built := load(f, s.File, data)
			var kind Kind
			errors.As(built, &kind)
			switch {
			case built == nil && s.Expect == "reject":
				t.Errorf("taken, and the manifest says %s", s.Kind)
			case built != nil && string(kind) != s.Kind && !slices.Contains(s.AlsoOK, string(kind)):
				t.Errorf("refused as %s, not %s %v: %v", kind, s.Kind, s.AlsoOK, built)
			}
			if problems := f.Verify(nil, s.File, data); (len(problems) > 0) != (opened != nil) {
				t.Errorf("verify finds %v, read %v", problems, opened)
			} else if opened != nil && problems[0].Error() != opened.Error() {
				t.Errorf("verify finds %v first, read %v", problems[0], opened)
			}
			if opened == nil {
				rewrite(t, f, m, data)
			}
			t.Log(built)
		})
	}
}

// rewrite writes the model of a file. The result has the same content, and the same bytes if the
// file was in Write's order.
func rewrite(t *testing.T, f *Format, m *graph.Model, data []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, m, container.Options{}); err != nil {
		t.Fatal(err)
	}
	if canonical(m, len(data)) && !bytes.Equal(b.Bytes(), data) {
		t.Error("the file is written otherwise than it was")
	}
	again, err := f.Read(nil, "written", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, m)
}

// canonical reports whether names are sorted and payloads are back to back up to the end of a file
// of this size.
func canonical(m *graph.Model, size int) bool {
	end, name := int64(-1), ""
	for _, t := range m.Graph.Initializers {
		if end >= 0 && t.Stored.Offset != end || t.Name < name {
			return false
		}
		end, name = t.Stored.Offset+int64(len(t.Tensor.Bytes())), t.Name
	}
	return end < 0 || end == int64(size)
}

// same compares the tensors by name, and the metadata.
func same(t *testing.T, got, want *graph.Model) {
	t.Helper()
	if !slices.EqualFunc(got.Meta, want.Meta, func(a, b graph.Pair) bool { return a == b }) {
		t.Errorf("metadata %v, want %v", got.Meta, want.Meta)
	}
	list := map[string]*graph.Initializer{}
	for _, x := range got.Graph.Initializers {
		list[x.Name] = x
	}
	if len(list) != len(want.Graph.Initializers) {
		t.Errorf("%d tensors, want %d", len(list), len(want.Graph.Initializers))
	}
	for _, w := range want.Graph.Initializers {
		g := list[w.Name]
		if g == nil || g.Tensor.String() != w.Tensor.String() || !bytes.Equal(g.Tensor.Bytes(), w.Tensor.Bytes()) || g.Stored.DType != w.Stored.DType {
			t.Errorf("tensor %q is %v, want %v", w.Name, g, w)
		}
	}
}

// TestGoldenIDs compares the ids that gpt.rs prints.
func TestGoldenIDs(t *testing.T) {
	dir := fixtures.Dir(t, "gptrs")
	var golden struct {
		BaseIDs []struct {
			Name   string
			Hex    string            `json:"base_id_hex"`
			Stored string            `json:"bytes_le"`
			Keys   map[string]string `json:"param_key_ns"`
		} `json:"base_ids"`
	}
	fixtures.JSON(t, filepath.Join(dir, "golden.json"), &golden)
	if len(golden.BaseIDs) == 0 {
		t.Fatal("no ids")
	}
	for _, g := range golden.BaseIDs {
		id := BaseParamID(g.Name)
		if id.String() != g.Hex || hex.EncodeToString(id[:]) != g.Stored {
			t.Errorf("%s: %v, want %s", g.Name, id, g.Hex)
		}
		for ns, want := range g.Keys {
			var n uint64
			if err := json.Unmarshal([]byte(ns), &n); err != nil {
				t.Fatal(err)
			}
			if got := ParamKey(NamespaceID(0, n), id).String(); got != want {
				t.Errorf("%s in namespace %d: %s, want %s", g.Name, n, got, want)
			}
		}
	}
}
