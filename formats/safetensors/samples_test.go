package safetensors

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample is a case of the samples for the format loom.
type sample struct {
	ID, Kind string
	Files    map[string]string
}

func samples(t *testing.T, kinds string) (dir string, list []sample) {
	t.Helper()
	dir = fixtures.Dir(t, "loom")
	var m struct{ Cases []sample }
	fixtures.JSON(t, filepath.Join(dir, "manifest.json"), &m)
	for _, s := range m.Cases {
		if strings.Contains(kinds, s.Kind) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		t.Fatalf("the manifest has no case of %s", kinds)
	}
	return dir, list
}

// TestSamples reads files, and compares the values of their tensors if the samples give them. Files
// are written as they were.
func TestSamples(t *testing.T) {
	dir, list := samples(t, "safetensors universal")
	for _, s := range list {
		t.Run(s.ID, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, s.Files["safetensors"]))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Read(nil, s.ID, data)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(write(t, m, container.Options{}), data) {
				t.Error("written otherwise than it was")
			}
			if s.Kind != "safetensors" {
				return
			}
			var want struct {
				Skipped []string
				Tensors map[string]struct {
					DType  string
					Shape  []int
					Values []any
				}
			}
			fixtures.JSON(t, filepath.Join(dir, s.Files["expected"]), &want)
			if len(m.Graph.Initializers) != len(want.Tensors)+len(want.Skipped) {
				t.Errorf("%d tensors, want %d and %d that Loom skips", len(m.Graph.Initializers), len(want.Tensors), len(want.Skipped))
			}
			for _, x := range m.Graph.Initializers {
				w, ok := want.Tensors[x.Name]
				if !ok {
					continue
				}
				if x.Stored.DType != w.DType || !x.Tensor.Shape().Equal(w.Shape) || len(w.Values) != x.Tensor.Len() {
					t.Errorf("tensor %s is %s%v, want %s%v", x.Name, x.Stored.DType, x.Tensor.Shape(), w.DType, w.Shape)
					continue
				}
				for i, v := range w.Values {
					if got, want := value(t, x.Tensor, i), number(t, v); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
						t.Errorf("tensor %s, element %d is %v, want %v", x.Name, i, got, want)
					}
				}
			}
		})
	}
}

// loomF4 has the numbers of Loom for the codes of F4.
var loomF4 = []float64{0, 0.75, 1, 1.5, 2, 3, math.Inf(1), math.NaN(), math.Copysign(0, -1), -0.75, -1, -1.5, -2, -3, math.Inf(-1), math.NaN()}

func value(t *testing.T, x *tensor.Tensor, i int) float32 {
	t.Helper()
	if x.DType() == tensor.F4E2M1 {
		return float32(loomF4[x.Bytes()[i/2]>>(i%2*4)&15])
	}
	v, err := strconv.ParseFloat(x.Text(i), 64)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

func number(t *testing.T, v any) float32 {
	t.Helper()
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		t.Fatal(err)
	}
	return float32(f)
}

// TestFolderSamples opens folders of Hugging Face, and writes their files as they were.
func TestFolderSamples(t *testing.T) {
	dir, list := samples(t, "hf_import")
	for _, s := range list {
		t.Run(s.ID, func(t *testing.T) {
			folder := filepath.Join(dir, s.Files["dir"])
			m, err := OpenFolder(nil, folder)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if p := VerifyFolder(nil, folder); len(p) > 0 {
				t.Error(p)
			}
			for key, path := range s.Files {
				if !strings.HasPrefix(key, "safetensors_") {
					continue
				}
				f, err := binio.Open(filepath.Join(dir, path))
				if err != nil {
					t.Fatal(err)
				}
				if m, err := Read(nil, path, f.Data); err != nil || !bytes.Equal(write(t, m, container.Options{}), f.Data) {
					t.Errorf("%s is written otherwise than it was (%v)", path, err)
				}
				f.Close()
			}
		})
	}
}
