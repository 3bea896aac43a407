package quantize

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHistogram compares ranges with those of all numbers in order.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for name, next := range map[string]func(i int) float32{
		"normal":      func(int) float32 { return float32(r.NormFloat64()) },
		"rectified":   func(int) float32 { return float32(max(r.NormFloat64(), 0)) },
		"growing":     func(i int) float32 { return float32(i) * 1e-3 },
		"exponential": func(int) float32 { return float32(-10 * r.ExpFloat64()) },
		"zeros first": func(i int) float32 { return float32(i/50000) * 0.25 },
	} {
		var h histogram
		list := make([]float32, 100000)
		for i := range list {
			list[i] = next(i)
		}
		for part := range slices.Chunk(list, 777) {
			if !h.add(part) {
				t.Fatal(name)
			}
		}
		slices.Sort(list)
		if h.low != list[0] || h.high != list[len(list)-1] || h.total != int64(len(list)) {
			t.Errorf("%s: %d numbers from %g to %g", name, h.total, h.low, h.high)
		}
		counted := int64(0)
		for _, n := range h.counts {
			counted += n
		}
		if counted != h.total {
			t.Errorf("%s: %d of %d numbers in bins", name, counted, h.total)
		}
		const share = 0.01
		low, high := h.percentile(share)
		wantLow, wantHigh := list[int(share/2*float64(len(list)))], list[len(list)-1-int(share/2*float64(len(list)))]
		wantLow, wantHigh = min(wantLow, 0), max(wantHigh, 0)
		if math.Abs(float64(low-wantLow)) > 1.01*h.width || math.Abs(float64(high-wantHigh)) > 1.01*h.width {
			t.Errorf("%s: from %g to %g, want %g to %g, with bins of %g", name, low, high, wantLow, wantHigh, h.width)
		}
		if low, high := h.entropy(); low < h.low || high > h.high || !(high > low) {
			t.Errorf("%s: entropy gives %g to %g", name, low, high)
		}
	}
}

// TestEntropy cuts numbers that are far from others, and keeps a range that is full.
func TestEntropy(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	var far, full histogram
	for range 100000 {
		v := float32(max(r.NormFloat64(), 0))
		far.add([]float32{v})
		full.add([]float32{2*r.Float32() - 1})
	}
	far.add([]float32{100})
	if _, high := far.entropy(); float64(high) > 1.01*entropyLevels*far.width || high < 2 {
		t.Errorf("numbers up to 4, and one of 100: up to %g", high)
	}
	var one histogram // all codes of a range are on one side of 0
	for range 1000000 {
		one.add([]float32{float32(max(r.NormFloat64(), 0))})
	}
	if _, high := one.entropy(); high < 0.8*one.high {
		t.Errorf("rectified numbers up to %g: up to %g", one.high, high)
	}
	if low, high := full.entropy(); low > -0.95 || high < 0.95 {
		t.Errorf("uniform numbers from -1 to 1: %g to %g", low, high)
	}
	var none histogram
	if none.add([]float32{1, float32(math.NaN())}) || none.add([]float32{float32(math.Inf(1))}) {
		t.Error("numbers that are not finite are counted")
	}
}

// TestLostEntropy compares divergences with sums by hand.
func TestLostEntropy(t *testing.T) {
	const n = 2 * entropyLevels
	flat, uneven := make([]float64, n), make([]float64, n)
	for i := range n {
		flat[i], uneven[i] = 5000, float64(5000+10000*(i%2))
	}
	end := 1 + n/2 // in parts of the other bins
	for _, c := range []struct {
		name     string
		counts   []float64
		from, to int
		want     float64
	}{
		{"flat", flat, 0, n, 0},
		{"two bins for each code", uneven, 0, n, 0.25*math.Log(0.5) + 0.75*math.Log(1.5)},
		{"all beyond in the last bin", flat, 0, n / 2,
			math.Log(0.5)*float64(n/2-1)/n + float64(end)/n*math.Log(float64(end)/2)},
		{"all beyond in the first bin", flat, n / 2, n,
			math.Log(0.5)*float64(n/2-1)/n + float64(end)/n*math.Log(float64(end)/2)},
	} {
		if got := lostEntropy(c.counts, c.from, c.to); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
	sparse := []float64{0, 7, 0, 0}
	if smooth(sparse); sparse[0] != 1e-4 || math.Abs(total(sparse)-7) > 1e-12 {
		t.Errorf("smoothed to %v", sparse)
	}
}
