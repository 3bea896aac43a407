package vision

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sampling describes how Resize computes an output element along one axis.
type sampling struct {
	mode, coords, nearest string
	excludeOutside        bool
}

// tap is an input index and its weight.
type tap struct {
	at     int
	weight float64
}

// place returns the position of output element i of m in an input of n elements, computed in
// float32.
func (p sampling) place(i, n, m int, factor float64) float64 {
	x, in, scale := float32(i), float32(n), float32(factor)
	switch p.coords {
	case "align_corners":
		// The standard uses the extent before it is rounded down.
		if exact := scale * in; exact != 1 {
			return float64(float32(x*(in-1)) / (exact - 1))
		}
		return 0
	case "asymmetric":
		return float64(x / scale)
	case "pytorch_half_pixel":
		if m == 1 {
			return 0
		}
	case "tf_half_pixel_for_nn":
		return float64((x + 0.5) / scale)
	case "half_pixel_symmetric":
		left := float32(m) / float32(scale*in)
		return float64(float32(float64(float32(in/2*(1-left))) + (float64(x)+0.5)/float64(scale) - 0.5))
	}
	return float64((x+0.5)/scale - 0.5)
}

// taps returns the input elements and weights of the place x.
func (p sampling) taps(x float64, n int) []tap {
	clamp := func(i int) int { return min(max(i, 0), n-1) }
	low := math.Floor(x)
	t := x - low
	switch p.mode {
	case "nearest":
		i := math.Ceil(x - 0.5)
		switch p.nearest {
		case "round_prefer_ceil":
			i = math.Floor(x + 0.5)
		case "floor":
			i = low
		case "ceil":
			i = math.Ceil(x)
		}
		return []tap{{clamp(int(i)), 1}}
	case "linear":
		return []tap{{clamp(int(low)), 1 - t}, {clamp(int(low) + 1), t}}
	}
	const a = -0.75
	var list []tap
	sum := 0.0
	for k := -1; k <= 2; k++ {
		d := math.Abs(t - float64(k))
		w := ((a+2)*d-(a+3))*d*d + 1
		if d > 1 {
			w = ((a*d-5*a)*d+8*a)*d - 4*a
		}
		i := int(low) + k
		if p.excludeOutside && (i < 0 || i >= n) {
			continue
		}
		list = append(list, tap{clamp(i), w})
		sum += w
	}
	if p.excludeOutside {
		for i := range list {
			list[i].weight /= sum
		}
	}
	return list
}

// resized samples x at every index of a shape.
func resized(x *tensor.Tensor, shape []int, scales []float64, p sampling) *tensor.Tensor {
	axes := make([][][]tap, len(shape))
	for a, m := range shape {
		n := x.Shape()[a]
		for i := range m {
			if scales[a] == 1 && n == m {
				axes[a] = append(axes[a], []tap{{i, 1}})
			} else {
				axes[a] = append(axes[a], p.taps(p.place(i, n, m, scales[a]), n))
			}
		}
	}
	if p.mode == "nearest" {
		return cases.Pick(x, shape, func(at []int) []int {
			for a := range at {
				at[a] = axes[a][at[a]][0].at
			}
			return at
		})
	}
	y := tensor.New(x.DType(), shape...)
	cases.Each(y.Shape(), func(i int, at []int) {
		counts := make([]int, len(at))
		for a := range at {
			counts[a] = len(axes[a][at[a]])
		}
		sum := 0.0
		cases.Each(counts, func(_ int, choice []int) {
			w := 1.0
			src := make([]int, len(at))
			for a, c := range choice {
				src[a] = axes[a][at[a]][c].at
				w *= axes[a][at[a]][c].weight
			}
			sum += w * cases.Number(x, cases.Flat(x.Shape(), src...))
		})
		cases.SetNumber(y, i, sum)
	})
	return y
}

func resizeCases(s *cases.Suite) {
	types := slices.Concat(cases.Numeric, []tensor.DType{tensor.Bool, tensor.String, tensor.C64, tensor.C128})
	for _, d := range types {
		resizeCase(s, d, []int{1, 2, 3, 4}, []float64{1, 1, 2, 1.5},
			sampling{"nearest", "half_pixel", "round_prefer_floor", false})
		upsampleCases(s, d, "nearest")
	}
	for _, d := range cases.Floats {
		upsampleCases(s, d, "linear")
		for _, mode := range []string{"nearest", "linear", "cubic"} {
			for _, coords := range []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
				"asymmetric"} {
				p := sampling{mode, coords, "floor", false}
				resizeCase(s, d, []int{2, 1, 5, 7}, []float64{1, 1, 0.625, 2}, p)
				resizeCase(s, d, []int{4, 6}, []float64{2.5, 1.25}, p)
				resizeCase(s, d, []int{9}, []float64{0.25}, p)
			}
		}
		resizeCase(s, d, []int{1, 1, 5, 5}, []float64{1, 1, 1.75, 0.75}, sampling{"cubic", "half_pixel", "floor", true})
		for _, nearest := range []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"} {
			resizeCase(s, d, []int{7, 5}, []float64{0.5, 2}, sampling{"nearest", "half_pixel", nearest, false})
		}
	}
	resizeCase(s, tensor.F32, []int{1, 3, 40, 41}, []float64{1, 1, 2, 2}, sampling{"linear", "half_pixel", "floor", false})
	roundedCases(s)
}

// roundedCases resizes 0, 1, ... by scales that float32 cannot hold. A place that is a whole number
// or a half, except for rounding, counts as exact.
func roundedCases(s *cases.Suite) {
	for _, c := range []struct {
		n       int
		scale   float64
		coords  string
		nearest string
		want    []float64
	}{
		{35, 0.1, "asymmetric", "floor", []float64{0, 10, 20}},
		{11, 0.3, "asymmetric", "floor", []float64{0, 3, 6}},
		{7, 1.7, "asymmetric", "floor", []float64{0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5}},
		{31, 0.3, "asymmetric", "ceil", []float64{0, 4, 7, 10, 14, 17, 20, 24, 27}},
		{40, 0.3, "half_pixel", "round_prefer_ceil", []float64{1, 5, 8, 11, 15, 18, 21, 24, 28, 31, 35, 38}},
		{12, 1.3, "half_pixel", "round_prefer_floor", []float64{0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11}},
		{4, 1.2, "asymmetric", "floor", []float64{0, 1, 2, 3}},
		{9, 0.35, "half_pixel_symmetric", "floor", []float64{1, 3, 6}},
	} {
		x := cases.Vector(tensor.F32, count(c.n)...)
		a := cases.Attrs("mode", "nearest", "coordinate_transformation_mode", c.coords, "nearest_mode", c.nearest)
		version := 11
		if c.coords == "half_pixel_symmetric" {
			version = 19
		}
		given := cases.In(x, tensor.New(tensor.F32, 0), cases.Vector(tensor.F32, c.scale))
		s.Add(cases.Case{Op: "Resize", Version: version, Note: "rounded " + c.coords, Attrs: a, In: given,
			Want: cases.Want(cases.Vector(tensor.F32, c.want...))})
	}
	// The first version takes the element after the place along axes that shrink.
	given := cases.In(cases.Vector(tensor.F32, count(8)...), cases.Vector(tensor.F32, 0.6))
	s.Add(cases.Case{Op: "Resize", Version: 10, Until: 11, Note: "shrunk", In: given,
		Want: cases.Want(cases.Vector(tensor.F32, 0, 2, 4, 5))})
}

// count returns 0, 1, ... n-1.
func count(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(i)
	}
	return list
}

// resizeCase resizes by scales that are exact in float32.
func resizeCase(s *cases.Suite, d tensor.DType, shape []int, scales []float64, p sampling) {
	x := s.Any(d, shape...)
	to := make([]int, len(shape))
	for a, n := range shape {
		to[a] = int(math.Floor(float64(n) * scales[a]))
	}
	version := 11
	if d == tensor.BF16 {
		version = 13
	}
	if p.coords == "half_pixel_symmetric" {
		version = 19
	}
	list := []any{"mode", p.mode, "coordinate_transformation_mode", p.coords}
	if p.mode == "nearest" {
		list = append(list, "nearest_mode", p.nearest)
	}
	if p.excludeOutside {
		list = append(list, "exclude_outside", 1)
	}
	a := cases.Attrs(list...)
	given := cases.In(x, tensor.New(tensor.F32, 0), cases.Vector(tensor.F32, scales...))
	s.Add(cases.Case{Op: "Resize", Version: version, Note: p.mode + " " + p.coords, Attrs: a, In: given,
		Want: cases.Want(resized(x, to, scales, p)), Ulps: 32})

	// Sizes imply scales.
	for i := range scales {
		scales[i] = float64(to[i]) / float64(shape[i])
	}
	given = cases.In(x, nil, nil, cases.Ints(to...))
	s.Add(cases.Case{Op: "Resize", Version: max(version, 13), Note: p.mode + " " + p.coords, Attrs: a, In: given,
		Want: cases.Want(resized(x, to, scales, p)), Ulps: 32})
}

func upsampleCases(s *cases.Suite, d tensor.DType, mode string) {
	x := s.Any(d, 1, 2, 3, 4)
	scales := []float64{1, 1, 2, 3}
	y := resized(x, []int{1, 2, 6, 12}, scales, sampling{mode, "asymmetric", "floor", false})
	old := mode
	if mode == "linear" {
		old = "bilinear"
	}
	s.Add(cases.Case{Op: "Upsample", Version: 1, Until: 7, Note: mode, Attrs: cases.Attrs("mode", old, "height_scale",
		2.0, "width_scale", 3.0), In: cases.In(x), Want: cases.Want(y), Ulps: 16})
	s.Add(cases.Case{Op: "Upsample", Version: 7, Until: 9, Note: mode,
		Attrs: cases.Attrs("mode", mode, "scales", scales), In: cases.In(x), Want: cases.Want(y), Ulps: 16})
	given := cases.In(x, cases.Vector(tensor.F32, scales...))
	s.Add(cases.Case{Op: "Upsample", Version: 9, Note: mode, Attrs: cases.Attrs("mode", mode), In: given,
		Want: cases.Want(y), Ulps: 16})
	s.Add(cases.Case{Op: "Resize", Version: 10, Until: 11, Note: mode, Attrs: cases.Attrs("mode", mode), In: given,
		Want: cases.Want(y), Ulps: 16})
}
