package hnw_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
		if r.Weights != "" {
			if err := m.ReplaceWeights(filepath.Join(dir, r.Weights)); !errors.Is(err, nacre.ErrInUse) {
				t.Errorf("weights were replaced below a session: %v", err)
			}
		}
		inputs := map[string]*nacre.Tensor{}
		for name, x := range r.Inputs {
			inputs[name] = given(t, decoded(t, x))
		}
		out, err := s.Run(context.Background(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range r.Outputs {
			if off := distance(out[name], given(t, decoded(t, want))); !(off <= 1e-5) {
				t.Errorf("%s with %q: %s is off by %g", r.Model, r.Weights, name, off)
			}
		}
		s.Close()
		m.Close()
	}
}

func decoded(t *testing.T, x goldenTensor) *tensor.Tensor {
	t.Helper()
	types := map[string]tensor.DType{"f32": tensor.F32, "f64": tensor.F64, "i32": tensor.I32, "i64": tensor.I64, "bool": tensor.Bool}
	d, ok := types[x.DType]
	if y := tensor.New(d, x.Shape...); ok && y.Len() == len(x.Values) {
		for i, text := range x.Values {
			text := strings.Trim(string(text), `"`)
			var err error
			switch d {
			case tensor.F32:
				var v float64
				v, err = strconv.ParseFloat(text, 32)
				tensor.View[float32](y)[i] = float32(v)
			case tensor.F64:
				tensor.View[float64](y)[i], err = strconv.ParseFloat(text, 64)
			case tensor.I64:
				tensor.View[int64](y)[i], err = strconv.ParseInt(text, 10, 64)
			case tensor.I32:
				var v int64
				v, err = strconv.ParseInt(text, 10, 32)
				tensor.View[int32](y)[i] = int32(v)
			case tensor.Bool:
				var v bool
				if v, err = strconv.ParseBool(text); v {
					y.Bytes()[i] = 1
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return y
	}
	t.Fatalf("%d values of %s%v", len(x.Values), x.DType, x.Shape)
	return nil
}

// given returns a tensor in the form that sessions take.
func given(t *testing.T, x *tensor.Tensor) *nacre.Tensor {
	t.Helper()
	y, err := nacre.FromBytes(nacre.DType(x.DType()), x.Bytes(), x.Shape()...)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// distance returns the largest difference of two tensors of one type and shape, relative to numbers
// above 1.
func distance(a, b *nacre.Tensor) float64 {
	if a == nil || a.DType() != b.DType() || !slices.Equal(a.Shape(), b.Shape()) {
		return math.Inf(1)
	}
	most := 0.0
	for i := range b.Len() {
		x, failed := strconv.ParseFloat(a.Text(i), 64)
		y, _ := strconv.ParseFloat(b.Text(i), 64)
		switch {
		case a.Text(i) == b.Text(i):
		case failed != nil:
			return math.Inf(1)
		default:
			most = max(most, math.Abs(x-y)/max(1, math.Abs(y)))
		}
	}
	return most
}
