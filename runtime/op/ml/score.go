package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// postTransform names a function of the scores of one sample.
type postTransform uint8

const (
	transformNone postTransform = iota
	transformSoftmax
	transformLogistic
	transformSoftmaxZero
	transformProbit
)

// transformNames are in the order of the numbers that TreeEnsemble uses.
var transformNames = [...]string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}

// readPostTransform returns the transform that attribute post_transform names.
func readPostTransform(n *op.Node) (postTransform, error) {
	name := n.Str("post_transform", "NONE")
	for i, s := range transformNames {
		if s == name {
			return postTransform(i), nil
		}
	}
	return 0, graph.Errorf(graph.ErrFormat, "post_transform is %q, not one of %q", name, transformNames)
}

// apply transforms the scores of one sample where they lie.
func (t postTransform) apply(s []float64) {
	switch t {
	case transformLogistic:
		for i, v := range s {
			s[i] = logistic(v)
		}
	case transformProbit:
		for i, v := range s {
			s[i] = probit(v)
		}
	case transformSoftmax, transformSoftmaxZero:
		softmaxScores(s, t == transformSoftmaxZero)
	}
}

// rows transforms each row of n of the scores where they lie.
func (t postTransform) rows(k Kernels, s []float32, n int) error {
	if len(s) == 0 {
		return nil
	}
	switch t {
	case transformNone:
		return nil
	case transformLogistic:
		return k.Sigmoid(s)
	case transformSoftmax:
		return softmaxRows(k, s, n)
	}
	row := make([]float64, n)
	for ; len(s) > 0; s = s[n:] {
		for i := range row {
			row[i] = float64(s[i])
		}
		t.apply(row)
		for i, v := range row {
			s[i] = float32(v)
		}
	}
	return nil
}

// softmaxRows is softmax of every row of n scores.
func softmaxRows(k Kernels, s []float32, n int) error {
	for at := 0; at < len(s); at += n {
		row := s[at:][:n]
		top := row[0]
		for _, v := range row[1:] {
			top = max(top, v)
		}
		for i := range row {
			row[i] -= top
		}
	}
	if err := k.Exp(s); err != nil {
		return err
	}
	for at := 0; at < len(s); at += n {
		row, sum := s[at:][:n], float32(0)
		for _, v := range row {
			sum += v
		}
		part := 1 / sum
		for i := range row {
			row[i] *= part
		}
	}
	return nil
}

// pairs writes the scores of two classes for each score in one.
func (t postTransform) pairs(k Kernels, one, y []float32) error {
	if t != transformLogistic {
		for r, s := range one {
			a, b := t.pair(float64(s), false)
			y[2*r], y[2*r+1] = float32(a), float32(b)
		}
		return nil
	}
	for r, s := range one {
		y[2*r], y[2*r+1] = -s, s
	}
	return t.rows(k, y[:2*len(one)], 2)
}

// pair is what becomes of the score s of the second of two classes when it is
// the only one: scores of both, of which the standard does not speak. ONNX
// Runtime takes -s, or 1-s, for the first class, and knows no other transform of
// them than the logistic one. The probit transform of both is ours.
func (t postTransform) pair(s float64, mirrored bool) (first, second float64) {
	switch first = 1 - s; {
	case t == transformLogistic:
		return logistic(-s), logistic(s)
	case t == transformProbit:
		return probit(first), probit(s)
	case mirrored:
		return -s, s
	}
	return first, s
}

func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// probit is the inverse of the normal distribution function by Winitzki's
// formula, as those who wrote the standard compute it (S. Winitzki, "A handy
// approximation for the error function and its inverse", 2008).
func probit(v float64) float64 {
	const a = 0.147
	x := 2*v - 1
	l := math.Log((1 - x) * (1 + x))
	b := 2/(math.Pi*a) + l/2
	return math.Copysign(math.Sqrt2*math.Sqrt(math.Sqrt(b*b-l/a)-b), x)
}

// softmaxScores is softmax. With zeros left out, a score of 0 is none: it has no
// share in the sum.
func softmaxScores(s []float64, zeros bool) {
	const nothing = 1e-7
	top, sum := math.Inf(-1), 0.0
	for _, v := range s {
		top = max(top, v)
	}
	for i, v := range s {
		if zeros && math.Abs(v) <= nothing {
			s[i] *= math.Exp(-top)
			continue
		}
		s[i] = math.Exp(v - top)
		sum += s[i]
	}
	if sum == 0 {
		return // no score but zeros
	}
	for i := range s {
		s[i] /= sum
	}
}

// largest is the place of the largest score, the first of equals. A NaN at place 0 is the
// largest, others are none. Which score is larger is no branch, for that cannot be foreseen.
func largest(s []float32) int {
	if s[0] != s[0] {
		return 0
	}
	best := int64(math.MinInt64)
	for i, v := range s {
		if v == v {
			best = max(best, rank(v)<<32|int64(^uint32(i)))
		}
	}
	return int(^uint32(best))
}

// rank is an integer of 32 bits for every number, in the order of numbers.
func rank(v float32) int64 {
	b := int32(math.Float32bits(v + 0)) // 0 for -0
	return int64(b ^ b>>31&math.MaxInt32)
}

// inferClasses says that output 0 is a label for every sample and output 1 its
// scores.
func inferClasses(c *op.Infer, l *labels, features, scores int) error {
	rows, n, err := rowDims(c.In[0])
	if err != nil {
		return err
	}
	if v, ok := n.Value(); ok && features >= 0 && v != features {
		return graph.Errorf(graph.ErrShape, "input is %v; the model is for %d features", c.In[0].Type, features)
	}
	c.Set(0, l.dtype(), graph.Dims{rows})
	c.Set(1, tensor.F32, graph.Dims{rows, graph.Known(scores)})
	return nil
}

// sampleRows returns the rows of input 0 as float32, checked to have that many
// features.
func sampleRows(c *op.Run, features int) (x []float32, rows int, err error) {
	rows, n, err := matrixOf(c.In[0])
	if err != nil {
		return nil, 0, err
	}
	if n != features {
		return nil, 0, graph.Errorf(graph.ErrShape, "input is %v; the model is for %d features", c.In[0], features)
	}
	x, err = floatsOf(c, c.In[0])
	return x, rows, err
}

// putLabels writes the label of every sample to output 0, if it is there.
func putLabels(c *op.Run, l *labels, rows int, class func(row int) int) error {
	if !c.Wants(0) {
		return nil
	}
	y, err := c.Output(0, l.dtype(), tensor.Shape{rows})
	if err != nil {
		return err
	}
	if l.texts != nil {
		for r, list := 0, y.Strings(); r < rows; r++ {
			list[r] = l.texts[class(r)]
		}
		return nil
	}
	for r, list := 0, tensor.View[int64](y); r < rows; r++ {
		list[r] = l.numbers[class(r)]
	}
	return nil
}

// scoresFor returns where the scores of all samples are to be computed: the
// memory of output i, or scratch if it is not there.
func scoresFor(c *op.Run, i, rows, n int) ([]float32, error) {
	if !c.Wants(i) {
		return c.ScratchFloats(rows * n)
	}
	t, err := c.Output(i, tensor.F32, tensor.Shape{rows, n})
	if err != nil {
		return nil, err
	}
	return tensor.View[float32](t), nil
}
