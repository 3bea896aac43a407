package diagram

import (
	"math"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Weight is the distribution of a constant's elements, all of them or a sample. Elements that are no
// finite numbers are counted apart.
type Weight struct {
	Name     string  `json:"name"`
	Count    int     `json:"count"`
	Sampled  int     `json:"sampled"`
	Infinite int     `json:"infinite,omitempty"` // of the sample: NaN and infinities
	Zeros    int     `json:"zeros"`
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Mean     float64 `json:"mean"`
	Spread   float64 `json:"spread"` // standard deviation
	Bins     []int   `json:"bins"`   // elements by size, from Least to Most in equal steps
}

// A sample is stretches of neighbours, each at a place by chance within its share of the constant, so
// that few pages of a file are read and columns of a matrix come up alike.
const (
	sampled = 1 << 14
	stretch = 64
	bins    = 32
)

// weight returns the number of the distribution of a constant; nil for one element, and for text and
// complex numbers.
func (d *drawer) weight(name string, t *tensor.Tensor) *int {
	if number, ok := d.weights[t]; ok {
		return number
	}
	var number *int
	if at := tensor.Numbers(t); at != nil && t.Len() > 1 {
		k := len(d.drawing.Weights)
		number = &k
		d.drawing.Weights = append(d.drawing.Weights, distribution(outline.Shown(name, 200), t.Len(), at))
	}
	d.weights[t] = number
	return number
}

// distribution describes n numbers.
func distribution(name string, n int, at func(i int) float64) *Weight {
	w := &Weight{Name: name, Count: n, Least: math.Inf(1), Most: math.Inf(-1), Bins: make([]int, bins)}
	values := make([]float64, 0, min(n, sampled))
	sample(n, func(i int) {
		w.Sampled++
		x := at(i)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			w.Infinite++
			return
		}
		if x == 0 {
			w.Zeros++
		}
		values = append(values, x)
		w.Least, w.Most = min(w.Least, x), max(w.Most, x)
	})
	if len(values) == 0 {
		w.Least, w.Most, w.Bins = 0, 0, nil
		return w
	}
	half := w.Most/2 - w.Least/2 // the difference itself may be too large for a float
	share := 1 / float64(len(values))
	for _, x := range values {
		w.Mean += x * share
		k := 0
		if half > 0 {
			k = min(int((x/2-w.Least/2)/half*bins), bins-1)
		}
		w.Bins[k]++
	}
	for _, x := range values {
		r := (x - w.Mean) * math.Sqrt(share)
		w.Spread = math.Hypot(w.Spread, r)
	}
	if math.IsInf(w.Spread, 0) {
		w.Spread = math.MaxFloat64
	}
	return w
}

// sample calls visit with the places of all of n elements, or of a sample.
func sample(n int, visit func(i int)) {
	if n <= sampled {
		for i := range n {
			visit(i)
		}
		return
	}
	r := rand.New(rand.NewPCG(1, 2))
	const stretches = sampled / stretch
	for k := range stretches {
		from, to := part(n, k, stretches), part(n, k+1, stretches)
		from += r.IntN(to - from - stretch + 1)
		for i := range stretch {
			visit(from + i)
		}
	}
}

// part returns where share k of so many begins.
func part(n, k, shares int) int { return n/shares*k + n%shares*k/shares }
