package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestGridSample compares all variants on grids that leave the image, with more places than a
// block, and with NaNs as places.
func TestGridSample(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(61, 62))
	for _, s := range []struct {
		x      tensor.Shape
		places int
	}{{tensor.Shape{1, 1, 5}, 3}, {tensor.Shape{2, 3, 9, 7}, 331}, {tensor.Shape{1, 70, 4, 33}, 17}, {tensor.Shape{2, 2, 3, 4, 5}, 259}, {tensor.Shape{1, 2, 1, 1}, 20}} {
		for mode := range gridModes {
			for padding := range gridPaddings {
				for _, corners := range []bool{false, true} {
					o := &vision.GridSample{Mode: mode, Padding: padding, Corners: corners}
					grid := make([]float64, s.x[0]*s.places*(len(s.x)-2))
					for i := range grid {
						grid[i] = r.Float64()*3.4 - 1.7
					}
					grid[0], grid[len(grid)-1] = math.NaN(), 1e30
					x := quarters(r, s.x.Len())
					y := []output{{at: 2, dtype: tensor.F32, n: s.x[0] * s.x[1] * s.places}}
					checkVariants(t, "f32_grid_sample", fmt.Sprint(s, *o), gridWords(o, s.x, s.places), pool, 2e-5, 0, y,
						stored(tensor.F32, x), stored(tensor.F32, grid), nil)
				}
			}
		}
	}
}

// TestAffineGrid compares the bits of all variants to Go, on rows longer than a chunk and on axes
// of extent 1.
func TestAffineGrid(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(63, 64))
	for _, y := range []tensor.Shape{
		{1, 1, 1, 2}, {2, 3, 5, 2}, {3, 67, 251, 2}, {2, 1, 490, 2}, {1, 2, 3, 4, 3}, {2, 5, 29, 243, 3},
	} {
		for _, corners := range []bool{false, true} {
			o, axes := &vision.AffineGrid{Corners: corners}, len(y)-2
			theta := tensor.New(tensor.F32, y[0], axes, axes+1)
			for i := range tensor.View[float32](theta) {
				tensor.View[float32](theta)[i] = float32(r.NormFloat64())
			}
			size := tensor.New(tensor.I64, len(y))
			for i, n := range append(tensor.Shape{y[0], 1}, y[1:1+axes]...) {
				tensor.View[int64](size)[i] = int64(n)
			}
			want := tensor.New(tensor.F32, y...)
			if err := o.Run(&op.Run{In: []*tensor.Tensor{theta, size}, Out: []*tensor.Tensor{want}}); err != nil {
				t.Fatal(err)
			}
			for _, k := range runnable(t, "f32_affine_grid") {
				got, err := tensor.FromBytes(tensor.F32, y, runGuarded(t, k, affineWords(o, y), pool, 4*y.Len(), 4, theta.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%s/%s: %v has other bits than in Go", k.Op(), k.Variant(), y)
				}
			}
		}
	}
}

// TestGridSampleFits checks that a table has space for the taps of all axes.
func TestGridSampleFits(t *testing.T) {
	testPool(t)
	for _, c := range []struct {
		mode string
		axes int
		want bool
	}{{"nearest", 8, true}, {"linear", 6, true}, {"linear", 7, false}, {"cubic", 3, true}, {"cubic", 4, false}} {
		x := make(tensor.Shape, 2+c.axes)
		for i := range x {
			x[i] = 2
		}
		list := numbersOf(t, gridWords(&vision.GridSample{Mode: c.mode, Padding: "zeros"}, x, 1))
		for _, k := range bindings.Variants("f32_grid_sample") {
			if k.Fits(list) != c.want {
				t.Errorf("%+v: %s fits: %v", c, k.Variant(), !c.want)
			}
		}
	}
}

// regionsFormula adds up samples one by one.
func regionsFormula(g *regions, x []float64, rois []float64, batch []int64) []float64 {
	y := make([]float64, g.y.Len())
	h, w := g.x[2], g.x[3]
	for i := range y {
		n, c, row, column := i/g.y[3]/g.y[2]/g.y[1], i/g.y[3]/g.y[2]%g.y[1], i/g.y[3]%g.y[2], i%g.y[3]
		at := func(p, q int) float64 { return x[((int(batch[n])*g.x[1]+c)*h+p)*w+q] }
		between := func(p, q float64) (sum float64) {
			for a := range h {
				for b := range w {
					sum += max(0, 1-math.Abs(p-float64(a))) * max(0, 1-math.Abs(q-float64(b))) * at(a, b)
				}
			}
			return sum
		}
		r := rois[4*n:][:4]
		if g.kind != regionsAlign {
			place := func(from, to float64, extent, i, n int) float64 {
				if n == 1 {
					return (from + to) / 2 * float64(extent-1)
				}
				return (from + (to-from)*float64(i)/float64(n-1)) * float64(extent-1)
			}
			p, q := place(r[0], r[2], h, row, g.y[2]), place(r[1], r[3], w, column, g.y[3])
			switch {
			case p < 0 || p > float64(h-1) || q < 0 || q > float64(w-1):
				y[i] = g.outside
			case g.kind == regionsCropNearest:
				y[i] = at(int(math.Round(p)), int(math.Round(q)))
			default:
				y[i] = between(p, q)
			}
			continue
		}
		samples := func(from, to float64, i, n int) (list []float64) {
			from, to = from*g.scale-g.offset, to*g.scale-g.offset
			extent, count := to-from, g.samples
			if g.least > 0 {
				extent = max(extent, float64(g.least))
			}
			bin := extent / float64(n)
			if count == 0 {
				count = int(max(math.Ceil(bin), 0))
			}
			for k := range count {
				list = append(list, from+float64(i)*bin+(float64(k)+0.5)*bin/float64(count))
			}
			return list
		}
		ps, qs := samples(r[1], r[3], row, g.y[2]), samples(r[0], r[2], column, g.y[3])
		for _, p := range ps {
			for _, q := range qs {
				if p < -1 || p > float64(h) || q < -1 || q > float64(w) {
					continue
				}
				y[i] += between(min(max(p, 0), float64(h-1)), min(max(q, 0), float64(w-1))) / float64(len(ps)*len(qs))
			}
		}
	}
	return y
}

// TestImageRegions compares all variants to the formula, on regions that leave the image, are empty
// or reversed, and on rows with more columns than a table.
func TestImageRegions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(63, 64))
	image, wide := tensor.Shape{2, 3, 11, 23}, tensor.Shape{2, 1, 3, 7001}
	for _, g := range []regions{
		{y: tensor.Shape{5, 3, 7, 7}, samples: 2, scale: 0.5, offset: 0.5},
		{y: tensor.Shape{5, 3, 2, 3}, scale: 0.5, least: 1},
		{y: tensor.Shape{5, 3, 1, 1}, scale: 0.75},
		{y: tensor.Shape{5, 3, 2, 2}, samples: 64, scale: 0.5},
		{y: tensor.Shape{5, 3, 3, 300}, samples: 1, scale: 0.5},
		{y: tensor.Shape{5, 3, 6, 5}, kind: regionsCrop, outside: -7.5},
		{y: tensor.Shape{5, 3, 1, 260}, kind: regionsCrop, outside: 2},
		{y: tensor.Shape{5, 3, 4, 9}, kind: regionsCropNearest, outside: 0.25},
		{x: wide, y: tensor.Shape{5, 1, 5, 2}, samples: 1, scale: 20},
		{x: wide, y: tensor.Shape{5, 1, 7, 1}, kind: regionsCrop, outside: 1},
	} {
		for _, g.batchBytes = range []int{4, 8} {
			g.most = vision.MaxRoiGrid
			if g.x == nil {
				g.x = image
			}
			rois := []float64{1, 2, 30, 17, -9, -4, 60, 40, 5, 5, 5, 5, 20, 12, 7, 3, 0, 0, 46, 22}
			if g.kind != regionsAlign {
				rois = []float64{0, 0, 1, 1, -0.25, 0.5, 0.75, 1.5, 0.5, 0.5, 0.5, 0.5, 1, 0.75, 0.25, 0, 0.125, 0.25, 0.5, 0.75}
			}
			batch := []int64{1, 0, 1, 1, 0}
			indices := constant(batch...).Data
			if g.batchBytes == 4 {
				indices = constant[int32](1, 0, 1, 1, 0).Data
			}
			x := quarters(r, g.x.Len())
			want := regionsFormula(&g, x, rois, batch)
			for _, k := range runnable(t, "f32_regions") {
				got := loaded(tensor.F32, runGuarded(t, k, g.words(), pool, 4*len(want), 4, stored(tensor.F32, x),
					stored(tensor.F32, rois), indices))
				if i := differ(got, want, 1e-4, 1e-5); i >= 0 {
					t.Fatalf("%+v %s: element %d is %v, not %v", g, k.Variant(), i, got[i], want[i])
				}
			}
		}
	}
}

// TestImageRegionsFit checks that kernels refuse extents beyond which float32 cannot tell pixels
// apart.
func TestImageRegionsFit(t *testing.T) {
	testPool(t)
	for _, kind := range []int{regionsAlign, regionsCrop, regionsCropNearest, regionsLargest} {
		for extent, want := range map[int]bool{1 << 22: true, 1<<22 + 1: false, 1<<24 + 3: false, 1 << 31: false} {
			for _, x := range []tensor.Shape{{1, 1, 1, extent}, {1, 1, extent, 1}} {
				g := &regions{x: x, y: tensor.Shape{1, 1, 2, 2}, kind: kind, samples: 2, scale: 1, batchBytes: 8}
				list := numbersOf(t, g.words())
				for _, k := range bindings.Variants("f32_regions") {
					if k.Fits(list) != want {
						t.Errorf("kind %d of %v: %s fits: %v", kind, x, k.Variant(), !want)
					}
				}
			}
		}
	}
}

// TestLargestOfRegions compares the largest terms by all variants to the scalar one, for more
// elements than a table has.
func TestLargestOfRegions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(67, 68))
	image := tensor.Shape{2, 66, 9, 13}
	for _, samples := range []int{1, 2, 4} {
		g := &regions{x: image, y: tensor.Shape{3, 66, 30, 11}, kind: regionsLargest, samples: samples, scale: 0.5,
			offset: 0.5, batchBytes: 8}
		x, rois := quarters(r, image.Len()), []float64{1, 2, 25, 17, -9, -4, 60, 40, 20, 12, 7, 3}
		y := []output{{at: 3, dtype: tensor.F32, n: g.y.Len()}}
		checkVariants(t, "f32_regions", fmt.Sprint(samples), g.words(), pool, 1e-6, 0, y, stored(tensor.F32, x),
			stored(tensor.F32, rois), constant[int64](1, 0, 1).Data, nil)
	}
}

// TestImageRegionsFail checks that regions of no image, and with too many samples, fail.
func TestImageRegionsFail(t *testing.T) {
	pool := testPool(t)
	g := &regions{x: tensor.Shape{1, 1, 2, 2}, y: tensor.Shape{1, 1, 1, 1}, most: vision.MaxRoiGrid, scale: 1,
		batchBytes: 8}
	for _, c := range []struct {
		rois  []float64
		batch int64
	}{{[]float64{0, 0, 1, 1}, 1}, {[]float64{0, 0, 1, 1}, -1}, {[]float64{0, 0, 1e9, 1}, 0}, {[]float64{0, math.NaN(), 1, 1}, 0}} {
		for _, k := range runnable(t, "f32_regions") {
			y, _ := guardedBytes(4, 4)
			if _, failed := runCommand(t, k, g.words(), pool, stored(tensor.F32, make([]float64, 4)),
				stored(tensor.F32, c.rois), constant(c.batch).Data, y); !failed {
				t.Errorf("%s computes a region %v of image %d", k.Variant(), c.rois, c.batch)
			}
		}
	}
}
