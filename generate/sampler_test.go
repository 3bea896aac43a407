package generate

import (
	"errors"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
)

// TestSampler chooses tokens in a loop, with penalties and by chance.
func TestSampler(t *testing.T) {
	logits := []float32{1, 3, 2.9, -2}
	choose := func(s Sampling, n int) (list []int32) {
		sampler, err := NewSampler(s)
		if err != nil {
			t.Fatal(err)
		}
		sampler.See(-1, false)
		sampler.See(2, false)
		for range n {
			id, err := sampler.Choose(logits)
			if err != nil {
				t.Fatal(err)
			}
			sampler.See(id, true)
			list = append(list, id)
		}
		return list
	}
	for _, tt := range []struct {
		s    Sampling
		want []int32
	}{
		{Sampling{}, []int32{1, 1, 1, 1}},
		{Sampling{RepetitionPenalty: 1.2}, []int32{1, 1, 1, 1}},
		{Sampling{PresencePenalty: 1}, []int32{1, 2, 1, 1}},
		{Sampling{FrequencyPenalty: 1}, []int32{1, 2, 1, 2}},
	} {
		if got := choose(tt.s, 4); !slices.Equal(got, tt.want) {
			t.Errorf("%+v chooses %v, want %v", tt.s, got, tt.want)
		}
	}
	chance := Sampling{Temperature: 2, Seed: 1}
	first := choose(chance, 40)
	if !slices.Equal(first, choose(chance, 40)) {
		t.Error("the same seed chooses other tokens")
	}
	if chance.Seed = 2; slices.Equal(first, choose(chance, 40)) {
		t.Error("another seed chooses the same tokens")
	}
	if _, err := NewSampler(Sampling{TopP: 2}); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("TopP of 2: %v", err)
	}
}
