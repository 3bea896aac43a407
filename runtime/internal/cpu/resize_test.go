package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var resamplings = []struct{ outer, n, inner, m, taps int }{
	{1, 1, 1, 1, 1}, {3, 5, 1, 7, 2}, {2, 9, 1, 33, 4}, {40, 64, 1, 128, 2}, {2, 7, 5, 3, 3}, {3, 8, 16, 16, 2}, {1, 10, 77, 5, 4}, {2, 300, 3, 100, 2},
}

func newResample(r *rand.Rand, n, m, taps int) *vision.Resample {
	x := vision.NewResample(n, m)
	x.Taps, x.Weights = taps, quarters(r, taps*m)
	for i := range x.Start {
		x.Start[i] = int32(r.IntN(n - taps + 1))
	}
	return x
}

// TestResample compares all variants to the formula. Its sums of quarters are exact in float32.
func TestResample(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(15, 16))
	floats := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	for _, s := range resamplings {
		table := newResample(r, s.n, s.m, s.taps)
		x, want := quarters(r, s.outer*s.n*s.inner), make([]float64, s.outer*s.m*s.inner)
		for i := range want {
			o, j, c := i/s.inner/s.m, i/s.inner%s.m, i%s.inner
			for tap := range s.taps {
				want[i] += table.Weights[tap*s.m+j] * x[(o*s.n+int(table.Start[j])+tap)*s.inner+c]
			}
		}
		start := slices.Clone(constant(table.Start...).Data)
		for _, k := range runnable(t, "f32_resample") {
			for _, from := range floats {
				for _, to := range floats {
					w := resampleWords(table, s.outer, s.inner, 1, from, to, partOf(t, "half", k.ISA()))
					got := loaded(to, runGuarded(t, k, w, pool, to.Bytes(len(want)), to.Bytes(1), stored(from, x), start,
						stored(tensor.F32, table.Weights)))
					if i := differ(got, rounded(to, want), 0, 0); i >= 0 {
						t.Fatalf("%+v %s, %v to %v: element %d is %v, not %v", s, k.Variant(), from, to, i, got[i], want[i])
					}
					if s.inner == 1 {
						continue
					}
					flat := sideBySide(table, s.inner)
					w = resampleWords(flat, s.outer, 1, s.inner, from, to, partOf(t, "half", k.ISA()))
					got = loaded(to, runGuarded(t, k, w, pool, to.Bytes(len(want)), to.Bytes(1), stored(from, x),
						slices.Clone(constant(flat.Start...).Data), stored(tensor.F32, flat.Weights)))
					if i := differ(got, rounded(to, want), 0, 0); i >= 0 {
						t.Fatalf("%+v %s side by side, %v to %v: element %d is %v, not %v", s, k.Variant(), from, to, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestResampleNearest resizes two axes, by whole factors and by random indices.
func TestResampleNearest(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct{ outer, rows, columns, inner, down, across int }{
		{1, 1, 1, 1, 1, 1}, {3, 5, 7, 1, 10, 14}, {2, 4, 33, 1, 12, 99}, {2, 3, 9, 1, 12, 36}, {1, 2, 19, 1, 16, 152}, {2, 5, 21, 1, 8, 42},
		{2, 5, 21, 1, 10, 17}, {1, 3, 64, 1, 6, 64}, {2, 3, 4, 5, 6, 8}, {1, 6, 5, 3, 4, 2}, {1, 1, 13, 1, 1, 65}, {40, 3, 40, 1, 6, 79},
	} {
		for _, size := range []int{1, 2, 4, 8, 16} {
			for _, factor := range []bool{true, false} {
				rows, columns := vision.NewResample(s.rows, s.down), vision.NewResample(s.columns, s.across)
				for _, table := range []*vision.Resample{rows, columns} {
					each := (table.Out + table.In - 1) / table.In
					for j := range table.Start {
						table.Start[j] = int32(j / each)
						if !factor {
							table.Start[j] = int32(r.IntN(table.In))
						}
					}
				}
				x, _ := guardedBytes(s.outer*s.rows*s.columns*s.inner*size, min(size, 8))
				for i := range x {
					x[i] = byte(r.Uint32())
				}
				var want []byte
				for o := range s.outer {
					for _, row := range rows.Start {
						for _, at := range columns.Start {
							want = append(want, x[((o*s.rows+int(row))*s.columns+int(at))*s.inner*size:][:s.inner*size]...)
						}
					}
				}
				w := nearestWords(rows, columns, s.outer, s.inner, size)
				starts := [][]byte{slices.Clone(constant(rows.Start...).Data), slices.Clone(constant(columns.Start...).Data)}
				for _, k := range runnable(t, "resample_nearest") {
					got := runGuarded(t, k, w, pool, len(want), min(size, 8), x, starts[0], starts[1])
					if !slices.Equal(got, want) {
						t.Fatalf("%+v %s, factor %v: elements of %d bytes differ", s, k.Variant(), factor, size)
					}
				}
			}
		}
	}
}

// TestVisionOps checks that every op of these families is tested in this package.
func TestVisionOps(t *testing.T) {
	testPool(t)
	tested := []string{"f32_conv_depthwise", "f32_conv_depthwise_blocked", "f32_conv_blocked", "f32_conv_expand",
		"f32_conv_winograd", "f32_conv_weights", "f32_winograd_weights", "f32_conv_gemm", "f32_conv_transpose",
		"f64_conv_gemm", "f64_conv", "f64_conv_transpose",
		"f32_pooling", "f32_pooling_blocked", "i8_pooling", "f32_resample", "resample_nearest", "max_index",
		"f32_grid_sample", "f32_regions"}
	for _, name := range tested {
		if len(bindings.Variants(name)) == 0 {
			t.Errorf("no kernel of %s", name)
		}
	}
	for _, k := range bindings.Variants() {
		var prefix string
		for _, p := range []string{"f32_conv", "f64_conv", "f32_pool", "i8_pool", "f32_resample", "resample", "max_index",
			"f32_grid", "f32_regions"} {
			if len(k.Op()) >= len(p) && k.Op()[:len(p)] == p {
				prefix = p
			}
		}
		if prefix != "" && k.IsCommand() && !slices.Contains(tested, k.Op()) {
			t.Error(fmt.Sprint(k.Op(), " has no test"))
		}
	}
}

// TestResizeAxes doubles all subsets of axes, with rows shorter and longer than a chunk.
func TestResizeAxes(t *testing.T) {
	t.Parallel()
	testPool(t)
	for _, shape := range []tensor.Shape{{2, 3, 5, 7}, {2, 60, 5, 40}} {
		x := tensor.New(tensor.I32, shape...)
		for i := range tensor.View[int32](x) {
			tensor.View[int32](x)[i] = int32(i)
		}
		for subset := range 1 << len(shape) {
			out, scales := shape.Clone(), tensor.New(tensor.F32, len(shape))
			for a := range shape {
				factor := 1 + subset>>a&1
				out[a] *= factor
				tensor.View[float32](scales)[a] = float32(factor)
			}
			node := &graph.Node{Op: "Resize", Version: 13, Inputs: []string{"x", "", "scales"}, Outputs: []string{"y"}}
			node.Attrs = []*graph.Attr{
				graph.StringAttr("coordinate_transformation_mode", "asymmetric"), graph.StringAttr("nearest_mode", "floor"),
			}
			got, err := Eval(standard.Registry(), node, bindings.DetectISA(), nil, []*tensor.Tensor{x, nil, scales})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range tensor.View[int32](got[0]) {
				want, rest, step := 0, i, 1
				for a := len(shape) - 1; a >= 0; a-- {
					want += rest % out[a] * shape[a] / out[a] * step
					rest /= out[a]
					step *= shape[a]
				}
				if int(v) != want {
					t.Fatalf("%v to %v: element %d is %d, not %d", shape, got[0], i, v, want)
				}
			}
		}
	}
}
