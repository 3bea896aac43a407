package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/arith"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func normCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		softmaxCases(s, d)
		lrnCases(s, d)
		lpNormCases(s, d)
		batchNormCases(s, d)
		groupNormCases(s, d)
		layerNormCases(s, d)
	}
	softmaxCase(s, tensor.F32, 13, 0, -1, []int{70, 1003})
	x := cases.Vector(tensor.F32, 1000, 1001, -1000, math.Inf(-1))
	s.Add(cases.Case{Op: "Softmax", Version: 13, Note: "far apart", In: cases.In(x),
		Want: cases.Want(cases.Vector(tensor.F32, 1/(1+math.E), math.E/(1+math.E), 0, 0)), Ulps: 4})
}

// grouped replaces each group of elements, in row-major order, by f of them. key returns the group
// of an index.
func grouped(x *tensor.Tensor, key func(at []int) int, f func(list []float64) []float64) *tensor.Tensor {
	groups, places := map[int][]float64{}, map[int][]int{}
	cases.Each(x.Shape(), func(i int, at []int) {
		k := key(at)
		groups[k] = append(groups[k], cases.Number(x, i))
		places[k] = append(places[k], i)
	})
	y := tensor.New(x.DType(), x.Shape()...)
	for k, list := range groups {
		for j, v := range f(list) {
			cases.SetNumber(y, places[k][j], v)
		}
	}
	return y
}

// along groups the elements that differ only along one axis.
func along(shape tensor.Shape, axis int) func(at []int) int {
	return func(at []int) int { return cases.Flat(shape, cases.With(at, axis, 0)...) }
}

// behind groups the elements that differ only along the axes from axis on.
func behind(shape tensor.Shape, axis int) func(at []int) int {
	return func(at []int) int { return cases.Flat(shape[:axis], at[:axis]...) }
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

func softmaxCases(s *cases.Suite, d tensor.DType) {
	for _, axis := range []int{0, 1, -1} {
		softmaxCase(s, d, 1, 13, axis, []int{3, 4, 5})
		softmaxCase(s, d, 13, 0, axis, []int{3, 4, 5})
	}
	softmaxCase(s, d, 13, 0, 1, []int{2, 37})
	softmaxCase(s, d, 13, 0, 0, []int{37, 3})
}

func softmaxCase(s *cases.Suite, d tensor.DType, version, until, axis int, shape []int) {
	x := s.Any(d, shape...)
	a := cases.Mod(axis, len(shape))
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
		s.Add(cases.Case{Op: o.name, Version: version, Until: until, Attrs: cases.Attrs("axis", axis), In: cases.In(x),
			Want: cases.Want(grouped(x, key, o.f)), Ulps: 6})
	}
}

func lrnCases(s *cases.Suite, d tensor.DType) {
	for _, size := range []int{1, 3, 4, 20} {
		x := s.Any(d, 2, 7, 3, 5)
		y := tensor.New(d, 2, 7, 3, 5)
		const alpha, beta, bias = 0.5, 0.75, 2.0
		cases.Each(x.Shape(), func(i int, at []int) {
			sum := 0.0
			for c := max(0, at[1]-(size-1)/2); c <= min(6, at[1]+size/2); c++ {
				v := cases.Number(x, cases.Flat(x.Shape(), cases.With(at, 1, c)...))
				sum += v * v
			}
			cases.SetNumber(y, i, cases.Number(x, i)/math.Pow(bias+alpha/float64(size)*sum, beta))
		})
		s.Add(cases.Case{Op: "LRN", Version: 1, Attrs: cases.Attrs("size", size, "alpha", alpha, "beta", beta, "bias",
			bias), In: cases.In(x), Want: cases.Want(y), Ulps: 8})
	}
}

func lpNormCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 3, 7, 2)
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
			s.Add(cases.Case{Op: "LpNormalization", Version: 1, Attrs: cases.Attrs("axis", axis-3, "p", p), In: cases.In(x),
				Want: cases.Want(y), Ulps: 8})
		}
	}
	x = s.Any(d, 2, 3, 4, 5)
	y := grouped(x, func(at []int) int { return at[1] }, func(list []float64) []float64 {
		mean, variance := moments(list)
		for i, v := range list {
			list[i] = (v - mean) / (math.Sqrt(variance) + 1e-9)
		}
		return list
	})
	s.Add(cases.Case{Op: "MeanVarianceNormalization", Version: 9, In: cases.In(x), Want: cases.Want(y), Ulps: 16})
	flat := cases.Seen(x, 2, 3, 20)
	s.Add(cases.Case{Op: "MeanVarianceNormalization", Version: 9, Note: "three axes", In: cases.In(flat),
		Want: cases.Want(cases.Seen(y, 2, 3, 20)), Ulps: 16})
}

// moments returns the mean and the variance.
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

// scaled returns x·scale + bias. of returns the index of an element's scale and bias.
func scaled(x, scale, bias *tensor.Tensor, of func(at []int) int) *tensor.Tensor {
	y := tensor.New(x.DType(), x.Shape()...)
	cases.Each(x.Shape(), func(i int, at []int) {
		v := cases.Number(x, i) * cases.Number(scale, of(at))
		if bias != nil {
			v += cases.Number(bias, of(at))
		}
		cases.SetNumber(y, i, v)
	})
	return y
}

func channel(at []int) int { return at[1] }

func batchNormCases(s *cases.Suite, d tensor.DType) {
	for _, shape := range [][]int{{2, 5, 3, 7}, {3, 5}, {1, 5, 19}} {
		x, scale, bias := s.Any(d, shape...), s.Any(d, 5), s.Any(d, 5)
		mean, variance := s.Any(d, 5), s.Between(d, 0.5, 2, 5)
		y := tensor.New(d, shape...)
		cases.Each(x.Shape(), func(i int, at []int) {
			c := at[1]
			cases.SetNumber(y, i, (cases.Number(x, i)-cases.Number(mean, c))/math.Sqrt(cases.Number(variance,
				c)+0.5)*cases.Number(scale, c)+cases.Number(bias, c))
		})
		list := cases.In(x, scale, bias, mean, variance)
		s.Add(cases.Case{Op: "BatchNormalization", Version: 7, Attrs: cases.Attrs("epsilon", 0.5), In: list,
			Want: cases.Want(y), Ulps: 16})
		s.Add(cases.Case{Op: "BatchNormalization", Version: 6, Until: 7, Attrs: cases.Attrs("epsilon", 0.5, "is_test", 1),
			In: list, Want: cases.Want(y), Ulps: 16})
		s.Add(cases.Case{Op: "BatchNormalization", Version: 1, Until: 6, Attrs: cases.Attrs("epsilon", 0.5, "is_test", 1, "consumed_inputs", []int{0, 0, 0, 1, 1}),
			In: list, Want: cases.Want(y), Ulps: 16})
		trainedBatchNorm(s, d, list)
	}
}

// trainedBatchNorm adds BatchNormalization with statistics of the batch. It updates the running
// statistics.
func trainedBatchNorm(s *cases.Suite, d tensor.DType, list []*tensor.Tensor) {
	x, scale, bias := list[0], list[1], list[2]
	y := grouped(cases.Wide(x), channel, func(l []float64) []float64 { return standardized(l, 0.5) })
	means, variances := tensor.New(d, 5), tensor.New(d, 5)
	for c := range 5 {
		var l []float64
		cases.Each(x.Shape(), func(i int, at []int) {
			if at[1] == c {
				l = append(l, cases.Number(x, i))
			}
		})
		mean, variance := moments(l)
		cases.SetNumber(means, c, cases.Number(list[3], c)*0.75+mean*0.25)
		cases.SetNumber(variances, c, cases.Number(list[4], c)*0.75+variance*0.25)
	}
	s.Add(cases.Case{Op: "BatchNormalization", Version: 14, Note: "training", Attrs: cases.Attrs("epsilon", 0.5, "momentum", 0.75, "training_mode", 1), In: list,
		Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, channel)), means, variances), Ulps: 16})
}

func groupNormCases(s *cases.Suite, d tensor.DType) {
	for _, shape := range [][]int{{2, 6, 3, 5}, {1, 6, 37}} {
		x, scale, bias := s.Any(d, shape...), s.Any(d, 6), s.Any(d, 6)
		y := grouped(cases.Wide(x), behind(x.Shape(), 2), func(l []float64) []float64 { return standardized(l, 0.5) })
		s.Add(cases.Case{Op: "InstanceNormalization", Version: 1, Attrs: cases.Attrs("epsilon", 0.5), In: cases.In(x, scale, bias),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, channel))), Ulps: 16})
		y = grouped(cases.Wide(x), func(at []int) int { return at[0]*3 + at[1]/2 },
			func(l []float64) []float64 { return standardized(l, 0.5) })
		a := cases.Attrs("epsilon", 0.5, "num_groups", 3)
		s.Add(cases.Case{Op: "GroupNormalization", Version: 21, Attrs: a, In: cases.In(x, scale, bias),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, channel))), Ulps: 16})
		scale, bias = s.Any(d, 3), s.Any(d, 3)
		s.Add(cases.Case{Op: "GroupNormalization", Version: 18, Until: 21, Attrs: a, In: cases.In(x, scale, bias),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, func(at []int) int { return at[1] / 2 }))), Ulps: 16})
	}
}

func layerNormCases(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct {
		shape []int
		axis  int
	}{{[]int{3, 37}, -1}, {[]int{2, 3, 4, 5}, 2}, {[]int{2, 3}, 0}, {[]int{5, 64}, 1}} {
		x := s.Any(d, c.shape...)
		axis := cases.Mod(c.axis, len(c.shape))
		scale, bias := s.Any(d, c.shape[axis:]...), s.Any(d, c.shape[axis:]...)
		inner := func(at []int) int { return cases.Flat(x.Shape()[axis:], at[axis:]...) }
		y := grouped(cases.Wide(x), behind(x.Shape(), axis), func(l []float64) []float64 { return standardized(l, 0.5) })
		a := cases.Attrs("axis", c.axis, "epsilon", 0.5)
		s.Add(cases.Case{Op: "LayerNormalization", Version: 1, Attrs: a, In: cases.In(x, scale, bias),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, inner))), Ulps: 16})
		for _, of := range [][]int{c.shape[:axis], c.shape[max(0, axis-1):axis]} {
			rows := append(slices.Clone(of), slices.Repeat([]int{1}, len(c.shape)-axis)...)
			scale, bias := s.Any(d, rows...), s.Any(d, rows...)
			row := func(at []int) int { return cases.Flat(of, at[axis-len(of):axis]...) }
			s.Add(cases.Case{Op: "LayerNormalization", Version: 1, Note: "parameters of rows", Attrs: a, In: cases.In(x, scale, bias),
				Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, row))), Ulps: 16})
		}
		plain := cases.Narrow(d, scaled(y, scale, nil, inner))
		s.Add(cases.Case{Op: "LayerNormalization", Version: 1, Note: "no bias", Attrs: a, In: cases.In(x, scale),
			Want: cases.Want(plain), Ulps: 16})
		if d == tensor.F32 {
			kept := slices.Clone(x.Shape())
			for i := axis; i < len(kept); i++ {
				kept[i] = 1
			}
			var axes []int
			for i := axis; i < len(kept); i++ {
				axes = append(axes, i)
			}
			mean := arith.Reduced(x, axes, true, func(l []float64) float64 { m, _ := moments(l); return m })
			inv := arith.Reduced(x, axes, true, func(l []float64) float64 { _, v := moments(l); return 1 / math.Sqrt(v+0.5) })
			s.Add(cases.Case{Op: "LayerNormalization", Version: 1, Note: "statistics", Attrs: a, In: cases.In(x, scale),
				Want: cases.Want(plain, mean, inv), Ulps: 16})
		}
		y = grouped(cases.Wide(x), behind(x.Shape(), axis), func(l []float64) []float64 {
			sum := 0.0
			for _, v := range l {
				sum += v * v
			}
			for i := range l {
				l[i] /= math.Sqrt(sum/float64(len(l)) + 0.5)
			}
			return l
		})
		s.Add(cases.Case{Op: "RMSNormalization", Version: 23, Attrs: a, In: cases.In(x, scale),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, nil, inner))), Ulps: 16})
	}
}
