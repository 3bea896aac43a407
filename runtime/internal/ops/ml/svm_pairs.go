package ml

import "math"

// svmPairs holds the results for one sample while pairs of classes are compared.
type svmPairs struct {
	*SVMClassifier
	classes     int
	parts       []float64   // [classes-1,classes]: sums over the vectors of a class
	scores      []float64   // per pair
	votes       []int       // per class
	r, q        [][]float64 // for probabilities: one per pair, and the matrix of the method
	p, products []float64
}

func newSVMPairs(o *SVMClassifier) *svmPairs {
	n := o.labels.count()
	s := &svmPairs{SVMClassifier: o, classes: n, parts: make([]float64, (n-1)*n), scores: make([]float64, n*(n-1)/2),
		votes: make([]int, n)}
	if len(o.probA) > 0 {
		s.p, s.products = make([]float64, n), make([]float64, n)
		for range n {
			s.r, s.q = append(s.r, make([]float64, n)), append(s.q, make([]float64, n))
		}
	}
	return s
}

// decide scores every pair of classes and returns the class with the most votes, and the first of
// equals. A score above 0 is a vote for the first of the pair. Row j of the coefficients weights
// the vectors of class i against class j, or class j+1 if j >= i.
func (s *svmPairs) decide(compared []float32) int {
	at, count := 0, len(compared)
	for class, n := range s.perClass {
		for j := range s.classes - 1 {
			sum := 0.0
			for k, w := range s.coefficients[j*count+at:][:n] {
				sum += float64(w) * float64(compared[at+k])
			}
			s.parts[j*s.classes+class] = sum
		}
		at += n
	}
	clear(s.votes)
	pair := 0
	for i := range s.classes {
		for j := i + 1; j < s.classes; j++ {
			v := s.parts[(j-1)*s.classes+i] + s.parts[i*s.classes+j] + float64(s.rho[pair])
			s.scores[pair] = v
			if pair++; v > 0 {
				s.votes[i]++
			} else {
				s.votes[j]++
			}
		}
	}
	best := 0
	for i, v := range s.votes {
		if v > s.votes[best] {
			best = i
		}
	}
	return best
}

// put stores the scores of pairs, transformed, or the probabilities of classes in y.
func (s *svmPairs) put(y []float32) {
	list := s.scores
	switch {
	case len(s.probA) > 0:
		s.couple()
		list = s.p
		s.post.apply(list)
	case s.classes == 2:
		a, b := s.post.pair(list[0], s.post == transformNone)
		y[0], y[1] = float32(a), float32(b)
		return
	default:
		s.post.apply(list)
	}
	for i, v := range list {
		y[i] = float32(v)
	}
}

// couple turns the scores of pairs into probabilities of classes. It maps each pair's score by a
// logistic function and combines them by the second method of T.-F. Wu, C.-J. Lin and R. C. Weng,
// "Probability estimates for multi-class classification by pairwise coupling", 2004.
func (s *svmPairs) couple() {
	const least = 1e-7
	pair := 0
	for i := range s.classes {
		for j := i + 1; j < s.classes; j++ {
			v := 1 - logistic(s.scores[pair]*float64(s.probA[pair])+float64(s.probB[pair]))
			s.r[i][j] = min(max(v, least), 1-least)
			s.r[j][i] = 1 - s.r[i][j]
			pair++
		}
	}
	for i, q := range s.q {
		s.p[i] = 1 / float64(s.classes)
		q[i] = 0
		for j := range q {
			if j != i {
				q[i] += s.r[j][i] * s.r[j][i]
				q[j] = -s.r[j][i] * s.r[i][j]
			}
		}
	}
	const rounds = 100
	for range rounds {
		if s.improve() {
			return
		}
	}
}

// improve takes one step towards the probabilities. It reports whether they had converged already.
func (s *svmPairs) improve() bool {
	whole, worst := 0.0, 0.0
	for i, q := range s.q {
		s.products[i] = 0
		for j, v := range q {
			s.products[i] += v * s.p[j]
		}
		whole += s.p[i] * s.products[i]
	}
	for _, v := range s.products {
		worst = max(worst, math.Abs(v-whole))
	}
	if worst < 0.005/float64(s.classes) {
		return true
	}
	for i, q := range s.q {
		d := (whole - s.products[i]) / q[i]
		s.p[i] += d
		whole = (whole + d*(d*q[i]+2*s.products[i])) / (1 + d) / (1 + d)
		for j := range q {
			s.products[j] = (s.products[j] + d*q[j]) / (1 + d)
			s.p[j] /= 1 + d
		}
	}
	return false
}
