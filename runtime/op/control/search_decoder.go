package control

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// decoder is what a search writes texts with.
type decoder interface {
	// run returns the logits of the token after each row, [rows,vocabulary].
	run() (logits []float32, vocabulary int, err error)
	// advance makes tokens the next input, one for each row, each behind the row that
	// from names; nil for its own.
	advance(tokens []int32, from []int) error
	// end gives back the caches.
	end()
}

// decoding is the state of a decoder over some texts at once.
type decoding struct {
	c                    *op.Run
	s                    *search
	rows                 int
	ids, positions, mask []int32 // of the next run, [rows,tokens], [rows,tokens], [rows,length]
	next                 []int32 // position of the token after the next run, by row
	pasts                []tensor.Value
	ran                  bool
}

// begin returns the state before the first run, with each text of the wish in a number
// of rows.
func (s *search) begin(c *op.Run, w *wish, copies int) *decoding {
	d := &decoding{c: c, s: s, rows: w.batch * copies}
	for b := range w.batch {
		for range copies {
			position := int32(0)
			for t, id := range w.ids[b*w.prompt:][:w.prompt] {
				seen := int32(op.Btoi(id != s.pad))
				if w.mask != nil {
					seen = w.mask[b*w.prompt+t]
				}
				d.ids, d.mask = append(d.ids, id), append(d.mask, seen)
				if seen == 0 {
					d.positions = append(d.positions, 0)
					continue
				}
				d.positions = append(d.positions, position)
				position++
			}
			d.next = append(d.next, position)
		}
	}
	return d
}

// run runs the decoder and returns the logits of the last token of each row.
func (d *decoding) run() (logits []float32, vocabulary int, err error) {
	body := decoderBody
	if !d.ran && d.s.init {
		body = initDecoderBody
	}
	if d.pasts == nil {
		if err := d.empty(body); err != nil {
			return nil, 0, err
		}
	}
	matrix := func(list []int32) tensor.Value {
		t := tensor.New(tensor.I32, d.rows, len(list)/d.rows)
		copy(tensor.View[int32](t), list)
		return t
	}
	in := append([]tensor.Value{matrix(d.ids), matrix(d.positions), matrix(d.mask)}, d.pasts...)
	out, err := d.c.Body(body, in)
	if err != nil {
		return nil, 0, err
	}
	if d.ran {
		d.c.Release(d.pasts...)
	}
	d.ran = true
	if len(out) != 1+len(d.pasts) {
		return nil, 0, graph.Errorf(graph.ErrFormat, "graph %q has %d outputs for %d pasts", body, len(out), len(d.pasts))
	}
	d.pasts = out[1:]
	logits, vocabulary, err = d.s.last(d.c, out[0], d.rows)
	d.c.Release(out[0])
	return logits, vocabulary, err
}

// empty makes pasts without tokens, of the types that the graph's inputs have.
func (d *decoding) empty(body string) error {
	inputs := d.c.Node.Attr(body).Graph.Inputs
	if len(inputs) < 4 {
		return graph.Errorf(graph.ErrUnsupported, "graph %q has %d inputs, and so no pasts", body, len(inputs))
	}
	for _, in := range inputs[3:] {
		if len(in.Type.Dims) != 5 {
			return graph.Errorf(graph.ErrUnsupported, "input %q of graph %q is %v, no past of [2,batch,heads,tokens,size]", in.Name, body, in.Type)
		}
		heads, ok1 := in.Type.Dims[2].Value()
		size, ok2 := in.Type.Dims[4].Value()
		if !ok1 || !ok2 {
			return graph.Errorf(graph.ErrUnsupported, "input %q of graph %q is %v, whose heads are not known", in.Name, body, in.Type)
		}
		d.pasts = append(d.pasts, tensor.New(in.Type.DType, 2, d.rows, heads, 0, size))
	}
	return nil
}

func (d *decoding) end() { d.c.Release(d.pasts...) }

// last returns the logits of the last token of each row.
func (s *search) last(c *op.Run, v tensor.Value, rows int) ([]float32, int, error) {
	t, ok := v.(*tensor.Tensor)
	if !ok || len(t.Shape()) != 3 || t.Shape()[0] != rows || t.Shape().Len() == 0 || !op.ComputedInF32.Has(t.DType()) {
		return nil, 0, graph.Errorf(graph.ErrShape, "the decoder gives %v, no logits of [%d,tokens,vocabulary]", v, rows)
	}
	tokens, n := t.Shape()[1], t.Shape()[2]
	if s.vocabulary > 0 && s.vocabulary != n {
		return nil, 0, graph.Errorf(graph.ErrShape, "the decoder gives %v, and vocab_size is %d", v, s.vocabulary)
	}
	all, err := c.Floats(t)
	if err != nil {
		return nil, 0, err
	}
	list := make([]float32, 0, rows*n)
	for r := range rows {
		list = append(list, all[((r+1)*tokens-1)*n:][:n]...)
	}
	return list, n, nil
}

// advance makes tokens the next input, one for each row, each behind the row whose past
// it follows; nil for its own.
func (d *decoding) advance(tokens []int32, from []int) error {
	length := len(d.mask) / d.rows
	mask, next := make([]int32, 0, len(d.mask)+d.rows), make([]int32, d.rows)
	for r := range d.rows {
		source := r
		if from != nil {
			source = from[r]
		}
		mask = append(append(mask, d.mask[source*length:][:length]...), 1)
		next[r] = d.next[source] + 1
	}
	d.ids, d.mask = tokens, mask
	d.positions = d.positions[:0]
	for r := range d.rows {
		d.positions = append(d.positions, next[r]-1)
	}
	d.next = next
	if from == nil {
		return nil
	}
	return reorder(d.c, d.pasts, 1, from)
}

// reorder makes the rows of caches those that from names. Axis is that of the rows. The
// rows that stay are not touched.
func reorder(c *op.Run, caches []tensor.Value, axis int, from []int) error {
	var moved []int
	for r, source := range from {
		if r != source {
			moved = append(moved, r)
		}
	}
	if moved == nil {
		return nil
	}
	for _, v := range caches {
		t, ok := v.(*tensor.Tensor)
		if !ok || len(t.Shape()) <= axis || t.Shape()[axis] != len(from) {
			return graph.Errorf(graph.ErrShape, "a present is %v, without %d rows along axis %d", v, len(from), axis)
		}
		outer := t.Shape()[:axis].Len()
		n := len(t.Bytes()) / max(outer*len(from), 1)
		if err := c.Mem.Reserve(len(moved) * n); err != nil {
			return err
		}
		kept := tensor.New(tensor.U8, len(moved), n)
		for k := range outer {
			rows := t.Bytes()[k*len(from)*n:]
			for i, r := range moved {
				copy(kept.Bytes()[i*n:][:n], rows[from[r]*n:])
			}
			for i, r := range moved {
				copy(rows[r*n:][:n], kept.Bytes()[i*n:])
			}
		}
		c.Release(kept)
	}
	return nil
}
