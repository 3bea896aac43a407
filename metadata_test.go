package nacre_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestMetadata(t *testing.T) {
	g := shifted()
	g.Producer, g.ProducerVer, g.Domain, g.Version, g.Doc = "maker", "1.2", "org.example", 7, "adds"
	g.Opsets = append(g.Opsets, graph.Opset{Domain: "com.microsoft", Version: 1})
	g.Meta = []graph.Pair{{Key: "licence", Value: "none"}, {Key: "empty"}}
	var file bytes.Buffer
	if err := onnx.Write(&file, g); err != nil {
		t.Fatal(err)
	}
	m, err := nacre.Decode("shifted.onnx", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got := m.Metadata()
	if got.Format != "onnx" || got.File != "shifted.onnx" || got.Producer != "maker" || got.ProducerVersion != "1.2" ||
		got.Domain != "org.example" || got.Version != 7 || got.Doc != "adds" || got.IRVersion != 10 {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.Opsets, []nacre.Opset{{Domain: "ai.onnx", Version: 21}, {Domain: "com.microsoft", Version: 1}}) {
		t.Errorf("opsets are %v", got.Opsets)
	}
	for key, want := range map[string]bool{"licence": true, "empty": true, "author": false} {
		if text, ok := got.Lookup(key); ok != want || key == "licence" && text != "none" {
			t.Errorf("%s is %q, %t", key, text, ok)
		}
	}
}

// TestMetadataNumbers reads numbers that outlive the file.
func TestMetadataNumbers(t *testing.T) {
	numbers, err := tensor.From([]int64{3, 4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	g := shifted()
	g.Graph.Nodes, g.Graph.Inputs, g.Graph.Outputs = nil, nil, nil
	g.Meta = []graph.Pair{{Key: "shape", Data: numbers}}
	path := filepath.Join(t.TempDir(), "m.oinf")
	if err := formats.Save(path, g, formats.Options{DropGraph: true}); err != nil {
		t.Fatal(err)
	}
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := m.Metadata().Entries
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Numbers == nil {
		t.Fatalf("entries are %+v", entries)
	}
	data, err := nacre.Data[int64](entries[0].Numbers)
	if err != nil || !slices.Equal(data, []int64{3, 4}) {
		t.Errorf("got %v (%v)", data, err)
	}
}
