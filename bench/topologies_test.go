package bench

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
)

// answerShare is how far an answer may be from the expected one, as a part of the largest expected
// magnitude. It allows for float32 sums of thousands of terms in another order, through tens of
// layers.
const answerShare = 1e-5

// TestTopologies compares the answers of every generated network with ONNX Runtime or, if no Python
// has it, with the network as built, run by scalar kernels alone. On one thread they are the same
// to the last bit as on two.
func TestTopologies(t *testing.T) {
	if testing.Short() {
		t.Skip("builds networks of a hundred megabytes: not in short runs")
	}
	for _, top := range topologies.All {
		t.Run(top.Name, func(t *testing.T) {
			path := save(t, top)
			got := answers(t, path, nacre.Options{Threads: 1})
			if !slices.Equal(got, answers(t, path, nacre.Options{Threads: 2})) {
				t.Error("two threads answer otherwise than one")
			}
			want := expected(t, path)
			share := top.Share
			if share == 0 {
				share = answerShare
			}
			checkAnswers(t, got, want, share)
		})
	}
}

// checkAnswers compares answers. They may be apart by share of the largest.
func checkAnswers(t *testing.T, got, want []float32, share float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	largest, far := 0.0, 0.0
	for i, w := range want {
		if math.IsInf(float64(w), 0) && got[i] == w {
			continue // a logarithm of 0
		}
		largest = max(largest, math.Abs(float64(w)))
		far = max(far, math.Abs(float64(got[i])-float64(w)))
	}
	t.Logf("off by %.1e of %.3g", far/largest, largest)
	if !(largest > 0 && far <= share*largest) {
		t.Errorf("off by %g, more than %g of the largest answer, %g", far, answerShare, largest)
	}
}

// expected returns the answers to compare with.
func expected(t *testing.T, path string) []float32 {
	peer, err := startPeer(t, path, 1)
	if err == nil {
		return peer.answers(t)
	}
	if testenv.Complete() {
		t.Fatal(err)
	}
	t.Log(err)
	return answers(t, path, nacre.Options{NoOptimize: true, ISA: "scalar"})
}

// answers returns the outputs of a run, in the model's order, one after the other.
func answers(t *testing.T, path string, o nacre.Options) []float32 {
	s, inputs := open(t, path, o)
	return outputs(t, s, inputs)
}

// outputs returns the outputs of a run of s, in the model's order, one after the other.
func outputs(t *testing.T, s *nacre.Session, inputs map[string]*nacre.Tensor) []float32 {
	t.Helper()
	out, err := s.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	var list []float32
	for _, v := range s.Outputs() {
		y, err := nacre.Data[float32](out[v.Name])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, y...)
	}
	return list
}
