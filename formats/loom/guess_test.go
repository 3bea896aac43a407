package loom

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// raw is a tensor of a safetensors file.
type raw struct {
	DType   string
	Shape   tensor.Shape
	Offsets [2]int `json:"data_offsets"`
	data    []byte
}

// unpacked returns the tensors of a well-formed safetensors file.
func unpacked(t *testing.T, path string) map[string]raw {
	t.Helper()
	data := load(t, path)
	n := 8 + binary.LittleEndian.Uint64(data)
	var header map[string]raw
	if err := json.Unmarshal(data[8:n], &header); err != nil {
		t.Fatal(err)
	}
	delete(header, "__metadata__")
	for name, h := range header {
		h.data = data[int(n)+h.Offsets[0] : int(n)+h.Offsets[1]]
		header[name] = h
	}
	return header
}

// safetensors reads the tensors of files, by name.
func safetensors(t *testing.T, paths ...string) *graph.Model {
	t.Helper()
	types := map[string]tensor.DType{"F32": tensor.F32, "BF16": tensor.BF16, "U8": tensor.U8}
	m := &graph.Model{Graph: &graph.Graph{}}
	for _, path := range paths {
		files := unpacked(t, path)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			x, err := tensor.FromBytes(types[files[name].DType], files[name].Shape, files[name].data)
			if err != nil {
				t.Fatal(name, err)
			}
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
		}
	}
	return m
}

func TestSafeTensorSamples(t *testing.T) {
	samples(t, "safetensors", func(t *testing.T, dir string, s sample) {
		var want struct {
			Skipped []string
			Tensors map[string]struct {
				DType  string
				Shape  []int
				Values []number
			}
		}
		decode(t, filepath.Join(dir, s.Files["expected"]), &want)
		for name, x := range unpacked(t, filepath.Join(dir, s.Files["safetensors"])) {
			w, err := DecodeSafeTensor(x.DType, x.data, x.Shape.Len())
			if slices.Contains(want.Skipped, name) {
				if err == nil {
					t.Errorf("%s of %s is read", name, x.DType)
				}
				continue
			}
			if e := want.Tensors[name]; err != nil || x.DType != e.DType || !x.Shape.Equal(e.Shape) {
				t.Fatalf("%s: %s%v, %v, want %s%v", name, x.DType, x.Shape, err, e.DType, e.Shape)
			}
			equal(t, name, w, want.Tensors[name].Values)
		}
	})
}

func TestUniversalSamples(t *testing.T) {
	samples(t, "universal", func(t *testing.T, dir string, s sample) {
		var want struct {
			Archetypes []struct {
				Type          string
				Type_name     string
				Indices, Geom map[string]int
			}
			Missed  []int
			Tensors []struct {
				Name            string
				Shape           []int
				Mean_abs        float64
				Variance_of_abs float64
			}
			Mounted_layers []struct {
				Activation, DType, Type                              string
				D_model, Embedding_dim, Input_height, Output_height  int
				Num_heads, Vocab_size, Weight_count, Nonzero_weights int
			}
		}
		decode(t, filepath.Join(dir, s.Files["expected"]), &want)
		g, err := GuessOf(safetensors(t, filepath.Join(dir, s.Files["safetensors"])))
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Tensors) != len(want.Tensors) || len(g.Archetypes) != len(want.Archetypes) || !slices.Equal(g.Missed, want.Missed) {
			t.Fatalf("found %+v, want %+v", g, want)
		}
		for i, w := range want.Tensors {
			x := g.Tensors[i]
			if x.Name != w.Name || !x.Shape.Equal(w.Shape) || math.Abs(float64(x.MeanAbs)-w.Mean_abs) > 1e-6 || math.Abs(float64(x.VarAbs)-w.Variance_of_abs) > 1e-6 {
				t.Errorf("%s%v %g %g, want %+v", x.Name, x.Shape, x.MeanAbs, x.VarAbs, w)
			}
		}
		for i, w := range want.Archetypes {
			a := g.Archetypes[i]
			if a.Type.String() != w.Type || a.Name != w.Type_name || !reflect.DeepEqual(a.Indices, w.Indices) || !reflect.DeepEqual(a.Geom, w.Geom) {
				t.Errorf("%+v, want %+v", a, w)
			}
		}
		n := g.Mount()
		for i, w := range want.Mounted_layers {
			l := n.Layers[i]
			if l.Type == LSTM { // Loom counts weights for a state that the file omits
				w.Output_height = w.Input_height
			}
			count, nonzero := 0, 0
			if l.Weights != nil {
				values, err := l.Weights.Float32()
				if err != nil {
					t.Fatal(err)
				}
				count = len(values)
				for _, v := range values {
					if v != 0 {
						nonzero++
					}
				}
			}
			got := fmt.Sprintln(l.Activation, l.DType, l.Type, l.DModel, l.EmbeddingDim, l.InputHeight, l.OutputHeight, l.NumHeads, l.VocabSize, count, nonzero)
			if exp := fmt.Sprintln(w.Activation, w.DType, w.Type, w.D_model, w.Embedding_dim, w.Input_height, w.Output_height, w.Num_heads, w.Vocab_size, w.Weight_count, w.Nonzero_weights); got != exp {
				t.Errorf("%s, want %s", got, exp)
			}
		}
		stable(t, model(t, n))
	})
}
