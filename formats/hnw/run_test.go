package hnw_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

type goldenTensor struct {
	DType  string
	Shape  []int
	Values []json.RawMessage
}

// TestFixtureRuns runs the sample models, with their own and with replaced weights.
func TestFixtureRuns(t *testing.T) {
	dir := fixtures.Dir(t, hnw.Name)
	text, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Run []struct {
			Model, Weights  string
			Inputs, Outputs map[string]goldenTensor
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil || len(golden.Run) == 0 {
		t.Fatalf("%d runs, %v", len(golden.Run), err)
	}
	for _, r := range golden.Run {
		m, err := nacre.Open(filepath.Join(dir, r.Model))
		if err != nil {
			t.Fatal(err)
		}
		if r.Weights != "" {
			if err := m.ReplaceWeights(filepath.Join(dir, r.Weights)); err != nil {
				t.Error(err)
				continue
			}
		}
		s, err := m.NewSession(nacre.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.ReplaceWeights(filepath.Join(dir, "valid", "iris.hnw")); err == nil {
			t.Error("weights were replaced below a session")
		}
		inputs := map[string]*nacre.Tensor{}
		for name, x := range r.Inputs {
			inputs[name] = decoded(t, x)
		}
		out, err := s.Run(context.Background(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range r.Outputs {
			if off := distance(out[name], decoded(t, want)); !(off <= 1e-5) {
				t.Errorf("%s with %q: %s is off by %g", r.Model, r.Weights, name, off)
			}
		}
		s.Close()
		m.Close()
	}
}

func decoded(t *testing.T, x goldenTensor) *nacre.Tensor {
	t.Helper()
	values := make([]float64, len(x.Values))
	for i, v := range x.Values {
		if err := json.Unmarshal(v, &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if x.DType == "f64" {
		y, err := nacre.NewTensor(values, x.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	if x.DType != "f32" {
		t.Fatalf("no inputs of %s", x.DType)
	}
	y := tensor.New(tensor.F32, x.Shape...)
	for i, v := range values {
		tensor.View[float32](y)[i] = float32(v)
	}
	return y
}

// distance is the largest difference of two tensors of one type and shape.
func distance(a, b *nacre.Tensor) float64 {
	if a == nil || a.DType() != b.DType() || !a.Shape().Equal(b.Shape()) {
		return math.Inf(1)
	}
	at := func(x *nacre.Tensor, i int) float64 {
		if x.DType() == tensor.F64 {
			return tensor.View[float64](x)[i]
		}
		return float64(tensor.View[float32](x)[i])
	}
	most := 0.0
	for i := range b.Len() {
		most = max(most, math.Abs(at(a, i)-at(b, i))/max(1, math.Abs(at(b, i))))
	}
	return most
}
