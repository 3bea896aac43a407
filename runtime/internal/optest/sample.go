package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

type attrList = []*graph.Attr

// bilinear reads a plane between pixels; the terms are its four parts.
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

func roiAlignCases(s *suite, d tensor.DType) {
	const h, w = 6, 7
	x := s.any(d, 2, 3, h, w)
	rois := vector(d, 1, 1, 9, 11, -3, 2, 4, 20, 2, 2, 2.5, 2.25)
	rois = seen(rois, 3, 4)
	batch := ints(0, 1, 1)
	for _, largest := range []bool{false, true} {
		for _, ratio := range []int{0, 2} {
			for _, half := range []bool{false, true} {
				y := tensor.New(d, 3, 3, 2, 3)
				each(y.Shape(), func(i int, at []int) {
					offset, roi := 0.0, at[0]*4
					if half {
						offset = 0.5
					}
					place := func(axis, bin, bins int) []float64 {
						from, to := number(rois, roi+axis)*0.5-offset, number(rois, roi+axis+2)*0.5-offset
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
								return number(x, flat(x.Shape(), int(number(batch, at[0])), at[1], r, c))
							}, h, w, py, px)
							sum += total(terms[:])
							top = math.Max(top, slices.Max(terms[:]))
							count++
						}
					}
					v := sum / float64(count)
					if largest {
						v = top
					}
					setNumber(y, i, v)
				})
				mode := "avg"
				if largest {
					mode = "max"
				}
				list := attrs("mode", mode, "output_height", 2, "output_width", 3, "sampling_ratio", ratio, "spatial_scale", 0.5)
				switch {
				case half:
					s.add(Case{Op: "RoiAlign", Version: 16, Attrs: list, In: in(x, rois, batch), Want: want(y), Ulps: 16})
				default:
					s.add(Case{Op: "RoiAlign", Version: 10, Until: 16, Attrs: list, In: in(x, rois, batch), Want: want(y), Ulps: 16})
					list = append(list, attrs("coordinate_transformation_mode", "output_half_pixel")...)
					s.add(Case{Op: "RoiAlign", Version: 16, Attrs: list, In: in(x, rois, batch), Want: want(y), Ulps: 16})
				}
			}
		}
	}
	s.add(Case{Op: "RoiAlign", Version: 10, Note: "batch", In: in(x, rois, ints(0, 2, 1)), Fails: graph.ErrShape})
	s.add(Case{Op: "RoiAlign", Version: 10, Note: "huge", In: in(x, seen(vector(d, 0, 0, 3e4, math.Inf(1)), 1, 4), ints(0)), Fails: graph.ErrShape})
}

func maxRoiPoolCases(s *suite, d tensor.DType) {
	x := s.any(d, 2, 3, 6, 7)
	rois := seen(vector(d, 0, 0, 0, 12, 8, 1, 5, 2, 9, 11, 1, 4, 4, 4, 4, 0, 30, 30, 40, 40), 4, 5)
	y := tensor.New(d, 4, 3, 2, 3)
	each(y.Shape(), func(i int, at []int) {
		roi := at[0] * 5
		in := func(axis, bin, bins, pixel int) bool {
			from := math.Round(number(rois, roi+1+axis) * 0.5)
			size := math.Max(math.Round(number(rois, roi+3+axis)*0.5)-from+1, 1) / float64(bins)
			return float64(pixel) >= math.Floor(float64(bin)*size)+from && float64(pixel) < math.Ceil(float64(bin+1)*size)+from
		}
		top := math.Inf(-1)
		each(tensor.Shape{6, 7}, func(p int, pixel []int) {
			if in(1, at[2], 2, pixel[0]) && in(0, at[3], 3, pixel[1]) {
				top = math.Max(top, number(x, flat(x.Shape(), int(number(rois, roi)), at[1], pixel[0], pixel[1])))
			}
		})
		if math.IsInf(top, -1) {
			top = 0
		}
		setNumber(y, i, top)
	})
	s.add(Case{Op: "MaxRoiPool", Version: 1, Attrs: attrs("pooled_shape", []int{2, 3}, "spatial_scale", 0.5), In: in(x, rois), Want: want(y)})
	s.add(Case{Op: "MaxRoiPool", Version: 1, Note: "batch", Attrs: attrs("pooled_shape", []int{1, 1}), In: in(x, seen(vector(d, 2, 0, 0, 1, 1), 1, 5)), Fails: graph.ErrShape})
}

func gridSampleCases(s *suite, d tensor.DType) {
	for _, mode := range []string{"linear", "nearest", "cubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for corners := range 2 {
				if d.IsInteger() && mode != "nearest" {
					continue // rounding decides which whole number a sum is cut to
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

func gridCase(s *suite, d tensor.DType, version int, mode, padding string, corners int, space, places []int) {
	r := len(space)
	x := s.any(d, slices.Concat([]int{2, 2}, space)...)
	grid := s.between(tensor.F32, -1.7, 1.7, slices.Concat([]int{2}, places, []int{r})...)
	y := tensor.New(d, slices.Concat([]int{2, 2}, places)...)
	each(y.Shape(), func(i int, at []int) {
		place := flat(slices.Concat([]int{2}, places), slices.Concat(at[:1], at[2:])...) * r
		v := sampled(func(pixel []int) float64 { return number(x, flat(x.Shape(), slices.Concat(at[:2], pixel)...)) },
			nil, space, func(a int) float64 { return number(grid, place+r-1-a) }, mode, padding, corners == 1)
		if d == tensor.Bool {
			v = truth(v != 0)
		}
		setNumber(y, i, v)
	})
	list := attrs("mode", mode, "padding_mode", padding, "align_corners", corners)
	s.add(Case{Op: "GridSample", Version: 20, Attrs: list, In: in(x, grid), Want: want(y), Ulps: 32})
	if version < 20 {
		old := map[string]string{"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}[mode]
		s.add(Case{Op: "GridSample", Version: version, Until: 20, Attrs: append(attrs("mode", old), list[1:]...), In: in(x, grid), Want: want(y), Ulps: 32})
	}
}

// sampled interpolates along one axis after the other; pixel is the index along
// the axes before.
func sampled(at func(pixel []int) float64, pixel, space []int, place func(a int) float64, mode, padding string, corners bool) float64 {
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
			p = math.Max(0, math.Min(p, n-1))
		case "reflection":
			p = fold(p)
		}
	}
	sum := 0.0
	for i := int(math.Floor(p)) - 2; i <= int(math.Floor(p))+3; i++ {
		part := 0.0
		switch t := math.Abs(p - float64(i)); {
		case mode == "nearest":
			part = truth(t == 0)
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

func affineGridCases(s *suite, d tensor.DType) {
	for _, space := range [][]int{{3, 4}, {2, 3, 1}} {
		for corners := range 2 {
			r := len(space)
			theta := s.any(d, 2, r, r+1)
			y := tensor.New(d, slices.Concat([]int{2}, space, []int{r})...)
			each(y.Shape(), func(i int, at []int) {
				row := (at[0]*r + at[r+1]) * (r + 1)
				sum := number(theta, row+r)
				for a, n := range space {
					p := (2*float64(at[1+a])+1)/float64(n) - 1
					if corners == 1 {
						p = -1 + 2*float64(at[1+a])/math.Max(float64(n-1), 1)
					}
					sum += number(theta, row+r-1-a) * p
				}
				setNumber(y, i, sum)
			})
			s.add(Case{Op: "AffineGrid", Version: 20, Attrs: attrs("align_corners", corners),
				In: in(theta, ints(slices.Concat([]int{2, 5}, space)...)), Want: want(y), Ulps: 8})
			s.add(Case{Op: "AffineGrid", Version: 20, Note: "batch", In: in(theta, ints(slices.Concat([]int{3, 5}, space)...)), Fails: graph.ErrShape})
		}
	}
}

func deformConvCases(s *suite, d tensor.DType) {
	for _, c := range windows() {
		if c.w.auto != "" || d != tensor.F32 && tensor.Shape(c.in).Len() > 50 || tensor.Shape(c.in).Len() > 130 {
			continue
		}
		deformConvCase(s, d, c.in, c.w, 1, 1)
		deformConvCase(s, d, c.in, c.w, 2, 2)
		deformConvCase(s, d, c.in, c.w, 1, 4)
		deformConvCase(s, d, c.in, c.w, 4, 2)
	}
}

func deformConvCase(s *suite, d tensor.DType, space []int, w window, group, fields int) {
	const channels, filters = 4, 8
	placed, out := w.over(space)
	r, kernel := len(space), tensor.Shape(w.kernel).Len()
	x := s.any(d, slices.Concat([]int{2, channels}, space)...)
	weights := s.any(d, slices.Concat([]int{filters, channels / group}, w.kernel)...)
	offsets := s.any(d, slices.Concat([]int{2, fields * kernel * r}, out)...)
	bias, masks := s.any(d, filters), s.any(d, slices.Concat([]int{2, fields * kernel}, out)...)
	y, plain := tensor.New(d, slices.Concat([]int{2, filters}, out)...), tensor.New(d, slices.Concat([]int{2, filters}, out)...)
	each(y.Shape(), func(i int, at []int) {
		sum, sumPlain := 0.0, 0.0
		for ch := range channels / group {
			in := at[1]/(filters/group)*(channels/group) + ch
			field := in / (channels / fields)
			placed.visit(at[2:], func(k, pixel []int) {
				e := flat(w.kernel, k...)
				place := func(a int) float64 {
					row := (field*kernel+e)*r + a
					return float64(pixel[a]) + number(offsets, flat(offsets.Shape(), slices.Concat([]int{at[0], row}, at[2:])...))
				}
				v := blended(func(p []int) float64 { return number(x, flat(x.Shape(), slices.Concat([]int{at[0], in}, p)...)) }, nil, space, place)
				v *= number(weights, flat(weights.Shape(), slices.Concat([]int{at[1], ch}, k)...))
				sumPlain += v
				sum += v * number(masks, flat(masks.Shape(), slices.Concat([]int{at[0], field*kernel + e}, at[2:])...))
			})
		}
		setNumber(y, i, sum+number(bias, at[1]))
		setNumber(plain, i, sumPlain)
	})
	list := attrs("strides", w.stride, "dilations", w.dilation, "pads", slices.Concat(w.before, w.after), "group", group, "offset_group", fields)
	s.add(Case{Op: "DeformConv", Version: 19, Attrs: list, In: in(x, weights, offsets, bias, masks), Want: want(y), Ulps: 128})
	s.add(Case{Op: "DeformConv", Version: 19, Attrs: list, In: in(x, weights, offsets), Want: want(plain), Ulps: 128})
	if r > 1 {
		s.add(Case{Op: "DeformConv", Version: 19, Note: "offsets", Attrs: list, In: in(x, weights, masks), Fails: graph.ErrShape})
	}
}

// blended reads between pixels; those outside are 0.
func blended(at func(pixel []int) float64, pixel, space []int, place func(a int) float64) float64 {
	a := len(pixel)
	if a == len(space) {
		return at(pixel)
	}
	sum := 0.0
	for i := range space[a] {
		if part := 1 - math.Abs(place(a)-float64(i)); part > 0 {
			sum += part * blended(at, append(slices.Clone(pixel), i), space, place)
		}
	}
	return sum
}
