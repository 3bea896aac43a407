package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func normCases(s *suite) {
	for _, d := range floats {
		softmaxCases(s, d)
		lrnCases(s, d)
		lpNormCases(s, d)
		batchNormCases(s, d)
		groupNormCases(s, d)
		layerNormCases(s, d)
	}
	softmaxCase(s, tensor.F32, 13, 0, -1, []int{70, 1003})
	x := vector(tensor.F32, 1000, 1001, -1000, math.Inf(-1))
	s.add(Case{Op: "Softmax", Version: 13, Note: "far apart", In: in(x), Want: want(vector(tensor.F32, 1/(1+math.E), math.E/(1+math.E), 0, 0)), Ulps: 4})
}

// grouped replaces the elements that belong together, in row-major order, by f of
// them; key says which do.
func grouped(x *tensor.Tensor, key func(at []int) int, f func(list []float64) []float64) *tensor.Tensor {
	groups, places := map[int][]float64{}, map[int][]int{}
	each(x.Shape(), func(i int, at []int) {
		k := key(at)
		groups[k] = append(groups[k], number(x, i))
		places[k] = append(places[k], i)
	})
	y := tensor.New(x.DType(), x.Shape()...)
	for k, list := range groups {
		for j, v := range f(list) {
			setNumber(y, places[k][j], v)
		}
	}
	return y
}

// along groups the elements that differ only in one axis.
func along(shape tensor.Shape, axis int) func(at []int) int {
	return func(at []int) int { return flat(shape, with(at, axis, 0)...) }
}

// behind groups the elements that differ only in the axes from one on.
func behind(shape tensor.Shape, axis int) func(at []int) int {
	return func(at []int) int { return flat(shape[:axis], at[:axis]...) }
}

func softmax(list []float64) []float64 {
	top, sum := slices.Max(list), 0.0
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = math.Exp(v - top)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func logSoftmax(list []float64) []float64 {
	out := softmax(list)
	top, sum := slices.Max(list), 0.0
	for _, v := range list {
		sum += math.Exp(v - top)
	}
	for i, v := range list {
		out[i] = v - top - math.Log(sum)
	}
	return out
}

func hardmax(list []float64) []float64 {
	out := make([]float64, len(list))
	out[slices.Index(list, slices.Max(list))] = 1
	return out
}

func softmaxCases(s *suite, d tensor.DType) {
	for _, axis := range []int{0, 1, -1} {
		softmaxCase(s, d, 1, 13, axis, []int{3, 4, 5})
		softmaxCase(s, d, 13, 0, axis, []int{3, 4, 5})
	}
	softmaxCase(s, d, 13, 0, 1, []int{2, 37})
	softmaxCase(s, d, 13, 0, 0, []int{37, 3})
}

func softmaxCase(s *suite, d tensor.DType, version, until, axis int, shape []int) {
	x := s.any(d, shape...)
	a := mod(axis, len(shape))
	key := along(x.Shape(), a)
	if version < 13 {
		key = behind(x.Shape(), a)
		if axis < 0 {
			version = 11
		}
	}
	for _, o := range []struct {
		name string
		f    func([]float64) []float64
	}{{"Softmax", softmax}, {"LogSoftmax", logSoftmax}, {"Hardmax", hardmax}} {
		s.add(Case{Op: o.name, Version: version, Until: until, Attrs: attrs("axis", axis), In: in(x), Want: want(grouped(x, key, o.f)), Ulps: 6})
	}
}

func lrnCases(s *suite, d tensor.DType) {
	for _, size := range []int{1, 3, 4, 20} {
		x := s.any(d, 2, 7, 3, 5)
		y := tensor.New(d, 2, 7, 3, 5)
		const alpha, beta, bias = 0.5, 0.75, 2.0
		each(x.Shape(), func(i int, at []int) {
			sum := 0.0
			for c := max(0, at[1]-(size-1)/2); c <= min(6, at[1]+size/2); c++ {
				v := number(x, flat(x.Shape(), with(at, 1, c)...))
				sum += v * v
			}
			setNumber(y, i, number(x, i)/math.Pow(bias+alpha/float64(size)*sum, beta))
		})
		s.add(Case{Op: "LRN", Version: 1, Attrs: attrs("size", size, "alpha", alpha, "beta", beta, "bias", bias), In: in(x), Want: want(y), Ulps: 8})
	}
}

func lpNormCases(s *suite, d tensor.DType) {
	x := s.any(d, 3, 7, 2)
	for axis := range 3 {
		for p := 1; p <= 2; p++ {
			y := grouped(x, along(x.Shape(), axis), func(list []float64) []float64 {
				sum := 0.0
				for _, v := range list {
					sum += math.Pow(math.Abs(v), float64(p))
				}
				for i := range list {
					list[i] /= math.Pow(sum, 1/float64(p))
				}
				return list
			})
			s.add(Case{Op: "LpNormalization", Version: 1, Attrs: attrs("axis", axis-3, "p", p), In: in(x), Want: want(y), Ulps: 8})
		}
	}
	x = s.any(d, 2, 3, 4, 5)
	y := grouped(x, func(at []int) int { return at[1] }, func(list []float64) []float64 {
		mean, variance := moments(list)
		for i, v := range list {
			list[i] = (v - mean) / (math.Sqrt(variance) + 1e-9)
		}
		return list
	})
	s.add(Case{Op: "MeanVarianceNormalization", Version: 9, In: in(x), Want: want(y), Ulps: 16})
}

// moments are the mean and the variance.
func moments(list []float64) (mean, variance float64) {
	for _, v := range list {
		mean += v
	}
	mean /= float64(len(list))
	for _, v := range list {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(list))
}

func standardized(list []float64, epsilon float64) []float64 {
	mean, variance := moments(list)
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = (v - mean) / math.Sqrt(variance+epsilon)
	}
	return out
}

// scaled is x·scale + bias with one of each per index that of returns.
func scaled(x, scale, bias *tensor.Tensor, of func(at []int) int) *tensor.Tensor {
	y := tensor.New(x.DType(), x.Shape()...)
	each(x.Shape(), func(i int, at []int) {
		v := number(x, i) * number(scale, of(at))
		if bias != nil {
			v += number(bias, of(at))
		}
		setNumber(y, i, v)
	})
	return y
}

func channel(at []int) int { return at[1] }

// wide is x with elements of type float64.
func wide(x *tensor.Tensor) *tensor.Tensor {
	return fromNumbers(tensor.F64, numbers(x), x.Shape()...)
}

func narrow(d tensor.DType, x *tensor.Tensor) *tensor.Tensor {
	return fromNumbers(d, numbers(x), x.Shape()...)
}

func batchNormCases(s *suite, d tensor.DType) {
	for _, shape := range [][]int{{2, 5, 3, 7}, {3, 5}, {1, 5, 19}} {
		x, scale, bias := s.any(d, shape...), s.any(d, 5), s.any(d, 5)
		mean, variance := s.any(d, 5), s.between(d, 0.5, 2, 5)
		y := tensor.New(d, shape...)
		each(x.Shape(), func(i int, at []int) {
			c := at[1]
			setNumber(y, i, (number(x, i)-number(mean, c))/math.Sqrt(number(variance, c)+0.5)*number(scale, c)+number(bias, c))
		})
		list := in(x, scale, bias, mean, variance)
		s.add(Case{Op: "BatchNormalization", Version: 7, Attrs: attrs("epsilon", 0.5), In: list, Want: want(y), Ulps: 16})
		s.add(Case{Op: "BatchNormalization", Version: 6, Until: 7, Attrs: attrs("epsilon", 0.5, "is_test", 1), In: list, Want: want(y), Ulps: 16})
		s.add(Case{Op: "BatchNormalization", Version: 1, Until: 6, Attrs: attrs("epsilon", 0.5, "is_test", 1, "consumed_inputs", []int{0, 0, 0, 1, 1}),
			In: list, Want: want(y), Ulps: 16})
		trainedBatchNorm(s, d, list)
	}
}

// trainedBatchNorm is BatchNormalization with statistics of the batch, which
// update the running ones.
func trainedBatchNorm(s *suite, d tensor.DType, list []*tensor.Tensor) {
	x, scale, bias := list[0], list[1], list[2]
	y := grouped(wide(x), channel, func(l []float64) []float64 { return standardized(l, 0.5) })
	means, variances := tensor.New(d, 5), tensor.New(d, 5)
	for c := range 5 {
		var l []float64
		each(x.Shape(), func(i int, at []int) {
			if at[1] == c {
				l = append(l, number(x, i))
			}
		})
		mean, variance := moments(l)
		setNumber(means, c, number(list[3], c)*0.75+mean*0.25)
		setNumber(variances, c, number(list[4], c)*0.75+variance*0.25)
	}
	s.add(Case{Op: "BatchNormalization", Version: 14, Note: "training", Attrs: attrs("epsilon", 0.5, "momentum", 0.75, "training_mode", 1), In: list,
		Want: want(narrow(d, scaled(y, scale, bias, channel)), means, variances), Ulps: 16})
}

func groupNormCases(s *suite, d tensor.DType) {
	for _, shape := range [][]int{{2, 6, 3, 5}, {1, 6, 37}} {
		x, scale, bias := s.any(d, shape...), s.any(d, 6), s.any(d, 6)
		y := grouped(wide(x), behind(x.Shape(), 2), func(l []float64) []float64 { return standardized(l, 0.5) })
		s.add(Case{Op: "InstanceNormalization", Version: 1, Attrs: attrs("epsilon", 0.5), In: in(x, scale, bias),
			Want: want(narrow(d, scaled(y, scale, bias, channel))), Ulps: 16})
		y = grouped(wide(x), func(at []int) int { return at[0]*3 + at[1]/2 }, func(l []float64) []float64 { return standardized(l, 0.5) })
		a := attrs("epsilon", 0.5, "num_groups", 3)
		s.add(Case{Op: "GroupNormalization", Version: 21, Attrs: a, In: in(x, scale, bias), Want: want(narrow(d, scaled(y, scale, bias, channel))), Ulps: 16})
		scale, bias = s.any(d, 3), s.any(d, 3)
		s.add(Case{Op: "GroupNormalization", Version: 18, Until: 21, Attrs: a, In: in(x, scale, bias),
			Want: want(narrow(d, scaled(y, scale, bias, func(at []int) int { return at[1] / 2 }))), Ulps: 16})
	}
}

func layerNormCases(s *suite, d tensor.DType) {
	for _, c := range []struct {
		shape []int
		axis  int
	}{{[]int{3, 37}, -1}, {[]int{2, 3, 4, 5}, 2}, {[]int{2, 3}, 0}, {[]int{5, 64}, 1}} {
		x := s.any(d, c.shape...)
		axis := mod(c.axis, len(c.shape))
		scale, bias := s.any(d, c.shape[axis:]...), s.any(d, c.shape[axis:]...)
		inner := func(at []int) int { return flat(x.Shape()[axis:], at[axis:]...) }
		y := grouped(wide(x), behind(x.Shape(), axis), func(l []float64) []float64 { return standardized(l, 0.5) })
		a := attrs("axis", c.axis, "epsilon", 0.5)
		s.add(Case{Op: "LayerNormalization", Version: 1, Attrs: a, In: in(x, scale, bias), Want: want(narrow(d, scaled(y, scale, bias, inner))), Ulps: 16})
		plain := narrow(d, scaled(y, scale, nil, inner))
		s.add(Case{Op: "LayerNormalization", Version: 1, Note: "no bias", Attrs: a, In: in(x, scale), Want: want(plain), Ulps: 16})
		if d == tensor.F32 {
			kept := slices.Clone(x.Shape())
			for i := axis; i < len(kept); i++ {
				kept[i] = 1
			}
			var axes []int
			for i := axis; i < len(kept); i++ {
				axes = append(axes, i)
			}
			mean := reduced(x, axes, true, func(l []float64) float64 { m, _ := moments(l); return m })
			inv := reduced(x, axes, true, func(l []float64) float64 { _, v := moments(l); return 1 / math.Sqrt(v+0.5) })
			s.add(Case{Op: "LayerNormalization", Version: 1, Note: "statistics", Attrs: a, In: in(x, scale), Want: want(plain, mean, inv), Ulps: 16})
		}
		y = grouped(wide(x), behind(x.Shape(), axis), func(l []float64) []float64 {
			sum := 0.0
			for _, v := range l {
				sum += v * v
			}
			for i := range l {
				l[i] /= math.Sqrt(sum/float64(len(l)) + 0.5)
			}
			return l
		})
		s.add(Case{Op: "RMSNormalization", Version: 23, Attrs: a, In: in(x, scale), Want: want(narrow(d, scaled(y, scale, nil, inner))), Ulps: 16})
	}
}
