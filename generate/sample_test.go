package generate

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// reference returns the probability of every token, by sorting. It follows the documentation of
// Sampling independently.
func reference(s Sampling, logits []float32) []float64 {
	type item struct {
		id int
		x  float64
	}
	list := make([]item, 0, len(logits))
	for i, x := range logits {
		if !math.IsNaN(float64(x)) && !math.IsInf(float64(x), -1) {
			list = append(list, item{i, float64(x)})
		}
	}
	slices.SortFunc(list, func(a, b item) int {
		switch {
		case a.x > b.x || a.x == b.x && a.id < b.id:
			return -1
		}
		return 1
	})
	weight := func(i int) float64 {
		if list[i].x == list[0].x {
			return 1
		}
		return math.Exp((list[i].x - list[0].x) / s.Temperature)
	}
	if s.TopK > 0 && s.TopK < len(list) {
		n := s.TopK
		for n < len(list) && list[n].x == list[s.TopK-1].x {
			n++
		}
		list = list[:n]
	}
	total := 0.0
	for i := range list {
		total += weight(i)
	}
	kept, sum := []int{}, 0.0
	for i := range list {
		if s.TopP > 0 && s.TopP < 1 && sum >= s.TopP*total {
			break
		}
		sum += weight(i)
		if weight(i) >= s.MinP {
			kept = append(kept, i)
		}
	}
	sum = 0
	for _, i := range kept {
		sum += weight(i)
	}
	out := make([]float64, len(logits))
	for _, i := range kept {
		out[list[i].id] = weight(i) / sum
	}
	return out
}

// probabilities returns the probabilities with which a sampler draws.
func probabilities(s Sampling, logits []float32) ([]float64, error) {
	p := newSampler(s, false, 0)
	if _, err := p.choose(logits); err != nil {
		return nil, err
	}
	out := make([]float64, len(logits))
	total := 0.0
	for _, c := range p.kept {
		total += c.weight
	}
	for _, c := range p.kept {
		out[c.id] = c.weight / total
	}
	return out, nil
}

// randomLogits returns logits with ties, infinities and NaN.
func randomLogits(r *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	rough := r.IntN(2) == 0
	for i := range list {
		list[i] = float32(r.NormFloat64() * 4)
		if rough {
			list[i] = float32(math.Round(float64(list[i])))
		}
		switch r.IntN(40) {
		case 0:
			list[i] = float32(math.NaN())
		case 1:
			list[i] = float32(math.Inf(-1))
		case 2:
			if r.IntN(20) == 0 {
				list[i] = float32(math.Inf(1))
			}
		}
	}
	return list
}

func differ(a, b []float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-9 || (a[i] == 0) != (b[i] == 0) {
			return true
		}
	}
	return false
}

// TestSamplingReference compares random choices with sorting.
func TestSamplingReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...float64) float64 { return list[r.IntN(len(list))] }
	for range 4000 {
		n := 1 + r.IntN(200)
		logits := randomLogits(r, n)
		s := Sampling{
			Temperature: pick(1e-30, 0.1, 0.7, 1, 3, 1e30), TopK: int(pick(0, 1, 2, 7, float64(n), float64(n+5), 1<<40)),
			TopP: pick(0, 1e-9, 0.1, 0.5, 0.9, 0.999, 1), MinP: pick(0, 0, 0.01, 0.5, 1),
		}
		want := reference(s, logits)
		got, err := probabilities(s, logits)
		if err != nil {
			if !errors.Is(err, errNoToken) || slices.Max(want) > 0 {
				t.Fatal(err)
			}
			continue
		}
		if differ(got, want) {
			t.Fatalf("%+v of %v\ngives %v\nwant  %v", s, logits, got, want)
		}
	}
}

// TestNoToken checks logits without a token to choose.
func TestNoToken(t *testing.T) {
	nan, none := float32(math.NaN()), float32(math.Inf(-1))
	for _, logits := range [][]float32{{nan}, {none}, {nan, none, nan}} {
		for _, temperature := range []float64{0, 1} {
			s := newSampler(Sampling{Temperature: temperature, TopK: 1}, true, 0)
			if id, err := s.choose(logits); !errors.Is(err, errNoToken) {
				t.Errorf("%v at %g: token %d, %v", logits, temperature, id, err)
			}
		}
	}
}

// TestGreedyTies checks which of equal logits is taken.
func TestGreedyTies(t *testing.T) {
	logits := []float32{float32(math.NaN()), 1, 5, 5, 2, 5, float32(math.NaN())}
	for _, tt := range []struct {
		last bool
		want int32
	}{{false, 2}, {true, 5}} {
		if got, err := newSampler(Sampling{}, tt.last, 0).choose(logits); got != tt.want || err != nil {
			t.Errorf("last %v: token %d, %v", tt.last, got, err)
		}
	}
}

// TestFrequencies draws often and compares how often each token comes with its probability.
func TestFrequencies(t *testing.T) {
	logits := []float32{1, 2, 3, 0, 2.5, -1, 2.5, float32(math.NaN())}
	for _, s := range []Sampling{
		{Temperature: 1, Seed: 1}, {Temperature: 2, TopK: 4, Seed: 2}, {Temperature: 1, TopP: 0.8, Seed: 3}, {Temperature: 0.5, MinP: 0.2, Seed: 4},
	} {
		want := reference(s, logits)
		p := newSampler(s, false, 0)
		const n = 100000
		counts := make([]float64, len(logits))
		for range n {
			id, err := p.choose(logits)
			if err != nil {
				t.Fatal(err)
			}
			counts[id]++
		}
		for i, w := range want {
			// Five deviations of a binomial distribution.
			if off := math.Abs(counts[i] - n*w); off > 5*math.Sqrt(n*w*(1-w)) {
				t.Errorf("%+v: token %d came %g times of %d, with probability %g", s, i, counts[i], n, w)
			}
		}
	}
}

// TestPenalties computes penalties by hand.
func TestPenalties(t *testing.T) {
	s := newSampler(Sampling{RepetitionPenalty: 2, PresencePenalty: 0.5, FrequencyPenalty: 0.25}, false, 0)
	s.see(0, false) // of the prompt
	s.see(1, false)
	for range 3 {
		s.see(1, true)
	}
	s.see(4, true)
	logits := []float32{4, 4, 4, -4, -4}
	want := []float32{2, 2 - 0.5 - 0.75, 4, -4, -8 - 0.5 - 0.25}
	if got, err := s.adjusted(logits); !slices.Equal(got, want) || err != nil {
		t.Errorf("logits %v, want %v; %v", got, want, err)
	}
	if !slices.Equal(logits, []float32{4, 4, 4, -4, -4}) {
		t.Errorf("the logits themselves became %v", logits)
	}
}

// TestTransformers compares with the answers of the package transformers, made by
// oracles/hugging/sampling.py.
func TestTransformers(t *testing.T) {
	data, err := os.ReadFile("testdata/transformers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Logits      []float32 `json:"logits"`
		Prompt      []int32   `json:"prompt"`
		Temperature float64   `json:"temperature"`
		TopK        int       `json:"top_k"`
		TopP        float64   `json:"top_p"`
		MinP        float64   `json:"min_p"`
		Repetition  float64   `json:"repetition_penalty"`
		Want        []float64 `json:"probabilities"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, c := range cases {
		s := Sampling{Temperature: c.Temperature, TopK: c.TopK, TopP: c.TopP, MinP: c.MinP, RepetitionPenalty: c.Repetition}
		p := newSampler(s, false, 0)
		for _, id := range c.Prompt {
			p.see(id, false)
		}
		if _, err := p.choose(c.Logits); err != nil {
			t.Fatal(err)
		}
		total, got := 0.0, make([]float64, len(c.Logits))
		for _, k := range p.kept {
			total += k.weight
		}
		for _, k := range p.kept {
			got[k.id] = k.weight / total
		}
		for id, w := range c.Want {
			if math.Abs(got[id]-w) > 1e-5 {
				t.Errorf("case %d, %+v: token %d has probability %g, want %g", i, s, id, got[id], w)
				break
			}
		}
	}
}

// TestSelect compares selection with sorting.
func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		n := 1 + r.IntN(60)
		numbers := make([]float32, n)
		list := make([]candidate, n)
		for i := range list {
			numbers[i] = float32(r.IntN(1 + r.IntN(20)))
			w := 1 + r.IntN(1+r.IntN(9))
			list[i] = candidate{int32(i), float32(w), float64(w)}
		}
		sorted := slices.Clone(numbers)
		slices.Sort(sorted)
		k := 1 + r.IntN(n)
		if got := kthLargest(slices.Clone(numbers), k); got != sorted[n-k] {
			t.Fatalf("number %d of %v is %g, want %g", k, numbers, got, sorted[n-k])
		}
		target := float64(r.IntN(5*n)) + 0.5
		ordered := slices.Clone(list)
		slices.SortFunc(ordered, func(a, b candidate) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		want, sum := ordered[n-1], 0.0
		for _, c := range ordered {
			if sum += c.weight; sum >= target {
				want = c
				break
			}
		}
		if got := nucleus(slices.Clone(list), target); got != want {
			t.Fatalf("the first of %v that weigh %g end with %v, want %v", list, target, got, want)
		}
	}
}

// BenchmarkSample times a choice of a large vocabulary.
func BenchmarkSample(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	logits := make([]float32, 128<<10)
	for i := range logits {
		logits[i] = float32(r.NormFloat64() * 3)
	}
	for name, s := range map[string]Sampling{
		"greedy": {}, "all": {Temperature: 1}, "top-k": {Temperature: 1, TopK: 50}, "top-p": {Temperature: 1, TopP: 0.9}, "min-p": {Temperature: 1, MinP: 0.05},
	} {
		b.Run(name, func(b *testing.B) {
			p := newSampler(s, false, 0)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.choose(logits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
