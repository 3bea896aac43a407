package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// normals returns n normally distributed numbers.
func normals(r *rand.Rand, n int, mean, deviation float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = mean + deviation*r.NormFloat64()
	}
	return list
}

// steps are extents [outer,n,inner].
var steps = [][3]int{
	{1, 1, 1}, {1, 7, 1}, {3, 16, 1}, {2, 63, 1}, {5, 129, 1}, {1, 4097, 1}, {1, 9001, 1},
	{1, 1, 100}, {1, 3, 5}, {2, 17, 16}, {1, 5, 63}, {2, 4, 64}, {1, 130, 65}, {2, 300, 129}, {700, 9, 7},
	{77, 2, 1}, {300, 8, 1}, {130, 16, 1}, {4100, 3, 1}, {65, 12, 1},
}

func TestSoftmax(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	for _, s := range append([][3]int{{90, 400, 1}, {2, 6000, 3}, {3, 0, 2}}, steps...) {
		list := normals(r, volume(s[:]), 0, 10)
		for _, log := range []bool{false, true} {
			absolute := 1e-9
			if log {
				absolute = 4e-6 // two ulps of a difference of 40
			}
			for _, d := range floatKinds {
				w := softmaxWords(graph.Known(s[0]), graph.Known(s[1]), graph.Known(s[2]), log, d.t, halfFor(t, d.t))
				if d.t == tensor.F16 {
					absolute = max(absolute, 6e-8)
				}
				checkVariants(t, "f32_softmax", fmt.Sprint(s, log, d.t), w, pool, absolute, 4e-6+d.relative,
					[]output{{at: 1, dtype: d.t, n: len(list), over: true}}, stored(d.t, list), nil)
			}
		}
	}
}

func TestSoftmaxSpecial(t *testing.T) {
	pool, inf := testPool(t), math.Inf(1)
	for name, special := range map[string][]float64{
		"large":               {1e30, -1e30, 1e30},
		"minus infinity":      {-inf, 1, 2},
		"only minus infinity": {-inf, -inf},
		"infinity":            {inf, 1},
		"NaN":                 {1, math.NaN(), 2},
		"steep":               {0, -80, -87.3, -87.4, -95, -104, -1e9, -inf},
	} {
		for _, pad := range []int{0, 20, 60} {
			x := append(slices.Repeat([]float64{-3}, pad), special...)
			both := slices.Concat(x, x)
			for i, v := range x {
				both[2*i], both[2*i+1] = v, v
			}
			for inner, list := range map[int][]float64{1: x, 2: both} {
				w := softmaxWords(graph.Known(1), graph.Known(len(x)), graph.Known(inner), inner == 2, tensor.F32,
					halfFor(t, tensor.F32))
				checkVariants(t, "f32_softmax", name, w, pool, 1e-9, 1e-6, []output{{at: 1, dtype: tensor.F32, n: len(list)}},
					stored(tensor.F32, list), nil)
			}
		}
	}
}

func TestLayerNorm(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(7, 8))
	const rows = 9
	for _, n := range []int{1, 5, 16, 63, 64, 100, 4097, 9000} {
		// A mean that is large relative to the deviation.
		x, scale, bias := normals(r, rows*n, 50, 2), normals(r, n, 0, 2), normals(r, n, 0, 2)
		for _, centred := range []bool{true, false} {
			for _, d := range floatKinds {
				types := slices.Repeat([]tensor.DType{d.t}, 5)
				types[4] = tensor.F32
				w := layerNormWords(graph.Known(rows), graph.Known(n), centred, types, 1e-3, halfFor(t, d.t))
				outs := []output{{at: 3, dtype: d.t, n: rows * n, over: true}, {at: 4, dtype: tensor.F32, n: rows},
					{at: 5, dtype: tensor.F32, n: rows}}
				what := fmt.Sprint(n, centred, d.t)
				checkVariants(t, "f32_layer_norm", what, w, pool, 1e-4, 1e-4+d.relative, outs,
					stored(d.t, x), stored(d.t, scale), stored(d.t, bias), nil, nil, nil)
				checkVariants(t, "f32_layer_norm", what+" without bias", w, pool, 1e-4, 1e-4+d.relative, outs[:1],
					stored(d.t, x), stored(d.t, scale), nil, nil, nil, nil)
			}
		}
		// Different types.
		types := []tensor.DType{tensor.F16, tensor.F32, tensor.BF16, tensor.F32, tensor.F16}
		w := layerNormWords(graph.Known(rows), graph.Known(n), true, types, 1e-3, halfFor(t, tensor.F16))
		checkVariants(t, "f32_layer_norm", "mixed", w, pool, 2e-3, 2e-3, []output{{at: 3, dtype: tensor.F32, n: rows * n}, {at: 5, dtype: tensor.F16, n: rows}},
			stored(tensor.F16, x), stored(tensor.F32, scale), stored(tensor.BF16, bias), nil, nil, nil)
	}
}

func TestSkipNorm(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 8))
	for _, s := range [][3]int{{1, 1, 1}, {6, 5, 3}, {4, 64, 4}, {6, 100, 2}, {3, 5000, 1}, {400, 96, 100}} {
		rows, n, period := s[0], s[1], s[2]
		x, skip := normals(r, rows*n, 3, 2), normals(r, period*n, 0, 2)
		scale, beta, bias := normals(r, n, 0, 2), normals(r, n, 0, 2), normals(r, n, 0, 2)
		for _, d := range floatKinds {
			for _, centred := range []bool{true, false} {
				w := skipNormWords(graph.Known(rows), graph.Known(n), graph.Known(period), centred, d.t, 1e-3, halfFor(t, d.t))
				outs := []output{{at: 5, dtype: d.t, n: rows * n, over: true}, {at: 8, dtype: d.t, n: rows * n},
					{at: 6, dtype: tensor.F32, n: rows}, {at: 7, dtype: tensor.F32, n: rows}}
				what := fmt.Sprint(s, centred, d.t)
				checkVariants(t, "f32_skip_norm", what, w, pool, 1e-4, 1e-4+d.relative, outs, stored(d.t, x), stored(d.t, skip),
					stored(d.t, scale), stored(d.t, beta), stored(d.t, bias), nil, nil, nil, nil)
				checkVariants(t, "f32_skip_norm", what+" alone", w, pool, 1e-4, 1e-4+d.relative, outs[:1], stored(d.t, x), stored(d.t, skip),
					stored(d.t, scale), nil, nil, nil, nil, nil, nil)
			}
		}
	}
}

// integers returns numbers as int32 or int64.
func integers(size int, list ...int) []byte {
	b, _ := guardedBytes(size*len(list), size)
	for i, v := range list {
		if size == 4 {
			viewAs[int32](b)[i] = int32(v)
		} else {
			viewAs[int64](b)[i] = int64(v)
		}
	}
	return b
}

func TestEmbedNorm(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 18))
	const batch, tokens = 2, 3
	for _, n := range []int{1, 7, 64, 4100} {
		words, places, segments := normals(r, 5*n, 0, 1), normals(r, 4*n, 0, 1), normals(r, 2*n, 0, 1)
		scale, bias := normals(r, n, 0, 2), normals(r, n, 0, 2)
		for _, d := range floatKinds {
			for _, size := range []int{4, 8} {
				e := embedding{batch: graph.Known(batch), tokens: graph.Known(tokens), n: graph.Known(n), epsilon: 1e-3,
					rows: [3]graph.Dim{graph.Known(5), graph.Known(4), graph.Known(2)}, numberBytes: [3]int{size, size, size},
					numbers: [3]graph.Dim{graph.Known(6), graph.Known(3), graph.Known(6)}, maskBytes: size, dtype: d.t, half: halfFor(t, d.t)}
				in := [][]byte{integers(size, 0, 4, 1, 1, 2, 3), integers(size, 0, 1, 1, 0, 0, 1), stored(d.t, words), stored(d.t, places),
					stored(d.t, segments), stored(d.t, scale), stored(d.t, bias), integers(size, 1, 1, 0, 1, 0, 2), integers(size, 3, 0, 2), nil, nil, nil}
				outs := []output{{at: 9, dtype: d.t, n: batch * tokens * n}, {at: 11, dtype: d.t, n: batch * tokens * n}}
				what := fmt.Sprint(n, d.t, size)
				checkVariants(t, "f32_embed_norm", what, e.words(), pool, 1e-4, 1e-4+d.relative, outs, in...)
				few := slices.Clone(in)
				few[1], few[4], few[7], few[8] = nil, nil, nil, nil
				checkVariants(t, "f32_embed_norm", what+" of words and places", e.words(), pool, 1e-4, 1e-4+d.relative, outs[:1],
					few...)
				embedFailures(t, e, in)
			}
		}
	}
}

// embedFailures checks that runs fail on numbers that are not rows of a table.
func embedFailures(t *testing.T, e embedding, in [][]byte) {
	t.Helper()
	k := runnable(t, "f32_embed_norm")[0]
	in = slices.Clone(in)
	in[9], _ = guardedBytes(2*len(in[2]), 4)
	in[10] = integers(4, 7, 7)
	if f, failed := runCommand(t, k, e.words(), nil, in...); failed ||
		!slices.Equal(viewAs[int32](in[10]), []int32{2, 1}) {
		t.Fatalf("words of the mask: %v, %v", viewAs[int32](in[10]), f)
	}
	for at, list := range map[int][]int{0: {0, 0, 0, 0, -1, 0}, 1: {0, 0, 0, 0, 2, 0}, 8: {0, 4, 0}} {
		bad := slices.Clone(in)
		bad[at] = integers(e.numberBytes[0], list...)
		if f, failed := runCommand(t, k, e.words(), nil, bad...); !failed ||
			f.Args[0] != slices.IndexFunc(list, func(v int) bool { return v != 0 }) {
			t.Errorf("numbers %v of operand %d: %v, %v", list, at, failed, f)
		}
	}
}

func TestGroupNorm(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 10))
	const batch, channels = 2, 6
	for _, inner := range []int{1, 7, 16, 100, 5001} {
		x := normals(r, batch*channels*inner, 1, 2)
		for _, groups := range []int{1, 3, 6} {
			for _, params := range []int{groups, channels} {
				scale, bias := normals(r, params, 0, 2), normals(r, params, 0, 2)
				for _, d := range floatKinds {
					w := groupNormWords(graph.Known(batch), graph.Known(channels), graph.Known(inner), graph.Known(groups), graph.Known(params),
						slices.Repeat([]tensor.DType{d.t}, 3), 1e-5, halfFor(t, d.t))
					checkVariants(t, "f32_group_norm", fmt.Sprint(inner, groups, params, d.t), w, pool, 2e-5, 1e-4+d.relative,
						[]output{{at: 3, dtype: d.t, n: len(x), over: true}}, stored(d.t, x), stored(d.t, scale), stored(d.t, bias), nil)
				}
			}
		}
	}
}

func TestBatchNorm(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(11, 10))
	for _, s := range [][3]int{{1, 1, 1}, {2, 6, 1}, {3, 70, 1}, {2, 9000, 1}, {2, 3, 7}, {1, 5, 64}, {2, 2, 5001},
		{0, 3, 2}, {2, 3, 0}} {
		x := normals(r, volume(s[:]), 1, 2)
		var params [4][]float64
		for i := range params {
			params[i] = normals(r, s[1], 0, 2)
		}
		for i, v := range params[3] {
			params[3][i] = math.Abs(v) + 0.25
		}
		for _, d := range floatKinds {
			types := []tensor.DType{d.t, d.t, d.t, tensor.F32, tensor.F32}
			w := batchNormWords(graph.Known(s[0]), graph.Known(s[1]), graph.Known(s[2]), types, 1e-5, halfFor(t, d.t))
			checkVariants(t, "f32_batch_norm", fmt.Sprint(s, d.t), w, pool, 2e-5, 1e-5+d.relative, []output{{at: 5, dtype: d.t, n: len(x), over: true}},
				stored(d.t, x), stored(d.t, params[0]), stored(d.t, params[1]), stored(tensor.F32, params[2]), stored(tensor.F32, params[3]), nil)
		}
	}
}

func TestLRN(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(11, 12))
	for _, size := range []int{1, 2, 5, 9} {
		for _, beta := range []float64{0.75, 0.5} {
			for _, s := range [][3]int{{1, 1, 1}, {2, 7, 5}, {1, 12, 70}, {3, 3, 130}} {
				x := normals(r, volume(s[:]), 0, 2)
				for _, d := range floatKinds {
					w := lrnWords(graph.Known(s[0]), graph.Known(s[1]), graph.Known(s[2]), size, d.t, float64(float32(0.1)), beta,
						1.5, halfFor(t, d.t))
					checkVariants(t, "f32_lrn", fmt.Sprint(size, beta, s, d.t), w, pool, 0, 4e-6+d.relative,
						[]output{{at: 1, dtype: d.t, n: len(x)}}, stored(d.t, x), nil)
				}
			}
		}
	}
}
