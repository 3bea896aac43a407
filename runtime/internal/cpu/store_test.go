package cpu

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestRange compares the bits of all variants to Go: integers up to their bounds, floats with
// rounded products and sums, and a range longer than the consecutive integers of float32.
func TestRange(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	for _, c := range []struct {
		d            tensor.DType
		start, delta float64
		n            int
	}{
		{tensor.I64, -5, 3, 1}, {tensor.I64, 1 << 61, 1 << 50, 4099}, {tensor.I64, 7, -0x1p40, 40003},
		{tensor.I32, 0, 1, 15}, {tensor.I32, -1 << 30, 70001, 30011},
		{tensor.I16, 100, -1, 129}, {tensor.I16, -32768, 3, 21845},
		{tensor.F32, 0, 0.1, 33}, {tensor.F32, -3.7, 0.3, 40007}, {tensor.F32, 1, 0.7, 1<<24 + 1003},
		{tensor.F64, 0.1, 1.1, 7}, {tensor.F64, -9, 1e-3, 40001},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			start, delta, limit, want := tensor.New(c.d), tensor.New(c.d), tensor.New(c.d), tensor.New(c.d, c.n)
			kit.SetNumbers(start, []float64{c.start})
			kit.SetNumbers(delta, []float64{c.delta})
			kit.SetNumbers(limit, []float64{c.start + (float64(c.n)-0.5)*c.delta})
			if !c.d.IsFloat() {
				kit.SetNumbers(limit, []float64{c.start + float64(c.n)*c.delta})
			}
			in := []*tensor.Tensor{start, limit, delta}
			if err := (array.Range{}).Run(&op.Run{In: in, Out: []*tensor.Tensor{want}}); err != nil {
				t.Fatal(err)
			}
			for _, k := range runnable(t, c.d.Short()+"_range") {
				got := runGuarded(t, k, rangeWords(c.n, c.d), pool, c.d.Bytes(c.n), c.d.Bytes(1), start.Bytes(), delta.Bytes())
				if !bytes.Equal(got, want.Bytes()) {
					t.Errorf("%s/%s: other bits than in Go", k.Op(), k.Variant())
				}
			}
		})
	}
}
