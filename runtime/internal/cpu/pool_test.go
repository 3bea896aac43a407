package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var poolings = []nn.Pooling{
	{Planes: 2, Axes: []nn.PoolingAxis{{In: 9, Out: 7, Taps: 3, Stride: 1, Dilation: 1}}},
	{Planes: 3, Axes: []nn.PoolingAxis{{In: 112, Out: 56, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 1}, {In: 113, Out: 57, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 1}}},
	{Planes: 2, Axes: []nn.PoolingAxis{{In: 8, Out: 8, Taps: 3, Stride: 1, Dilation: 1, Pad: 1, PadEnd: 1}, {In: 70, Out: 70, Taps: 5, Stride: 1, Dilation: 1, Pad: 2, PadEnd: 2}}},
	{Planes: 1, Axes: []nn.PoolingAxis{{In: 5, Out: 1, Taps: 5, Stride: 1, Dilation: 1}, {In: 40, Out: 11, Taps: 7, Stride: 3, Dilation: 1}}},
	{Planes: 2, Axes: []nn.PoolingAxis{{In: 6, Out: 5, Taps: 2, Stride: 1, Dilation: 1}, {In: 20, Out: 20, Taps: 5, Stride: 1, Dilation: 3, Pad: 6, PadEnd: 6}, {In: 33, Out: 16, Taps: 2, Stride: 2, Dilation: 2, Pad: 1, PadEnd: 0}}},
	{Planes: 1, Axes: []nn.PoolingAxis{{In: 20, Out: 2, Taps: 19, Stride: 1, Dilation: 1}, {In: 18, Out: 1, Taps: 18, Stride: 4, Dilation: 1}}},
	{Planes: 2, Axes: []nn.PoolingAxis{{In: 30, Out: 91, Taps: 140, Stride: 2, Dilation: 1, Pad: 150, PadEnd: 139}}},
	{Planes: 2, Axes: []nn.PoolingAxis{{In: 30, Out: 320, Taps: 2, Stride: 1, Dilation: 9, Pad: 100, PadEnd: 199}}},
	{Planes: 1, Axes: []nn.PoolingAxis{{In: 3, Out: 7, Taps: 2, Stride: 1, Dilation: 1, Pad: 2, PadEnd: 3}, {In: 2, Out: 8, Taps: 3, Stride: 1, Dilation: 1, Pad: 4, PadEnd: 4}}},
	{Planes: 2, Axes: []nn.PoolingAxis{{In: 7, Out: 3, Taps: 3, Stride: 2, Dilation: 1}, {In: 10, Out: 5, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 1}, {In: 31, Out: 16, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 1}}},
	{Planes: 1, Axes: []nn.PoolingAxis{{In: 2, Out: 8, Taps: 3, Stride: 1, Dilation: 1, Pad: 4, PadEnd: 4}, {In: 3, Out: 7, Taps: 2, Stride: 1, Dilation: 1, Pad: 2, PadEnd: 3}, {In: 9, Out: 9, Taps: 5, Stride: 1, Dilation: 1, Pad: 2, PadEnd: 2}}},
}

// poolingPlace returns the elements of a plane under the window of an output, and how many
// positions count in an average.
func poolingPlace(p *nn.Pooling, cell int) (list []int, counted int) {
	at := make([]int, len(p.Axes))
	for a := len(at) - 1; a >= 0; a-- {
		at[a] = cell % p.Axes[a].Out
		cell /= p.Axes[a].Out
	}
	list, counted = []int{cell}, 1
	for a, axis := range p.Axes {
		var next []int
		count := 0
		for tap := range axis.Taps {
			q := at[a]*axis.Stride + tap*axis.Dilation - axis.Pad
			if q >= 0 && q < axis.In {
				for _, i := range list {
					next = append(next, i*axis.In+q)
				}
			}
			if q >= 0 && q < axis.In || p.CountPad && q < axis.In+axis.PadEnd {
				count++
			}
		}
		list, counted = next, counted*max(count, 1)
	}
	return list, counted
}

func poolingSizes(p *nn.Pooling) (in, out int) {
	in, out = p.Planes, p.Planes
	for _, a := range p.Axes {
		in, out = in*a.In, out*a.Out
	}
	return in, out
}

// poolingFormula returns the maxima or the averages in float64.
func poolingFormula(p *nn.Pooling, maximum bool, x []float64) []float64 {
	_, out := poolingSizes(p)
	y := make([]float64, out)
	for i := range y {
		list, counted := poolingPlace(p, i)
		best, sum := math.Inf(-1), 0.0
		for _, at := range list {
			if sum += x[at]; x[at] > best {
				best = x[at]
			}
		}
		if y[i] = best; !maximum {
			y[i] = sum / float64(counted)
		}
	}
	return y
}

func TestPooling(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(13, 14))
	for i, p := range poolings {
		in, out := poolingSizes(&p)
		x := quarters(r, in)
		for _, maximum := range []bool{true, false} {
			for _, p.CountPad = range []bool{false, true} {
				want := poolingFormula(&p, maximum, x)
				for _, k := range runnable(t, "f32_pooling") {
					for d, tol := range map[tensor.DType]float64{tensor.F32: 0x1p-21, tensor.F16: 0x1p-10, tensor.BF16: 0x1p-7} {
						var w words
						w.pooling(&p, maximum)
						w.dtype(d)
						w.part(partOf(t, "half", k.ISA()))
						got := loaded(d, runGuarded(t, k, w, pool, d.Bytes(out), d.Bytes(1), stored(d, x)))
						if maximum {
							tol = 0
						}
						if at := differ(got, want, 0, tol); at >= 0 {
							t.Fatalf("%d, %s of %v, maximum %v, padding counts %v: element %d is %v, not %v", i, k.Variant(), d, maximum,
								p.CountPad, at, got[at], want[at])
						}
					}
				}
			}
		}
	}
}

// TestMaxIndex compares maxima and their indices to the formula, with either order of axes and
// without indices. Values repeat, so that the first of equal ones counts. NaNs are skipped.
func TestMaxIndex(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(65, 66))
	for i, p := range poolings {
		in, out := poolingSizes(&p)
		x := make([]float64, in)
		for i := range x {
			x[i] = float64(r.IntN(5))
		}
		inside, columns := 1, []int{0} // indices of a plane with the first axis fastest
		for _, axis := range p.Axes {
			var next []int
			for _, at := range columns {
				for k := range axis.In {
					next = append(next, at+k*inside)
				}
			}
			columns, inside = next, inside*axis.In
		}
		for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.I8, tensor.U8} {
			lowest, x := 0.0, slices.Clone(x)
			switch {
			case d == tensor.I8:
				lowest = -128
			case d.IsFloat():
				lowest, x[in/2] = math.Inf(-1), math.NaN()
			}
			want := make([]float64, 2*out)
			for o := range out {
				list, _ := poolingPlace(&p, o)
				slices.Sort(list)
				want[o] = lowest
				if len(list) > 0 {
					want[out+o] = float64(list[0])
				}
				for _, at := range list {
					if x[at] > want[o] {
						want[o], want[out+o] = x[at], float64(at)
					}
				}
			}
			turned := slices.Clone(want)
			for o := range out {
				if list, _ := poolingPlace(&p, o); len(list) > 0 {
					at := int(want[out+o])
					turned[out+o] = float64(at - at%inside + columns[at%inside])
				}
			}
			outs := []output{{at: 1, dtype: d, n: out}, {at: 2, dtype: tensor.I64, n: out}}
			for _, k := range runnable(t, "max_index") {
				for _, c := range []struct {
					turned bool
					outs   []output
					want   []float64
				}{{false, outs, want}, {true, outs, turned}, {false, outs[:1], want[:out]}} {
					got := runOutputs(t, k, maxIndexWords(&p, d, c.turned), pool, c.outs, stored(d, x), nil, nil)
					if at := differ(got, c.want, 0, 0); at >= 0 {
						t.Fatalf("%d, %s of %v: element %d is %v, not %v", i, k.Variant(), d, at, got[at], c.want[at])
					}
				}
			}
		}
	}
}

func TestPoolingSpecial(t *testing.T) {
	pool := testPool(t)
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range [][]float64{
		{nan, 1, nan, nan, 2, 3, 4, 5, nan, nan, nan, 7, 1, 2, 3, 4, 5, 6, nan},
		{inf, -inf, -inf, -inf, 1, 2, 3, inf, 4, 5, -inf, -inf, -inf, -inf, 6, 6, 6, 6},
	} {
		for _, stride := range []int{1, 2, 3} {
			p := nn.Pooling{Planes: 1, Axes: []nn.PoolingAxis{{In: len(x), Out: (len(x)-3)/stride + 1, Taps: 3, Stride: stride,
				Dilation: 1}}}
			want := poolingFormula(&p, true, x)
			for _, k := range runnable(t, "f32_pooling") {
				var w words
				w.pooling(&p, true)
				w.dtype(tensor.F32)
				w.part(bindings.Kernel{})
				got := loaded(tensor.F32, runGuarded(t, k, w, pool, 4*len(want), 4, stored(tensor.F32, x)))
				if at := differ(got, want, 0, 0); at >= 0 {
					t.Fatalf("%s, stride %d: element %d of %v is %v, not %v", k.Variant(), stride, at, x, got[at], want[at])
				}
			}
		}
	}
}

// TestBytePooling compares all variants to the formula.
func TestBytePooling(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(15, 16))
	for i, base := range append(slices.Clip(poolings),
		nn.Pooling{Planes: 2, Axes: []nn.PoolingAxis{{In: 5, Out: 4, Taps: 2, Stride: 1, Dilation: 1}, {In: 40, Out: 7, Taps: 6, Stride: 6, Dilation: 1, Pad: 2, PadEnd: 2}}},
		nn.Pooling{Planes: 1, Axes: []nn.PoolingAxis{{In: 17000, Out: 8500, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 0}}},
	) {
		for v := range 24 {
			if testing.Short() && v%5 != i%5 {
				continue
			}
			p := &quant.BytePooling{Pooling: base, Inner: []int{1, 4, 8, 16, 37}[v%5]}
			c := bytePoolCase{p: p, maximum: v&2 != 0, codes: tensor.U8, scale: []float64{0.25, 1, 2.5, 40}[v%4],
				scales: tensor.F32}
			p.CountPad = v&4 != 0
			if v&1 != 0 {
				c.codes = tensor.I8
			}
			if v&8 != 0 {
				c.scales = tensor.BF16
			}
			c.check(t, r, pool)
		}
	}
}

// TestBytePoolingWhole checks that the mean is rounded before the zero point is added.
func TestBytePoolingWhole(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, inner := range []int{1, 5} {
		for _, codes := range []tensor.DType{tensor.U8, tensor.I8} {
			p := &quant.BytePooling{Inner: inner}
			p.Planes, p.Axes = 70, []nn.PoolingAxis{{In: 9, Out: 1, Taps: 9, Stride: 1, Dilation: 1}}
			c := bytePoolCase{p: p, codes: codes, scale: 0.5, scales: tensor.F16}
			c.check(t, r, pool)
		}
	}
}

type bytePoolCase struct {
	p             *quant.BytePooling
	maximum       bool
	codes, scales tensor.DType
	scale         float64 // scale of x divided by scale of y
	zeros         [2]byte
}

func (c *bytePoolCase) code(b byte) int {
	if c.codes == tensor.I8 {
		return int(int8(b))
	}
	return int(b)
}

func (c *bytePoolCase) check(t *testing.T, r *rand.Rand, pool *bindings.Pool) {
	t.Helper()
	in, out := poolingSizes(&c.p.Pooling)
	x := make([]byte, in*c.p.Inner+1)[1:]
	for i := range x {
		x[i] = byte(r.Uint32())
	}
	c.zeros = [2]byte{byte(r.Uint32()), byte(r.Uint32())}
	want, fits := c.formula(x, out*c.p.Inner), 0
	for _, k := range runnable(t, "i8_pooling") {
		w := bytePoolWords(c.p, c.maximum, c.codes, [2]tensor.DType{c.scales, tensor.F32}, partOf(t, "half", k.ISA()))
		ops := [][]byte{x, stored(c.scales, []float64{c.scale / 2}), c.zeros[:1], stored(tensor.F32, []float64{0.5}),
			c.zeros[1:]}
		if c.maximum {
			ops = [][]byte{x, nil, nil, nil, nil}
		}
		if !k.Fits(numbersOf(t, w)) {
			continue
		}
		fits++
		got := runGuarded(t, k, w, pool, len(want), 1, ops...)
		for at := range got {
			if got[at] != want[at] {
				t.Fatalf("%+v %+v %s: code %d is %d, not %d", c, c.p, k.Variant(), at, got[at], want[at])
			}
		}
	}
	if levels := len(runnable(t, "max_index")); fits != levels {
		t.Errorf("%+v %+v: %d kernels fit, there are %d levels", c, c.p, fits, levels)
	}
}

func (c *bytePoolCase) formula(x []byte, n int) []byte {
	least := 0
	if c.codes == tensor.I8 {
		least = -128
	}
	before, after := c.code(c.zeros[1]), 0
	if c.p.IsWhole() {
		before, after = 0, before
	}
	y := make([]byte, n)
	for i := range y {
		list, counted := poolingPlace(&c.p.Pooling, i/c.p.Inner)
		best, sum := least, 0
		for _, at := range list {
			v := c.code(x[at*c.p.Inner+i%c.p.Inner])
			best, sum = max(best, v), sum+v-c.code(c.zeros[0])
		}
		if !c.maximum {
			mean := math.RoundToEven(float64(float32(float32(sum)/float32(counted)*float32(c.scale))+float32(before))) + float64(after)
			best = int(min(max(mean, float64(least)), float64(least+255)))
		}
		y[i] = byte(best)
	}
	return y
}
