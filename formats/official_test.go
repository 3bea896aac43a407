package formats_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// officialModels lists every model beneath the folder of official test data.
func officialModels(t *testing.T) []string {
	root := os.Getenv("NACRE_ONNX_DATA")
	if root == "" {
		t.Skip("NACRE_ONNX_DATA is not set")
	}
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
	t.Logf("%d values", values)
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
