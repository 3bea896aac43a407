package standard_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestRecurrentWeights compares weights packed ahead of runs with weights passed to a run, on one
// thread and on several.
func TestRecurrentWeights(t *testing.T) {
	testenv.Need(t, bindings.Available())
	r := rand.New(rand.NewPCG(41, 42))
	pool, err := bindings.NewPool(3)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, d := range op.Floats {
		for name, gates := range map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4} {
			const steps, batch, input, hidden = 3, 2, 5, 9
			in := []*tensor.Tensor{smallInts(r, d, steps, batch, input), smallInts(r, d, 1, gates*hidden, input),
				smallInts(r, d, 1, gates*hidden, hidden)}
			var want *tensor.Tensor
			for constant := -1; constant < 3; constant++ {
				if constant == 0 {
					continue
				}
				for _, p := range []*bindings.Pool{nil, pool} {
					got, err := evalPrepared(name, 14, constant, p, nil, append([]*tensor.Tensor{}, in...)...)
					if err != nil {
						t.Fatalf("%s of %v: %v", name, d, err)
					}
					if want == nil {
						want = got
					}
					if !bytes.Equal(got.Bytes(), want.Bytes()) {
						t.Errorf("%s of %v: other results when input %d is constant", name, d, constant)
					}
				}
			}
		}
	}
}
