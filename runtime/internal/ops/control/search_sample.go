package control

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sampling is Sampling: it repeatedly appends to each text a random token of the most likely ones.
// Runs with one seed write the same texts. They differ from ONNX Runtime's, which uses another
// generator.
type sampling struct {
	*search
	temperature, share, filter float32
	keep                       int // tokens that are never filtered
	penalty                    float32
}

func newSampling(n *op.Node) (op.Op, error) {
	s, err := readDecoderSearch(n)
	if err != nil {
		return nil, err
	}
	if n.Bool("custom", false) {
		return nil, graph.Errorf(graph.ErrUnsupported, "custom is set; only the usual order of filters is computed")
	}
	o := &sampling{search: s, temperature: n.Float("temperature", 1), share: n.Float("top_p", 0),
		filter: n.Float("filter_value", -1e20),
		keep:   max(n.Int("min_tokens_to_keep", 0), 1), penalty: n.Float("presence_penalty", 0)}
	if !(o.temperature > 0) || !(o.share >= 0 && o.share <= 1) {
		return nil, graph.Errorf(graph.ErrFormat, "temperature %v or top_p %v cannot be", o.temperature, o.share)
	}
	return o, nil
}

// Infer sets [batch,max_length] and the logits of the last step.
func (o *sampling) Infer(c *op.Infer) error {
	if err := inferTexts(c, 2); err != nil {
		return err
	}
	c.Set(1, tensor.F32, graph.UnknownDims(2))
	return nil
}

// Run runs the decoder until all texts have ended or are long enough.
func (o *sampling) Run(c *op.Run) error {
	w, err := o.wishes(c, 3, 4)
	if err != nil {
		return err
	}
	seed := 0
	if c.Has(8) {
		if seed, err = op.ScalarInt(c.In[8], "seed"); err != nil {
			return err
		}
	} else {
		seed = int(op.Random(c.Ctx) >> 1)
	}
	var present []int32
	if t := c.Given(7); t != nil {
		if t.DType() != tensor.I32 {
			return graph.Errorf(graph.ErrUnsupported, "presence_mask is %v; it takes int32", t)
		}
		present = tensor.View[int32](t)
	}
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	var last []float32
	err = o.write(c, w, func(scores []float32, rows, n int) ([]int32, error) {
		if present != nil && len(present) != len(scores) {
			return nil, graph.Errorf(graph.ErrShape, "presence_mask has %d elements for %d scores", len(present), len(scores))
		}
		list := make([]int32, rows)
		for i := range scores {
			scores[i] /= o.temperature
			if present != nil {
				scores[i] -= float32(present[i]) * o.penalty
			}
		}
		for k := range list {
			row := scores[k*n:][:n]
			w.pace.Work(64 * n)
			o.cut(w.pace, row)
			list[k] = draw(row, r.Float64())
		}
		last = scores
		return list, nil
	})
	if err != nil || !c.Wants(1) {
		return err
	}
	out, err := output(c, 1, tensor.F32, w.batch, len(last)/w.batch)
	if err == nil {
		copy(tensor.View[float32](out), last)
	}
	return err
}

// cut filters the least likely tokens, with a total probability of at most 1 - o.share.
func (o *sampling) cut(pace *op.Pace, row []float32) {
	order := make([]int, len(row))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		pace.Work(8)
		return cmp.Compare(row[a], row[b])
	})
	probabilities, sum := weights(row)
	left := 0.0
	for k, i := range order {
		left += probabilities[i] / sum
		if len(row)-k <= o.keep || left > 1-float64(o.share) {
			return
		}
		row[i] = o.filter
	}
}

// weights returns numbers proportional to the probabilities of logits, and their sum.
func weights(row []float32) (list []float64, sum float64) {
	most := slices.Max(row)
	list = make([]float64, len(row))
	for i, v := range row {
		list[i] = math.Exp(float64(v - most))
		sum += list[i]
	}
	return list, sum
}

// draw returns the token at a share, from 0 to 1, of the cumulated probabilities of logits.
func draw(row []float32, at float64) int32 {
	list, sum := weights(row)
	at *= sum
	for i, v := range list {
		if at -= v; at < 0 {
			return int32(i)
		}
	}
	return largest(row)
}
