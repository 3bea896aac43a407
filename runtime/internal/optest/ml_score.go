package optest

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var transforms = []string{"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"}

// postTransformed is what a post_transform makes of the scores of a sample.
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

// quantile is the approximation of the normal distribution's inverse that
// operators of the domain have: with w = ln(1 - (2p-1)^2), ±sqrt(2) times the root
// of sqrt((2/(πa) + w/2)^2 - w/a) - (2/(πa) + w/2).
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

// both is the scores of two classes of which only the second has one.
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

// listed are the elements of a float32 tensor, as attributes hold them.
func listed(t *tensor.Tensor) []float64 { return numbers(t) }

func dotted(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// classified is labels and scores of samples; scores gives those of a row and
// its class.
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
			setNumber(z, r*n+i, v)
		}
	}
	return want(y, z)
}

func best(list []float64) int { return slices.Index(list, slices.Max(list)) }

// row is the numbers of row r of a matrix, or of a vector, rounded to float32.
func sample(x *tensor.Tensor, r int) []float64 {
	n := x.Shape()[len(x.Shape())-1]
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(number(x, r*n+i)))
	}
	return list
}

func linearModels(s *suite, d tensor.DType) {
	for _, c := range []struct{ rows, features, scores int }{{5, 3, 1}, {4, 7, 2}, {33, 20, 17}, {0, 3, 2}, {1, 1, 3}} {
		x := s.any(d, c.rows, c.features)
		weights, bias := listed(s.between(tensor.F32, -1, 1, c.scores*c.features)), listed(s.between(tensor.F32, 0, 0.5, c.scores))
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
			a := attrs("targets", c.scores, "coefficients", weights, "post_transform", post)
			for _, b := range [][]float64{nil, bias} {
				y := tensor.New(tensor.F32, c.rows, c.scores)
				for r := range c.rows {
					for i, v := range postTransformed(post, scores(r, b)) {
						setNumber(y, r*c.scores+i, v)
					}
				}
				if b != nil {
					a = append(a, attrs("intercepts", b)...)
				}
				s.add(Case{Domain: mlDomain, Op: "LinearRegressor", Version: 1, Note: fmt.Sprint(c, post), Attrs: a, In: in(x), Want: want(y), Ulps: ulps})
			}
			l := make([]int, c.scores)
			for i := range l {
				l[i] = 7 - 3*i
			}
			a = attrs("classlabels_ints", l, "coefficients", weights, "intercepts", bias, "post_transform", post)
			s.add(Case{Domain: mlDomain, Op: "LinearClassifier", Version: 1, Note: fmt.Sprint(c, post), Attrs: a, In: in(x), Ulps: ulps,
				Want: classified(l, c.rows, c.scores, func(r int) ([]float64, int) { list := scores(r, bias); return postTransformed(post, list), best(list) })})
			if c.scores != 1 {
				continue
			}
			names := []string{"no", "yes"}
			a = attrs("classlabels_strings", names, "coefficients", weights, "intercepts", bias, "post_transform", post)
			s.add(Case{Domain: mlDomain, Op: "LinearClassifier", Version: 1, Note: fmt.Sprint("two ", post), Attrs: a, In: in(x), Ulps: ulps,
				Want: classified(names, c.rows, 2, func(r int) ([]float64, int) {
					v := scores(r, bias)[0]
					return both(post, v, false), int(truth(v > 0))
				})})
		}
	}
	one := vector(d, 1, 2)
	s.ml("LinearRegressor", 1, "vector", attrs("coefficients", []float64{1, 0.5}), in(one), want(fromNumbers(tensor.F32, []float64{2}, 1, 1)))
	s.mlFails(graph.ErrShape, "LinearRegressor", 1, "features", attrs("coefficients", []float64{1, 0.5, 2}), in(one))
	s.mlFails(graph.ErrFormat, "LinearRegressor", 1, "rows", attrs("coefficients", []float64{1, 0.5, 2}, "targets", 2), in(one))
	s.mlFails(graph.ErrFormat, "LinearRegressor", 1, "no rows", attrs("coefficients", []float64{1, 0.5}, "targets", 0), in(one))
	s.mlFails(graph.ErrFormat, "LinearRegressor", 1, "intercepts", attrs("coefficients", []float64{1, 0.5}, "intercepts", []float64{1, 2}), in(one))
	s.mlFails(graph.ErrFormat, "LinearRegressor", 1, "transform", attrs("coefficients", []float64{1, 0.5}, "post_transform", "SIGMOID"), in(one))
	s.ml("LinearClassifier", 1, "no intercepts", attrs("coefficients", []float64{1, 0.5, 0, 2}, "classlabels_ints", []int{4, 5}), in(one),
		want(ints(5), fromNumbers(tensor.F32, []float64{2, 4}, 1, 2)))
	s.mlFails(graph.ErrFormat, "LinearClassifier", 1, "one label", attrs("coefficients", []float64{1, 0.5, 0, 2}, "intercepts", []float64{0, 0}, "classlabels_ints", []int{4}), in(one))
	s.mlFails(graph.ErrFormat, "LinearClassifier", 1, "no label", attrs("coefficients", []float64{1, 0.5}, "intercepts", []float64{0}), in(one))
	s.mlFails(graph.ErrShape, "LinearClassifier", 1, "cube", attrs("coefficients", []float64{1, 0.5}, "intercepts", []float64{0}, "classlabels_ints", []int{4}), in(s.any(d, 1, 2, 2)))
}
