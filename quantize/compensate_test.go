package quantize_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestCompensate compares the error of products with compensation and without, on inputs
// with columns that depend on each other.
func TestCompensate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	mixing := make([]float64, deep*deep)
	for i := range mixing {
		mixing[i] = r.NormFloat64()
	}
	input := func() *tensor.Tensor {
		x := tensor.New(tensor.F32, deep, deep)
		for row := range deep {
			source := make([]float64, deep)
			for i := range source {
				source[i] = r.NormFloat64() * math.Exp(-float64(i)/8)
			}
			for c := range deep {
				v := 0.0
				for i, s := range source {
					v += s * mixing[i*deep+c]
				}
				tensor.View[float32](x)[row*deep+c] = float32(v)
			}
		}
		return x
	}
	var inputs []*tensor.Tensor
	for range 12 {
		inputs = append(inputs, input())
	}
	runs := func(list []*tensor.Tensor) quantize.Runs {
		return func(yield func(map[string]*nacre.Tensor, error) bool) {
			for _, x := range list {
				if !yield(map[string]*nacre.Tensor{"x": given(t, x), "ids": given(t, tensor.New(tensor.I64, 7))}, nil) {
					return
				}
			}
		}
	}
	m := network(t, tensor.F32, 21)
	p, err := quantize.MeasureProducts(context.Background(), m, runs(inputs[:10]), nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"q2", "q4", "q8"} {
		for _, asymmetric := range []bool{false, true} {
			var errs, said [2]float64
			for i := range errs {
				o := quantize.Options{Type: typeOf(t, to), Asymmetric: asymmetric, Threads: 2, Block: 16}
				if i == 1 {
					o.Importance, o.Compensate = p, true
				}
				made, report, err := quantize.Model(context.Background(), m, o)
				if err != nil {
					t.Fatal(err)
				}
				d, err := quantize.Compare(context.Background(), m, made, runs(inputs[10:]), nacre.Options{Threads: 1})
				if err != nil {
					t.Fatal(err)
				}
				errs[i], said[i] = d.Error, report.Layers[0].Error
			}
			t.Logf("%s: error %.4f, with compensation %.4f (the report says %.4f)", to, errs[0], errs[1], said[1])
			if errs[1] > 0.7*errs[0] || math.Abs(errs[1]-said[1]) > 0.3*said[1] {
				t.Errorf("%s: error %.4f, with compensation %.4f (the report says %.4f)", to, errs[0], errs[1], said[1])
			}
		}
	}
	o := quantize.Options{Type: typeOf(t, "q4"), Compensate: true}
	if _, _, err := quantize.Model(context.Background(), m, o); err == nil || !strings.Contains(err.Error(), "calibration") {
		t.Errorf("compensation without data: %v", err)
	}
}
