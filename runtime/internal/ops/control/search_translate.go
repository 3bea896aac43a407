package control

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// translation is the state of an encoder and a decoder over several texts.
type translation struct {
	c            *op.Run
	s            *search
	w            *wish
	copies, rows int
	ids          []int32        // of the next run of the decoder, [rows,tokens]
	fixed        []tensor.Value // mask and hidden states
	cross        []tensor.Value // caches of attention to the source
	caches       op.Stream      // of the decoder's own attention; nil until the encoder has run
}

// translate returns the state before the encoder runs.
func (s *search) translate(c *op.Run, w *wish, copies int) *translation {
	d := &translation{c: c, s: s, w: w, copies: copies, rows: w.batch * copies}
	for b := range w.batch {
		for range copies {
			d.ids = append(d.ids, w.ids[b*w.prompt:][:w.prompt]...)
		}
	}
	return d
}

// run runs the encoder in the first step and the decoder in later ones. If the encoder returns no
// logits, the first step runs the decoder too.
func (d *translation) run() ([]float32, int, error) {
	switch {
	case d.caches != nil:
		return d.decode()
	case !d.s.pair.apart:
		return d.encode()
	}
	if err := d.read(); err != nil {
		return nil, 0, err
	}
	return d.decode()
}

func (d *translation) decode() ([]float32, int, error) {
	ids, err := tensor.From(d.ids, d.rows, len(d.ids)/d.rows)
	if err != nil {
		return nil, 0, err
	}
	in := append([]tensor.Value{ids}, d.fixed...)
	in = append(in, make([]tensor.Value, 2*d.s.pair.layers)...)
	out, err := d.caches.Run(append(in, d.cross...))
	if err != nil {
		return nil, 0, err
	}
	scores, n, err := d.s.last(d.c, out[0], d.rows)
	d.c.Release(out...)
	return scores, n, err
}

// source returns the inputs of the encoder except prompts.
func (d *translation) source() ([]tensor.Value, error) {
	in := []tensor.Value{d.w.source}
	if !d.s.pair.masked {
		return in, nil
	}
	mask, err := d.mask()
	return append(in, mask), err
}

// read runs an encoder that takes no prompts. The caches of the decoder's own attention then hold
// no tokens.
func (d *translation) read() error {
	in, err := d.source()
	if err != nil {
		return err
	}
	out, err := d.c.Body(encoderBody, in)
	if err != nil {
		return err
	}
	if d.fixed, err = d.expand(in[1:]); err != nil {
		return err
	}
	if d.cross, err = d.expand(out); err != nil {
		return err
	}
	l, err := d.loop(d.cross)
	if err != nil {
		return err
	}
	d.caches, err = d.c.Stream(decoderBody, l)
	return err
}

// encode runs the encoder on the texts and copies its outputs for the rows of each text.
func (d *translation) encode() ([]float32, int, error) {
	prompts := tensor.New(tensor.I32, d.w.batch, d.w.prompt)
	copy(tensor.View[int32](prompts), d.w.ids)
	in, err := d.source()
	if err != nil {
		return nil, 0, err
	}
	out, err := d.c.Body(encoderBody, append(in, prompts))
	if err != nil {
		return nil, 0, err
	}
	scores, n, err := d.s.last(d.c, out[0], d.w.batch)
	if err != nil {
		return nil, 0, err
	}
	d.c.Release(out[0])
	if d.s.pair.hidden {
		in = append(in, out[1])
	} else {
		d.c.Release(out[1])
	}
	if d.fixed, err = d.expand(in[1:]); err != nil {
		return nil, 0, err
	}
	own := 2 + 2*d.s.pair.layers
	if d.cross, err = d.expand(out[own:]); err != nil {
		return nil, 0, err
	}
	if err := d.open(out[2:own]); err != nil {
		return nil, 0, err
	}
	all := make([]float32, 0, d.rows*n)
	for r := range d.rows {
		all = append(all, scores[r/d.copies*n:][:n]...)
	}
	return all, n, nil
}

// open makes the decoder's caches from the encoder's.
func (d *translation) open(given []tensor.Value) error {
	own, err := d.expand(given)
	if err != nil {
		return err
	}
	l, err := d.loop(own)
	if err != nil {
		return err
	}
	if d.caches, err = d.c.Stream(decoderBody, l); err != nil {
		return err
	}
	return d.caches.Set(own)
}

// loop describes the runs of the decoder. Its caches have the types of like, except for their
// length.
func (d *translation) loop(like []tensor.Value) (*op.Loop, error) {
	l := d.s.pair.loop(d.rows, d.w.most)
	for i := range l.States {
		t := like[i].(*tensor.Tensor) // checked by expand
		if len(t.Shape()) != 4 {
			return nil, graph.Errorf(graph.ErrShape, "the encoder gives %v as a cache, which is of [batch,heads,tokens,size]", t)
		}
		s := &l.States[i]
		s.DType, s.Dims = t.DType(), graph.DimsOf(t.Shape())
		s.Dims[s.Axis] = graph.Symbol(op.Rows)
	}
	return l, nil
}

// loop describes the runs of the decoder without the types of caches.
func (p *pair) loop(rows, most int) *op.Loop {
	l := &op.Loop{Room: min(most, maxRoom), Going: map[int]graph.Dims{}}
	if p.whole {
		l.Going[0] = graph.Dims{graph.Known(rows), graph.Symbol(op.Rows)}
	}
	for i := range 2 * p.layers {
		l.States = append(l.States, op.LoopState{In: 1 + kit.Btoi(p.masked) + kit.Btoi(p.hidden) + i, Out: 1 + i, Axis: 2})
	}
	return l
}

// mask returns the mask of the source. If the wish has none, it masks the padding before the text.
func (d *translation) mask() (tensor.Value, error) {
	if err := d.c.Mem.Reserve(tensor.SizeOf(tensor.I32, d.w.source.Shape())); err != nil {
		return nil, err
	}
	t := tensor.New(tensor.I32, d.w.source.Shape()...)
	list := tensor.View[int32](t)
	if d.w.mask != nil {
		copy(list, d.w.mask)
		return t, nil
	}
	ids, tokens := tensor.View[int32](d.w.source), d.w.source.Shape()[1]
	for b := range d.w.batch {
		begun := false
		for i := b * tokens; i < (b+1)*tokens; i++ {
			begun = begun || ids[i] != d.s.pad
			list[i] = int32(kit.Btoi(begun))
		}
	}
	return t, nil
}

// expand returns values with each row repeated d.copies times. It releases the values it copies.
func (d *translation) expand(list []tensor.Value) ([]tensor.Value, error) {
	expanded := make([]tensor.Value, len(list))
	for i, v := range list {
		t, ok := v.(*tensor.Tensor)
		if !ok || len(t.Shape()) == 0 || t.Shape()[0] != d.w.batch {
			return nil, graph.Errorf(graph.ErrShape, "the encoder gives %v where the first extent should be %d texts", v,
				d.w.batch)
		}
		if d.copies == 1 {
			expanded[i] = v
			continue
		}
		shape := append(tensor.Shape{d.rows}, t.Shape()[1:]...)
		if err := shape.Check(); err != nil {
			return nil, err
		}
		if err := d.c.Mem.Reserve(tensor.SizeOf(t.DType(), shape)); err != nil {
			return nil, fmt.Errorf("%d copies of %v: %w", d.copies, t, err)
		}
		more := tensor.New(t.DType(), shape...)
		n := len(t.Bytes()) / d.w.batch
		for r := range d.rows {
			copy(more.Bytes()[r*n:][:n], t.Bytes()[r/d.copies*n:])
		}
		d.c.Release(v)
		expanded[i] = more
	}
	return expanded, nil
}

// advance makes tokens the next input. The caches of attention to the source are the same for all
// rows of a text and do not change.
func (d *translation) advance(tokens []int32, from []int) error {
	if !d.s.pair.whole {
		d.ids = tokens
	} else {
		length := len(d.ids) / d.rows
		texts := make([]int32, 0, len(d.ids)+d.rows)
		for r, id := range tokens {
			source := r
			if from != nil {
				source = from[r]
			}
			texts = append(append(texts, d.ids[source*length:][:length]...), id)
		}
		d.ids = texts
	}
	if from == nil {
		return nil
	}
	return d.caches.Gather(0, from)
}

// end releases the decoder's inputs other than its caches.
func (d *translation) end() {
	d.c.Release(d.fixed...)
	d.c.Release(d.cross...)
}
