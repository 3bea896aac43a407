package control

import (
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// greedySearch is GreedySearch: it repeatedly appends the most likely token to each text.
type greedySearch struct{ *search }

func newGreedySearch(n *op.Node) (op.Op, error) {
	s, err := readDecoderSearch(n)
	return &greedySearch{s}, err
}

// Infer sets [batch,max_length].
func (o *greedySearch) Infer(c *op.Infer) error { return inferTexts(c, 2) }

// Run runs the decoder until all texts have ended or are long enough.
func (o *greedySearch) Run(c *op.Run) error {
	w, err := o.wishes(c, 3, 4)
	if err != nil {
		return err
	}
	return o.write(c, w, func(scores []float32, rows, n int) ([]int32, error) {
		list := make([]int32, rows)
		for r := range list {
			w.pace.Work(n)
			list[r] = largest(scores[r*n:][:n])
		}
		return list, nil
	})
}

// largest returns the index of the largest number, and the first of equals.
func largest(row []float32) int32 {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return int32(best)
}

// write writes texts token by token. choose picks the tokens from the scores.
func (s *search) write(c *op.Run, w *wish, choose func(scores []float32, rows, n int) ([]int32, error)) error {
	written, err := newTexts(c, w, 1)
	if err != nil {
		return err
	}
	d, ended := s.begin(c, w, 1), make([]bool, w.batch)
	for step := 1; len(written[0]) < w.most; step++ {
		scores, n, err := d.run()
		if err != nil {
			return err
		}
		if err := s.adjust(w, written, scores, n, step); err != nil {
			return err
		}
		tokens, err := choose(scores, w.batch, n)
		if err != nil {
			return err
		}
		open := 0
		for r, id := range tokens {
			if ended[r] = ended[r] || id == s.eos; ended[r] {
				tokens[r] = s.pad
			} else {
				open++
			}
			written[r] = append(written[r], tokens[r])
		}
		if open == 0 {
			break
		}
		if err := d.advance(tokens, nil); err != nil {
			return err
		}
	}
	out, err := output(c, 0, tensor.I32, w.batch, w.most)
	if err != nil {
		return err
	}
	s.store(tensor.View[int32](out), written, w.most)
	return nil
}

// store stores texts one after the other, each followed by padding.
func (s *search) store(out []int32, list texts, most int) {
	for i := range out {
		out[i] = s.pad
	}
	for r, text := range list {
		copy(out[r*most:][:most], text)
	}
}
