package ml

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var transforms = []string{"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"}

// postTransformed applies a post_transform to the scores of a sample.
func postTransformed(name string, s []float64) []float64 {
	out := slices.Clone(s)
	var sum float64
	switch name {
	case "LOGISTIC":
		for i, v := range s {
			out[i] = math.Exp(v) / (math.Exp(v) + 1)
		}
	case "PROBIT":
		for i, v := range s {
			out[i] = quantile(v)
		}
	case "SOFTMAX":
		for i, v := range s {
			out[i] = math.Exp(v)
			sum += out[i]
		}
	case "SOFTMAX_ZERO":
		for i, v := range s {
			if v == 0 {
				out[i] = 0
				continue
			}
			out[i] = math.Exp(v)
			sum += out[i]
		}
	}
	if sum > 0 {
		for i := range out {
			out[i] /= sum
		}
	}
	return out
}

// quantile is the domain's approximation of the inverse normal distribution: with w = ln(1 -
// (2p-1)^2), ±sqrt(2) times the root of sqrt((2/(πa) + w/2)^2 - w/a) - (2/(πa) + w/2).
func quantile(p float64) float64 {
	y := 2*p - 1
	w := math.Log(1 - y*y)
	h := 2/(math.Pi*0.147) + w/2
	r := math.Sqrt2 * math.Sqrt(math.Sqrt(h*h-w/0.147)-h)
	if y < 0 {
		return -r
	}
	return r
}

// both returns the scores of two classes from the only score, of the second class.
func both(name string, s float64, mirrored bool) []float64 {
	switch {
	case name == "LOGISTIC":
		return postTransformed(name, []float64{-s, s})
	case name == "PROBIT":
		return postTransformed(name, []float64{1 - s, s})
	case mirrored:
		return []float64{-s, s}
	}
	return []float64{1 - s, s}
}

// listed returns the elements of a float32 tensor as attributes hold them.
func listed(t *tensor.Tensor) []float64 { return cases.Numbers(t) }

func dotted(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// classified returns labels and scores of samples. scores returns the scores of a row and its
// class.
func classified(l any, rows, n int, scores func(r int) ([]float64, int)) []*tensor.Tensor {
	y, z := tensor.New(tensor.I64, rows), tensor.New(tensor.F32, rows, n)
	if _, ok := l.([]string); ok {
		y = tensor.New(tensor.String, rows)
	}
	for r := range rows {
		list, class := scores(r)
		switch l := l.(type) {
		case []string:
			y.Strings()[r] = l[class]
		case []int:
			tensor.View[int64](y)[r] = int64(l[class])
		}
		for i, v := range list {
			cases.SetNumber(z, r*n+i, v)
		}
	}
	return cases.Want(y, z)
}

func best(list []float64) int { return slices.Index(list, slices.Max(list)) }

// sample returns matrix row r of x, or a vector x, rounded to float32.
func sample(x *tensor.Tensor, r int) []float64 {
	n := x.Shape()[len(x.Shape())-1]
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(cases.Number(x, r*n+i)))
	}
	return list
}

func linearModels(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct{ rows, features, scores int }{{5, 3, 1}, {4, 7, 2}, {33, 20, 17}, {0, 3, 2}, {1, 1, 3}} {
		x := s.Any(d, c.rows, c.features)
		weights, bias := listed(s.Between(tensor.F32, -1, 1, c.scores*c.features)),
			listed(s.Between(tensor.F32, 0, 0.5, c.scores))
		scores := func(r int, bias []float64) []float64 {
			list := make([]float64, c.scores)
			for i := range list {
				list[i] = dotted(sample(x, r), weights[i*c.features:])
				if bias != nil {
					list[i] += bias[i]
				}
			}
			return list
		}
		for _, post := range transforms {
			ulps := 64.0
			if post == "PROBIT" {
				ulps = 3e5 // steep at its ends
			}
			a := cases.Attrs("targets", c.scores, "coefficients", weights, "post_transform", post)
			for _, b := range [][]float64{nil, bias} {
				y := tensor.New(tensor.F32, c.rows, c.scores)
				for r := range c.rows {
					for i, v := range postTransformed(post, scores(r, b)) {
						cases.SetNumber(y, r*c.scores+i, v)
					}
				}
				if b != nil {
					a = append(a, cases.Attrs("intercepts", b)...)
				}
				s.Add(cases.Case{Domain: domain, Op: "LinearRegressor", Version: 1, Note: fmt.Sprint(c, post), Attrs: a,
					In: cases.In(x), Want: cases.Want(y), Ulps: ulps})
			}
			l := make([]int, c.scores)
			for i := range l {
				l[i] = 7 - 3*i
			}
			a = cases.Attrs("classlabels_ints", l, "coefficients", weights, "intercepts", bias, "post_transform", post)
			s.Add(cases.Case{Domain: domain, Op: "LinearClassifier", Version: 1, Note: fmt.Sprint(c, post), Attrs: a, In: cases.In(x), Ulps: ulps,
				Want: classified(l, c.rows, c.scores, func(r int) ([]float64, int) { list := scores(r, bias); return postTransformed(post, list), best(list) })})
			if c.scores != 1 {
				continue
			}
			names := []string{"no", "yes"}
			a = cases.Attrs("classlabels_strings", names, "coefficients", weights, "intercepts", bias, "post_transform", post)
			s.Add(cases.Case{Domain: domain, Op: "LinearClassifier", Version: 1, Note: fmt.Sprint("two ", post), Attrs: a, In: cases.In(x), Ulps: ulps,
				Want: classified(names, c.rows, 2, func(r int) ([]float64, int) {
					v := scores(r, bias)[0]
					return both(post, v, false), int(cases.Truth(v > 0))
				})})
		}
	}
	one := cases.Vector(d, 1, 2)
	addCase(s, "LinearRegressor", 1, "vector", cases.Attrs("coefficients", []float64{1, 0.5}), cases.In(one),
		cases.Want(cases.FromNumbers(tensor.F32, []float64{2}, 1, 1)))
	addFailure(s, graph.ErrShape, "LinearRegressor", 1, "features", cases.Attrs("coefficients", []float64{1, 0.5, 2}),
		cases.In(one))
	addFailure(s, graph.ErrFormat, "LinearRegressor", 1, "rows",
		cases.Attrs("coefficients", []float64{1, 0.5, 2}, "targets", 2), cases.In(one))
	addFailure(s, graph.ErrFormat, "LinearRegressor", 1, "no rows",
		cases.Attrs("coefficients", []float64{1, 0.5}, "targets", 0), cases.In(one))
	addFailure(s, graph.ErrFormat, "LinearRegressor", 1, "intercepts",
		cases.Attrs("coefficients", []float64{1, 0.5}, "intercepts", []float64{1, 2}), cases.In(one))
	addFailure(s, graph.ErrFormat, "LinearRegressor", 1, "transform",
		cases.Attrs("coefficients", []float64{1, 0.5}, "post_transform", "SIGMOID"), cases.In(one))
	addCase(s, "LinearClassifier", 1, "no intercepts", cases.Attrs("coefficients", []float64{1, 0.5, 0, 2}, "classlabels_ints", []int{4, 5}), cases.In(one),
		cases.Want(cases.Ints(5), cases.FromNumbers(tensor.F32, []float64{2, 4}, 1, 2)))
	addFailure(s, graph.ErrFormat, "LinearClassifier", 1, "one label", cases.Attrs("coefficients",
		[]float64{1, 0.5, 0, 2}, "intercepts", []float64{0, 0}, "classlabels_ints", []int{4}), cases.In(one))
	addFailure(s, graph.ErrFormat, "LinearClassifier", 1, "no label",
		cases.Attrs("coefficients", []float64{1, 0.5}, "intercepts", []float64{0}), cases.In(one))
	addFailure(s, graph.ErrShape, "LinearClassifier", 1, "cube", cases.Attrs("coefficients", []float64{1, 0.5},
		"intercepts", []float64{0}, "classlabels_ints", []int{4}), cases.In(s.Any(d, 1, 2, 2)))
}
