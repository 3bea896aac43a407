package vision

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bilinear reads a plane between pixels. terms are the four weighted pixels.
func bilinear(plane func(y, x int) float64, h, w int, y, x float64) (terms [4]float64) {
	if y < -1 || y > float64(h) || x < -1 || x > float64(w) {
		return terms
	}
	y, x = math.Min(math.Max(y, 0), float64(h-1)), math.Min(math.Max(x, 0), float64(w-1))
	y0, x0 := math.Floor(y), math.Floor(x)
	for i := range 4 {
		yi, xi := y0+float64(i/2), x0+float64(i%2)
		part := (1 - math.Abs(y-yi)) * (1 - math.Abs(x-xi))
		if part > 0 && yi < float64(h) && xi < float64(w) {
			terms[i] = part * plane(int(yi), int(xi))
		}
	}
	return terms
}

func roiAlignCases(s *cases.Suite, d tensor.DType) {
	const h, w = 6, 7
	x := s.Any(d, 2, 3, h, w)
	rois := cases.Vector(d, 1, 1, 9, 11, -3, 2, 4, 20, 2, 2, 2.5, 2.25)
	rois = cases.Seen(rois, 3, 4)
	batch := cases.Ints(0, 1, 1)
	for _, largest := range []bool{false, true} {
		for _, ratio := range []int{0, 2} {
			for _, half := range []bool{false, true} {
				y := tensor.New(d, 3, 3, 2, 3)
				cases.Each(y.Shape(), func(i int, at []int) {
					offset, roi := 0.0, at[0]*4
					if half {
						offset = 0.5
					}
					place := func(axis, bin, bins int) []float64 {
						from, to := cases.Number(rois, roi+axis)*0.5-offset, cases.Number(rois, roi+axis+2)*0.5-offset
						size := to - from
						if !half {
							size = math.Max(size, 1)
						}
						size /= float64(bins)
						n := ratio
						if n == 0 {
							n = int(math.Ceil(size))
						}
						var list []float64
						for k := range n {
							list = append(list, from+size*float64(bin)+size*(float64(k)+0.5)/float64(n))
						}
						return list
					}
					sum, top, count := 0.0, math.Inf(-1), 0
					for _, py := range place(1, at[2], 2) {
						for _, px := range place(0, at[3], 3) {
							terms := bilinear(func(r, c int) float64 {
								return cases.Number(x, cases.Flat(x.Shape(), int(cases.Number(batch, at[0])), at[1], r, c))
							}, h, w, py, px)
							sum += cases.Total(terms[:])
							top = math.Max(top, slices.Max(terms[:]))
							count++
						}
					}
					v := sum / float64(count)
					if largest {
						v = top
					}
					cases.SetNumber(y, i, v)
				})
				mode := "avg"
				if largest {
					mode = "max"
				}
				list := cases.Attrs("mode", mode, "output_height", 2, "output_width", 3, "sampling_ratio", ratio, "spatial_scale",
					0.5)
				switch {
				case half:
					s.Add(cases.Case{Op: "RoiAlign", Version: 16, Attrs: list, In: cases.In(x, rois, batch), Want: cases.Want(y),
						Ulps: 16})
				default:
					s.Add(cases.Case{Op: "RoiAlign", Version: 10, Until: 16, Attrs: list, In: cases.In(x, rois, batch),
						Want: cases.Want(y), Ulps: 16})
					list = append(list, cases.Attrs("coordinate_transformation_mode", "output_half_pixel")...)
					s.Add(cases.Case{Op: "RoiAlign", Version: 16, Attrs: list, In: cases.In(x, rois, batch), Want: cases.Want(y),
						Ulps: 16})
				}
			}
		}
	}
	s.Add(cases.Case{Op: "RoiAlign", Version: 10, Note: "batch", In: cases.In(x, rois, cases.Ints(0, 2, 1)),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "RoiAlign", Version: 10, Note: "huge",
		In: cases.In(x, cases.Seen(cases.Vector(d, 0, 0, 3e4, math.Inf(1)), 1, 4), cases.Ints(0)), Fails: graph.ErrShape})
}

func maxRoiPoolCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 2, 3, 6, 7)
	rois := cases.Seen(cases.Vector(d, 0, 0, 0, 12, 8, 1, 5, 2, 9, 11, 1, 4, 4, 4, 4, 0, 30, 30, 40, 40), 4, 5)
	y := tensor.New(d, 4, 3, 2, 3)
	cases.Each(y.Shape(), func(i int, at []int) {
		roi := at[0] * 5
		in := func(axis, bin, bins, pixel int) bool {
			from := math.Round(cases.Number(rois, roi+1+axis) * 0.5)
			size := math.Max(math.Round(cases.Number(rois, roi+3+axis)*0.5)-from+1, 1) / float64(bins)
			return float64(pixel) >= math.Floor(float64(bin)*size)+from && float64(pixel) < math.Ceil(float64(bin+1)*size)+from
		}
		top := math.Inf(-1)
		cases.Each(tensor.Shape{6, 7}, func(p int, pixel []int) {
			if in(1, at[2], 2, pixel[0]) && in(0, at[3], 3, pixel[1]) {
				top = math.Max(top, cases.Number(x, cases.Flat(x.Shape(), int(cases.Number(rois, roi)), at[1], pixel[0], pixel[1])))
			}
		})
		if math.IsInf(top, -1) {
			top = 0
		}
		cases.SetNumber(y, i, top)
	})
	s.Add(cases.Case{Op: "MaxRoiPool", Version: 1, Attrs: cases.Attrs("pooled_shape", []int{2, 3}, "spatial_scale", 0.5),
		In: cases.In(x, rois), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "MaxRoiPool", Version: 1, Note: "batch", Attrs: cases.Attrs("pooled_shape", []int{1, 1}),
		In: cases.In(x, cases.Seen(cases.Vector(d, 2, 0, 0, 1, 1), 1, 5)), Fails: graph.ErrShape})
}

func gridSampleCases(s *cases.Suite, d tensor.DType) {
	for _, mode := range []string{"linear", "nearest", "cubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for corners := range 2 {
				if d.IsInteger() && mode != "nearest" {
					continue // rounding decides to which whole number a sum is truncated
				}
				gridCase(s, d, 16, mode, padding, corners, []int{4, 5}, []int{3, 6})
				if d == tensor.F32 {
					gridCase(s, d, 20, mode, padding, corners, []int{7}, []int{9})
					gridCase(s, d, 20, mode, padding, corners, []int{3, 4, 2}, []int{2, 2, 3})
				}
			}
		}
	}
}

func gridCase(s *cases.Suite, d tensor.DType, version int, mode, padding string, corners int, space, places []int) {
	r := len(space)
	x := s.Any(d, slices.Concat([]int{2, 2}, space)...)
	grid := s.Between(tensor.F32, -1.7, 1.7, slices.Concat([]int{2}, places, []int{r})...)
	y := tensor.New(d, slices.Concat([]int{2, 2}, places)...)
	cases.Each(y.Shape(), func(i int, at []int) {
		place := cases.Flat(slices.Concat([]int{2}, places), slices.Concat(at[:1], at[2:])...) * r
		v := sampled(func(pixel []int) float64 {
			return cases.Number(x, cases.Flat(x.Shape(), slices.Concat(at[:2], pixel)...))
		},
			nil, space, func(a int) float64 { return cases.Number(grid, place+r-1-a) }, mode, padding, corners == 1)
		if d == tensor.Bool {
			v = cases.Truth(v != 0)
		}
		cases.SetNumber(y, i, v)
	})
	list := cases.Attrs("mode", mode, "padding_mode", padding, "align_corners", corners)
	s.Add(cases.Case{Op: "GridSample", Version: 20, Attrs: list, In: cases.In(x, grid), Want: cases.Want(y), Ulps: 64})
	if version < 20 {
		old := map[string]string{"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}[mode]
		s.Add(cases.Case{Op: "GridSample", Version: version, Until: 20,
			Attrs: append(cases.Attrs("mode", old), list[1:]...), In: cases.In(x, grid), Want: cases.Want(y), Ulps: 64})
	}
}

// sampled interpolates along one axis after the other. pixel is the index along the axes already
// chosen.
func sampled(
	at func(pixel []int) float64, pixel, space []int, place func(a int) float64, mode, padding string, corners bool,
) float64 {
	a := len(pixel)
	if a == len(space) {
		return at(pixel)
	}
	n := float64(space[a])
	lo, hi, p := -0.5, n-0.5, ((place(a)+1)*n-1)/2
	if corners {
		lo, hi, p = 0, n-1, (place(a)+1)/2*(n-1)
	}
	fold := func(p float64) float64 {
		for p < lo || p > hi {
			if p < lo {
				p = 2*lo - p
			}
			if p > hi {
				p = 2*hi - p
			}
		}
		return p
	}
	if mode == "nearest" {
		p = math.RoundToEven(p)
	}
	if p < lo || p > hi {
		switch padding {
		case "border":
			if mode != "cubic" {
				p = math.Max(0, math.Min(p, n-1))
			}
		case "reflection":
			p = fold(p)
		}
	}
	sum := 0.0
	for i := int(math.Floor(p)) - 2; i <= int(math.Floor(p))+3; i++ {
		part := 0.0
		switch t := math.Abs(p - float64(i)); {
		case mode == "nearest":
			part = cases.Truth(t == 0)
		case mode == "linear":
			part = math.Max(0, 1-t)
		case t <= 1:
			part = 1.25*t*t*t - 2.25*t*t + 1
		case t < 2:
			part = -0.75*t*t*t + 3.75*t*t - 6*t + 3
		}
		j := i
		if i < 0 || i >= space[a] {
			switch padding {
			case "zeros":
				continue
			case "border":
				j = min(max(i, 0), space[a]-1)
			case "reflection":
				j = int(fold(float64(i)))
			}
		}
		if part != 0 {
			sum += part * sampled(at, append(slices.Clone(pixel), j), space, place, mode, padding, corners)
		}
	}
	return sum
}

func affineGridCases(s *cases.Suite, d tensor.DType) {
	for _, space := range [][]int{{3, 4}, {2, 3, 1}} {
		for corners := range 2 {
			r := len(space)
			theta := s.Any(d, 2, r, r+1)
			y := tensor.New(d, slices.Concat([]int{2}, space, []int{r})...)
			cases.Each(y.Shape(), func(i int, at []int) {
				row := (at[0]*r + at[r+1]) * (r + 1)
				sum := cases.Number(theta, row+r)
				for a, n := range space {
					p := (2*float64(at[1+a])+1)/float64(n) - 1
					if corners == 1 {
						p = -1 + 2*float64(at[1+a])/math.Max(float64(n-1), 1)
					}
					sum += cases.Number(theta, row+r-1-a) * p
				}
				cases.SetNumber(y, i, sum)
			})
			s.Add(cases.Case{Op: "AffineGrid", Version: 20, Attrs: cases.Attrs("align_corners", corners),
				In: cases.In(theta, cases.Ints(slices.Concat([]int{2, 5}, space)...)), Want: cases.Want(y), Ulps: 8})
			s.Add(cases.Case{Op: "AffineGrid", Version: 20, Note: "batch",
				In: cases.In(theta, cases.Ints(slices.Concat([]int{3, 5}, space)...)), Fails: graph.ErrShape})
		}
	}
}

// sampleCases reads images at places, and regions of images.
func sampleCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		gridSampleCases(s, d)
	}
	x := s.Any(tensor.Bool, 1, 1, 3, 4)
	s.Add(cases.Case{Op: "GridSample", Version: 16, Attrs: cases.Attrs("mode", "nearest", "padding_mode", "border"),
		In: cases.In(x, cases.Vector(tensor.F32, -1, -1)), Fails: graph.ErrShape})
	gridCase(s, tensor.Bool, 16, "nearest", "border", 0, []int{3, 4}, []int{2, 5})
	for _, d := range cases.Floats {
		roiAlignCases(s, d)
		maxRoiPoolCases(s, d)
		affineGridCases(s, d)
	}
	suppressionCases(s)
}
