package formats_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// officialModels lists every model below the folder of official test data.
func officialModels(t *testing.T) []string {
	root := testenv.OfficialData(t)
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".onnx") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOfficialModelsOpen(t *testing.T) {
	values := 0
	for _, path := range officialModels(t) {
		m, err := formats.Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		values += readTestData(t, filepath.Dir(path), m.Graph)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if values == 0 {
		t.Error("no stored value was read")
	}
}

func readTestData(t *testing.T, folder string, g *graph.Graph) int {
	n := 0
	for prefix, list := range map[string][]*graph.Value{"input_": g.Inputs, "output_": g.Outputs} {
		files, _ := filepath.Glob(filepath.Join(folder, "test_data_set_*", prefix+"*.pb"))
		for _, file := range files {
			k := 0
			for _, c := range strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), prefix), ".pb") {
				k = 10*k + int(c-'0')
			}
			if k >= len(list) {
				t.Logf("%s: %d values are declared", file, len(list))
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v, err := onnx.ReadValue(data, list[k].Type)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if v.Type.Kind != list[k].Type.Kind {
				t.Errorf("%s: %v where %v is declared", file, v.Type, list[k].Type)
			}
			n++
		}
	}
	return n
}

// TestOfficialModelsRoundTrip writes every model and reads it again.
func TestOfficialModelsRoundTrip(t *testing.T) {
	for _, path := range officialModels(t) {
		m, err := formats.Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := roundTrip(m); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		m.Close()
	}
}

// roundTrip writes a model, reads it and writes it again. It returns an error if the models or the
// two files differ.
func roundTrip(m *graph.Model) error {
	var first, second bytes.Buffer
	if err := onnx.Write(&first, m); err != nil {
		return err
	}
	again, err := onnx.Read(nil, m.File, first.Bytes())
	if err != nil {
		return err
	}
	if err := onnx.Write(&second, again); err != nil {
		return err
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		return errors.New("the second writing gives other bytes")
	}
	want := *m
	want.Closer, want.Raw = nil, nil
	want.Opsets, want.IR = again.Opsets, again.IR // writing adds imports that the file left out
	unplace(m)
	unplace(again)
	if !reflect.DeepEqual(&want, again) {
		return fmt.Errorf("the model changed from\n%sto\n%s", dump(m), dump(again))
	}
	return nil
}

// unplace clears the places of a model's constants in its file.
func unplace(m *graph.Model) {
	var inside func(nodes []*graph.Node)
	forget := func(g *graph.Graph) {
		for _, init := range g.Initializers {
			init.Stored = nil
		}
		inside(g.Nodes)
	}
	inside = func(nodes []*graph.Node) {
		for _, n := range nodes {
			for _, a := range n.Attrs {
				for _, g := range a.Subgraphs() {
					forget(g)
				}
			}
		}
	}
	forget(m.Graph)
	for _, f := range m.Functions {
		inside(f.Nodes)
	}
}

func dump(m *graph.Model) string {
	var b strings.Builder
	if err := graph.Dump(&b, m); err != nil {
		return err.Error()
	}
	return b.String()
}
