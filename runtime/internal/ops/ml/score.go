package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// postTransform is a function of the scores of one sample.
type postTransform uint8

const (
	transformNone postTransform = iota
	transformSoftmax
	transformLogistic
	transformSoftmaxZero
	transformProbit
)

// transformNames follows the numbers that TreeEnsemble uses.
var transformNames = [...]string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}

// readPostTransform returns the transform named by attribute post_transform.
func readPostTransform(n *op.Node) (postTransform, error) {
	name := n.Str("post_transform", "NONE")
	for i, s := range transformNames {
		if s == name {
			return postTransform(i), nil
		}
	}
	return 0, graph.Errorf(graph.ErrFormat, "post_transform is %q, not one of %q", name, transformNames)
}

// apply transforms the scores of one sample in place.
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

// rows transforms each row of n scores in place.
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

// softmaxRows applies softmax to every row of n scores.
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

// pairs computes the scores of two classes in y from each score of one.
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

// pair returns the scores of two classes from s, the only score, of the second class. The standard
// does not define this case. As in ONNX Runtime the first class gets -s if mirrored is set,
// otherwise 1-s, and the logistic transform applies to -s and s. ONNX Runtime has no other
// transform here; the probit transform of both is Nacre's.
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

// probit is the inverse of the normal distribution function by Winitzki's formula, as the
// standard's authors compute it (S. Winitzki, "A handy approximation for the error function and its
// inverse", 2008).
func probit(v float64) float64 {
	const a = 0.147
	x := 2*v - 1
	l := math.Log((1 - x) * (1 + x))
	b := 2/(math.Pi*a) + l/2
	return math.Copysign(math.Sqrt2*math.Sqrt(math.Sqrt(b*b-l/a)-b), x)
}

// softmaxScores applies softmax to s. If zeros is set, scores of 0 take no part in the sum.
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
		return // all scores are zeros
	}
	for i := range s {
		s[i] /= sum
	}
}

// largest returns the index of the largest score, and the first of equals. A NaN at index 0 counts
// as the largest; other NaNs are ignored. The comparison has no branch, since the processor could
// not predict it.
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

// rank returns a 32-bit integer for v that is ordered as the numbers are.
func rank(v float32) int64 {
	b := int32(math.Float32bits(v + 0)) // 0 for -0
	return int64(b ^ b>>31&math.MaxInt32)
}

// inferClasses sets output 0 to a label per sample and output 1 to its scores.
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

// sampleRows returns the samples of input 0 as float32. It returns an error if they do not have the
// given number of features.
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

// putLabels stores the label of every sample in output 0 if the output is wanted.
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

// scoresFor returns memory for n scores per sample: output i if it is wanted, otherwise scratch
// memory.
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
