package oinf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const summaryText = `B := 4

alpha: f32 = 0.25
list: i8[2, 2] = { 
{ 1, 2 } ,
{ -1, -2 } ,
}
mask: bitset[40] = 01 02 03 04
mode: str = "fast"
none: f32[0] = {  }
on: bool = true

bits: bitset[2] = { 1, 255 }
- [nbytes: 2, min: 1, max: 255, mean: 128, median: 128, std: 127]
- hist: {([1, 26.4], 1), ([229.6, 255], 1)}

early: f32[2, 3] -- uninitialized

flags: bool[3] = { true, true, true }
- [nbytes: 3, min: 1, max: 1, mean: 1, median: 1, std: 0]
- hist: {([0, 0], 0), ([1, 1], 3)}

late: i2[] -- uninitialized
- quant.scheme: symmetric
- quant.scale: per_tensor = { 0 }
- quant.scale_axis: 0
- quant.zero_point: none = {  }
- quant.zero_point_axis: 0

many: f32[12] = { -0, 1, 2, 3, nan, ..., 1e+06, 1e-05, 9, 10, 11 }
- [nbytes: 48, min: -0, max: 1e+06, mean: 100004, median: 4.5, std: 299999, nan: 1, inf: 1]
- hist: {([0, 100000], 9), ([900000, 1e+06], 1)}

none: f32[0, 2] -- uninitialized

nowhere: f64[2] = { nan, -inf }
- [nbytes: 16, min: nan, max: nan, mean: nan, median: nan, std: nan, nan: 1, -inf: 1]
- hist: {(empty)}

one: t1 = 1

rows: u64[4, 12, 1] = { 
{ 0, 0, 0, 0, 0, ..., 0, 0, 0, 0, 0 } ,
{ 0, 0, 0, 0, 0, ..., 0, 0, 0, 0, 0 } ,
{ 0, 0, 0, 0, 0, ..., 0, 0, 0, 0, 0 } ,
...
}
- [nbytes: 384, min: 0, max: 0, mean: 0, median: 0, std: 0]
- hist: {([0, 0], 48)}

`

func TestSummary(t *testing.T) {
	m := &graph.Model{Format: Name, Graph: &graph.Graph{}, Source: &origin{map[string]bool{"bits": true}}}
	m.Sizes = []graph.Size{{Name: "B", Value: 4}}
	m.Meta = []graph.Pair{
		{Key: "alpha", Kind: "f32", Data: must(tensor.From([]float32{0.25}))},
		{Key: "list", Kind: "ndarray", Data: must(tensor.From([]int8{1, 2, -1, -2}, 2, 2))},
		{Key: "mask", Kind: "bitset", Data: view(tensor.U1, tensor.Shape{40}, []byte{1, 2, 3, 4, 5})},
		{Key: "mode", Kind: "string", Value: "fast"},
		{Key: "none", Kind: "ndarray", Data: tensor.New(tensor.F32, 0)},
		{Key: "on", Kind: "bool", Data: must(tensor.From([]bool{true}))},
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, x := range map[string]*tensor.Tensor{
		"bits":    must(tensor.From([]uint8{1, 255}, 2)),
		"flags":   must(tensor.From([]bool{true, true, true}, 3)),
		"many":    must(tensor.From([]float32{float32(math.Copysign(0, -1)), 1, 2, 3, nan, inf, 6, 1e6, 1e-5, 9, 10, 11}, 12)),
		"none":    tensor.New(tensor.F32, 0, 2),
		"nowhere": must(tensor.From([]float64{math.NaN(), math.Inf(-1)}, 2)),
		"one":     view(tensor.T1, tensor.Shape{1, 1}, []byte{1}),
		"rows":    must(tensor.From(make([]uint64, 48), 4, 12, 1)),
	} {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	slices.SortFunc(m.Graph.Initializers, func(a, b *graph.Initializer) int { return strings.Compare(a.Name, b.Name) })
	m.Graph.Values = []*graph.Value{
		{Name: "early", Type: graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{2, 3}))},
		{Name: "late", Type: graph.TensorOf(tensor.I2, graph.Dims{}), Meta: (&quant{scheme: 1, scaleMode: perTensor, scaleCount: 1, scales: make([]byte, 4)}).pairs()},
	}
	var b strings.Builder
	if err := Summary(t.Context(), &b, m); err != nil {
		t.Fatal(err)
	}
	if b.String() != summaryText {
		t.Errorf("got\n%s", b.String())
	}
}

// TestStats compares statistics with statistics of sorted numbers, for more than one chunk and for
// more numbers than are sorted at once.
func TestStats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := map[string]func() float64{
		"normal":  r.NormFloat64,
		"equal":   func() float64 { return 3 },
		"two":     func() float64 { return float64(r.IntN(2)) },
		"digits":  func() float64 { return float64(r.IntN(21) - 10) },
		"close":   func() float64 { return 1 + float64(r.IntN(1<<20))*0x1p-52 },
		"extreme": func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(2000)-1000) },
		"largest": func() float64 { return math.Copysign(math.MaxFloat64, r.Float64()-0.5) },
		"least":   func() float64 { return float64(r.IntN(3)) * 5e-324 },
	}
	for name, f := range draw {
		for _, n := range []int{1, 2, 3, chunk + 1, 3*most + 1, 4 * most} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				list := make([]float64, n)
				for i := range list {
					list[i] = f()
				}
				checkStats(t, list, describe(t.Context(), must(tensor.From(list, n))))
			})
		}
	}
}

func checkStats(t *testing.T, list []float64, s stats) {
	t.Helper()
	n := len(list)
	var sum float64
	for _, v := range list {
		sum += v / float64(n) // cannot overflow
	}
	var square float64
	for _, v := range list {
		square += (v - sum) * (v - sum) / float64(n)
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	a, b := sorted[(n-1)/2], sorted[n/2]
	middle := (a + b) / 2
	if math.IsInf(middle, 0) {
		middle = a/2 + b/2
	}
	same := func(what string, got, want, scale float64) {
		if got != want && !(math.Abs(got-want) <= max(1e-9*scale, 1e-323)) && !math.IsInf(got, 0) && got == got {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	if s.n != n || s.min != sorted[0] || s.max != sorted[n-1] || s.median != middle {
		t.Errorf("%d between %g and %g around %g, want %d between %g and %g around %g", s.n, s.min, s.max, s.median, n, sorted[0], sorted[n-1], middle)
	}
	largest := max(-sorted[0], sorted[n-1])
	same("mean", s.mean, sum, largest)
	same("std", s.std, math.Sqrt(square), largest)
	count := 0
	for i, b := range s.bins {
		count += b.n
		in := 0
		for _, v := range list {
			if v >= b.low && (v < b.high || b.high == s.max && v == b.high || b.low == b.high && v == b.low) {
				in++
			}
		}
		if in != b.n && s.max-s.min > 1e-300 {
			t.Errorf("bin %d from %g to %g has %d, want %d", i, b.low, b.high, b.n, in)
		}
	}
	if count != n {
		t.Errorf("%d elements in bins, want %d", count, n)
	}
}

// TestIntegerStats is TestStats for integers. Integers close to each other are counted by value.
func TestIntegerStats(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{1, 2, 21, 22, 1000} {
		for _, n := range []int{2, 3, chunk + 1} {
			list, codes := make([]float64, n), make([]int16, n)
			for i := range list {
				codes[i] = int16(r.IntN(width) - 10)
				list[i] = float64(codes[i])
			}
			checkStats(t, list, describe(t.Context(), must(tensor.From(codes, n))))
		}
	}
}

// TestDecoders compares decoded elements of every type with their text.
func TestDecoders(t *testing.T) {
	raw := make([]byte, 8*300)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	for _, row := range types {
		d := row.dtype
		if d == tensor.Invalid || d == tensor.Bool {
			continue
		}
		x := view(d, tensor.Shape{300}, raw[:d.Bytes(300)])
		i := 0
		walk(t.Context(), x, func(list []float64) {
			for _, v := range list {
				want := x.Text(i)
				if d == tensor.F8E5M2 {
					want = fmt.Sprint(float64(packed.F8E5M2(raw[i]).Float32()))
				}
				var got float64
				fmt.Sscan(want, &got)
				if d == tensor.F32 || d == tensor.F16 || d == tensor.BF16 {
					got = float64(float32(got))
				}
				if v != got && (v == v || got == got) {
					t.Fatalf("%v: element %d is %g, want %s", d, i, v, want)
				}
				i++
			}
		})
	}
}

// TestSummaryBudget writes the summary of tensors that share their bytes.
func TestSummaryBudget(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{}}
	x := tensor.New(tensor.U8, 100)
	for i := range 20 {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: fmt.Sprint(i), Tensor: x, Stored: &graph.Stored{Offset: 8}})
	}
	var b strings.Builder
	if err := Summary(t.Context(), &b, m); err != nil {
		t.Fatal(err)
	}
	if with, without := strings.Count(b.String(), "- hist"), strings.Count(b.String(), "no statistics"); with != 16 || without != 4 {
		t.Errorf("%d with statistics and %d without", with, without)
	}
}
