package ml

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// compared computes a kernel of a support vector machine.
func compared(kind string, params, a, b []float64) float64 {
	gamma, coef0, degree := params[0], params[1], params[2]
	switch kind {
	case "POLY":
		return math.Pow(gamma*dotted(a, b)+coef0, degree)
	case "SIGMOID":
		return math.Tanh(gamma*dotted(a, b) + coef0)
	case "RBF":
		sum := 0.0
		for i, v := range a {
			sum += (v - b[i]) * (v - b[i])
		}
		return math.Exp(-gamma * sum)
	}
	return dotted(a, b)
}

// rounded32 rounds numbers to float32.
func rounded32(list ...float64) []float64 { return listed(cases.Vector(tensor.F32, list...)) }

func svmModels(s *cases.Suite, d tensor.DType) {
	for _, kind := range []string{"LINEAR", "POLY", "RBF", "SIGMOID"} {
		for _, degree := range []float64{2, 3, 4} {
			if degree > 2 && (kind != "POLY" || d != tensor.F32) {
				continue
			}
			params := rounded32(0.3, 0.2, degree)
			svmRegressions(s, d, kind, params)
			for _, classes := range []int{2, 3, 5} {
				svmClassifications(s, d, kind, params, classes)
			}
		}
	}
	x := s.Any(d, 2, 3)
	for _, post := range transforms {
		weights := listed(s.Between(tensor.F32, -1, 1, 9))
		list := []int{4, 5, 6}
		s.Add(cases.Case{Domain: domain, Op: "SVMClassifier", Version: 1, Note: "scores " + post, In: cases.In(x), Ulps: 64,
			Attrs: cases.Attrs("classlabels_ints", list, "coefficients", weights, "rho", []float64{0.125}, "post_transform", post, "kernel_type", "RBF"),
			Want: classified(list, 2, 3, func(r int) ([]float64, int) {
				out := make([]float64, 3)
				for i := range out {
					out[i] = dotted(sample(x, r), weights[3*i:]) + 0.125
				}
				return postTransformed(post, out), best(out)
			})})
	}
	small := cases.Vector(d, 1, 2)
	two := func(weights ...float64) cases.AttrList {
		return cases.Attrs("classlabels_ints", []int{4, 5}, "coefficients", weights, "rho", []float64{0})
	}
	addCase(s, "SVMClassifier", 1, "the second of two", two(1, 0.5, 0.5, -0.25), cases.In(small),
		cases.Want(cases.Ints(5), cases.FromNumbers(tensor.F32, []float64{2, 0}, 1, 2)))
	addCase(s, "SVMClassifier", 1, "none of two", two(-1, 0.5, -2, 0.25), cases.In(small),
		cases.Want(cases.Ints(4), cases.FromNumbers(tensor.F32, []float64{0, -1.5}, 1, 2)))
	addCase(s, "SVMClassifier", 1, "low of two", two(0.125, 0.125, 0, 0.125), cases.In(small),
		cases.Want(cases.Ints(4), cases.FromNumbers(tensor.F32, []float64{0.375, 0.25}, 1, 2)))
	addCase(s, "SVMRegressor", 1, "linear", cases.Attrs("coefficients", []float64{0.5, -2}, "rho", []float64{1}),
		cases.In(small), cases.Want(cases.FromNumbers(tensor.F32, []float64{-2.5}, 1, 1)))
	machine := func(more ...any) cases.AttrList {
		list := cases.Attrs("classlabels_ints", []int{4, 5}, "support_vectors", []float64{1, 2, 3, 4}, "kernel_params",
			[]float64{1, 0, 1})
		return append(list, cases.Attrs(more...)...)
	}
	for note, list := range map[string]cases.AttrList{
		"rho":           machine("coefficients", []float64{1, -1}, "rho", []float64{1, 2}, "vectors_per_class", []int{1, 1}),
		"no rho":        cases.Attrs("classlabels_ints", []int{4, 5}, "coefficients", []float64{1, -1}),
		"coefficients":  machine("coefficients", []float64{1, -1, 3}, "rho", []float64{1}, "vectors_per_class", []int{1, 1}),
		"vectors":       machine("coefficients", []float64{1, -1, 1}, "rho", []float64{1}, "vectors_per_class", []int{1, 2}),
		"negative":      machine("coefficients", []float64{1, -1}, "rho", []float64{1}, "vectors_per_class", []int{3, -1}),
		"classes":       machine("coefficients", []float64{1, -1}, "rho", []float64{1}, "vectors_per_class", []int{2}),
		"probabilities": machine("coefficients", []float64{1, -1}, "rho", []float64{1}, "vectors_per_class", []int{1, 1}, "prob_a", []float64{1}),
		"parameters":    append(machine("coefficients", []float64{1, -1}, "rho", []float64{1}, "vectors_per_class", []int{1, 1})[:2:2], cases.Attrs("coefficients", []float64{1, -1}, "rho", []float64{1}, "vectors_per_class", []int{1, 1}, "kernel_params", []float64{1})...),
		"kind":          machine("coefficients", []float64{1, -1}, "rho", []float64{1}, "vectors_per_class", []int{1, 1}, "kernel_type", "COSINE"),
	} {
		addFailure(s, graph.ErrFormat, "SVMClassifier", 1, note, list, cases.In(small))
	}
	addFailure(s, graph.ErrFormat, "SVMRegressor", 1, "no rho", cases.Attrs("coefficients", []float64{0.5, -2}),
		cases.In(small))
	addFailure(s, graph.ErrFormat, "SVMRegressor", 1, "supports", cases.Attrs("coefficients", []float64{0.5}, "rho",
		[]float64{1}, "n_supports", 2, "support_vectors", []float64{1, 2, 3, 4}), cases.In(small))
	addFailure(s, graph.ErrFormat, "SVMRegressor", 1, "too many supports", cases.Attrs("coefficients", []float64{0.5},
		"rho", []float64{1}, "n_supports", cases.Huge, "support_vectors", []float64{1, 2, 3, 4}), cases.In(small))
}

func svmRegressions(s *cases.Suite, d tensor.DType, kind string, params []float64) {
	for _, c := range []struct{ rows, features, vectors int }{{4, 3, 5}, {1, 1, 1}, {9, 17, 40}, {0, 2, 2}} {
		x := s.Any(d, c.rows, c.features)
		vectors, weights := listed(s.Between(tensor.F32, -1, 1, c.vectors*c.features)),
			listed(s.Between(tensor.F32, -1, 1, c.vectors))
		for _, post := range transforms {
			for _, one := range []int{0, 1} {
				if one == 1 && post != "NONE" || d != tensor.F32 && post != "LOGISTIC" {
					continue
				}
				y := tensor.New(tensor.F32, c.rows, 1)
				for r := range c.rows {
					sum := 0.5
					for v, w := range weights {
						sum += w * compared(kind, params, sample(x, r), vectors[v*c.features:])
					}
					if one == 1 {
						sum = 2*cases.Truth(sum > 0) - 1
					}
					cases.SetNumber(y, r, postTransformed(post, []float64{sum})[0])
				}
				ulps := 1e4 // of 1: comparisons reach thousands and cancel
				if post == "PROBIT" && kind != "RBF" {
					continue // the scores have no quantiles
				}
				s.Add(cases.Case{Domain: domain, Op: "SVMRegressor", Version: 1, Note: fmt.Sprint(kind, c, post, one), In: cases.In(x), Want: cases.Want(y), Ulps: ulps,
					Attrs: cases.Attrs("n_supports", c.vectors, "support_vectors", vectors, "coefficients", weights, "rho", []float64{0.5},
						"kernel_type", kind, "kernel_params", params, "post_transform", post, "one_class", one)})
			}
		}
	}
}

func svmClassifications(s *cases.Suite, d tensor.DType, kind string, params []float64, classes int) {
	const rows, features = 6, 4
	x := s.Between(d, -1, 1, rows, features)
	perClass, first, count := make([]int, classes), make([]int, classes), 0
	for i := range perClass {
		perClass[i], first[i] = 1+s.IntN(4), count
		count += perClass[i]
	}
	pairs := classes * (classes - 1) / 2
	vectors, weights := listed(s.Between(tensor.F32, -1, 1, count*features)),
		listed(s.Between(tensor.F32, -1, 1, (classes-1)*count))
	rho := listed(s.Between(tensor.F32, -0.2, 0.2, pairs))
	probA, probB := listed(s.Between(tensor.F32, -2, -0.5, pairs)), listed(s.Between(tensor.F32, -0.5, 0.5, pairs))
	l := make([]string, classes)
	for i := range l {
		l[i] = fmt.Sprint("class ", i)
	}
	// decide returns the score of every pair and the class with the most votes.
	decide := func(r int) ([]float64, int) {
		k := make([]float64, count)
		for v := range k {
			k[v] = compared(kind, params, sample(x, r), vectors[v*features:])
		}
		part := func(row, class int) (sum float64) {
			for v := first[class]; v < first[class]+perClass[class]; v++ {
				sum += weights[row*count+v] * k[v]
			}
			return sum
		}
		var scores []float64
		votes := make([]float64, classes)
		for i := range classes {
			for j := i + 1; j < classes; j++ {
				v := part(j-1, i) + part(i, j) + rho[len(scores)]
				scores = append(scores, v)
				votes[[]int{j, i}[int(cases.Truth(v > 0))]]++
			}
		}
		return scores, best(votes)
	}
	base := cases.Attrs("classlabels_strings", l, "support_vectors", vectors, "vectors_per_class", perClass, "coefficients", weights, "rho", rho,
		"kernel_type", kind, "kernel_params", params)
	for _, post := range transforms {
		if post == "PROBIT" || post != "NONE" && d != tensor.F32 {
			continue // scores have no quantiles; probabilities follow
		}
		n := pairs
		if classes == 2 {
			n = 2
		}
		s.Add(cases.Case{Domain: domain, Op: "SVMClassifier", Version: 1, Note: fmt.Sprint(kind, classes, post), In: cases.In(x), Ulps: 1e3,
			Attrs: append(base[:len(base):len(base)], cases.Attrs("post_transform", post)...),
			Want: classified(l, rows, n, func(r int) ([]float64, int) {
				scores, class := decide(r)
				if classes == 2 {
					return both(post, scores[0], post == "NONE"), class
				}
				return postTransformed(post, scores), class
			})})
	}
	for _, post := range transforms {
		if post != "NONE" && d != tensor.F32 {
			continue
		}
		ulps := 1e5 // the iteration stops when the probabilities are close enough
		if post == "PROBIT" {
			ulps = 1e6
		}
		s.Add(cases.Case{Domain: domain, Op: "SVMClassifier", Version: 1, Note: fmt.Sprint("probabilities ", kind, classes, post), In: cases.In(x), Ulps: ulps,
			Attrs: append(base[:len(base):len(base)], cases.Attrs("post_transform", post, "prob_a", probA, "prob_b", probB)...),
			Want: classified(l, rows, classes, func(r int) ([]float64, int) {
				scores, class := decide(r)
				return postTransformed(post, coupled(scores, probA, probB, classes)), class
			})})
	}
}

// coupled returns the probabilities p that minimise the sum over pairs of (r_ji p_i - r_ij p_j)^2.
// It solves the linear system of the gradient.
func coupled(scores, a, b []float64, classes int) []float64 {
	r := make([][]float64, classes)
	for i := range r {
		r[i] = make([]float64, classes)
	}
	pair := 0
	for i := range classes {
		for j := i + 1; j < classes; j++ {
			r[i][j] = 1 / (1 + math.Exp(a[pair]*scores[pair]+b[pair]))
			r[j][i] = 1 - r[i][j]
			pair++
		}
	}
	// Q p = e·1 and the sum of p is 1: solve Q p = 1 and scale.
	m := make([][]float64, classes)
	for i := range m {
		m[i] = make([]float64, classes+1)
		m[i][classes] = 1
		for j := range classes {
			if j != i {
				m[i][i] += r[j][i] * r[j][i]
				m[i][j] = -r[j][i] * r[i][j]
			}
		}
	}
	if classes == 2 {
		return []float64{r[0][1], r[1][0]} // the system is singular
	}
	p := solved(m)
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// solved solves a linear system by Gauss-Jordan elimination.
func solved(m [][]float64) []float64 {
	n := len(m)
	for c := range n {
		top := c
		for r := c; r < n; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[top][c]) {
				top = r
			}
		}
		m[c], m[top] = m[top], m[c]
		for r := range n {
			if r != c {
				f := m[r][c] / m[c][c]
				for k := c; k <= n; k++ {
					m[r][k] -= f * m[c][k]
				}
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = m[i][n] / m[i][i]
	}
	return out
}
