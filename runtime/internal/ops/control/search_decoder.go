package control

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// decoder computes the logits from which a search writes texts.
type decoder interface {
	// run returns the logits of the token after each row, [rows,vocabulary].
	run() (logits []float32, vocabulary int, err error)
	// advance makes tokens the next input, one per row. Token r extends row from[r], or row r if
	// from is nil.
	advance(tokens []int32, from []int) error
}

// decoding is the state of a decoder over several texts.
type decoding struct {
	c              *op.Run
	s              *search
	rows, most     int
	ids, positions []int32 // of the next run, [rows,tokens]
	mask           []int32 // of the next run, [rows,length]
	spare          []int32 // memory of the previous mask
	length         int
	next           []int32 // position of the token after the next run, by row
	caches         op.Stream
	ran            bool
}

// begin returns the state before the first run, with each text of the wish in copies rows.
func (s *search) begin(c *op.Run, w *wish, copies int) *decoding {
	d := &decoding{c: c, s: s, rows: w.batch * copies, most: w.most, length: w.prompt}
	room := d.rows * min(w.most, maxRoom)
	d.mask, d.spare = make([]int32, 0, room), make([]int32, 0, room)
	for b := range w.batch {
		for range copies {
			position := int32(0)
			for t, id := range w.ids[b*w.prompt:][:w.prompt] {
				seen := int32(kit.Btoi(id != s.pad))
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
	in, err := d.operands()
	if err != nil {
		return nil, 0, err
	}
	first := !d.ran && d.s.init
	d.ran = true
	if first {
		return d.start(in)
	}
	if d.caches == nil {
		if err := d.open(); err != nil {
			return nil, 0, err
		}
	}
	inputs := len(d.s.decoder.Inputs)
	out, err := d.caches.Run(append(in, make([]tensor.Value, inputs-len(in))...))
	if err != nil {
		return nil, 0, err
	}
	logits, vocabulary, err = d.s.last(d.c, out[0], d.rows)
	d.c.Release(out...)
	return logits, vocabulary, err
}

// operands returns the inputs of a run other than caches.
func (d *decoding) operands() ([]tensor.Value, error) {
	list := make([]tensor.Value, 0, 3)
	for _, x := range [][]int32{d.ids, d.positions, d.mask} {
		t, err := tensor.From(x, d.rows, len(x)/d.rows)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// start runs the graph of the first run, which makes the caches.
func (d *decoding) start(in []tensor.Value) (logits []float32, vocabulary int, err error) {
	l, err := loopOf(d.c.Node.Attr(initDecoderBody).Graph, initDecoderBody, d.rows, d.most)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range l.States {
		shape, _ := withRows(s.Dims, s.Axis, 0).Concrete()
		in = append(in, tensor.New(s.DType, shape...))
	}
	out, err := d.c.Body(initDecoderBody, in)
	if err != nil {
		return nil, 0, err
	}
	if len(out) != 1+len(l.States) {
		return nil, 0, graph.Errorf(graph.ErrFormat, "graph %q has %d outputs for %d pasts", initDecoderBody, len(out),
			len(l.States))
	}
	if err := d.open(); err != nil {
		return nil, 0, err
	}
	if err := d.caches.Set(out[1:]); err != nil {
		return nil, 0, err
	}
	logits, vocabulary, err = d.s.last(d.c, out[0], d.rows)
	d.c.Release(out[0])
	return logits, vocabulary, err
}

// open makes the decoder's caches without tokens.
func (d *decoding) open() error {
	l, err := loopOf(d.s.decoder, decoderBody, d.rows, d.most)
	if err != nil {
		return err
	}
	d.caches, err = d.c.Stream(decoderBody, l)
	return err
}

// maxRoom bounds the tokens for which caches have room before the tokens exist.
const maxRoom = 1 << 12

// loopOf describes the runs of a decoder alone. Its pasts are [2,batch,heads,tokens,size].
func loopOf(g *graph.Graph, body string, rows, most int) (*op.Loop, error) {
	if len(g.Inputs) < 4 {
		return nil, graph.Errorf(graph.ErrUnsupported, "graph %q has %d inputs, and so no pasts", body, len(g.Inputs))
	}
	if len(g.Outputs) != len(g.Inputs)-2 {
		return nil, graph.Errorf(graph.ErrFormat, "graph %q has %d outputs for %d pasts", body, len(g.Outputs),
			len(g.Inputs)-3)
	}
	l := &op.Loop{Room: min(most, maxRoom), Going: map[int]graph.Dims{2: {graph.Known(rows), graph.Symbol(op.Rows)}}}
	for i, in := range g.Inputs[3:] {
		if len(in.Type.Dims) != 5 {
			return nil, graph.Errorf(graph.ErrUnsupported,
				"input %q of graph %q is %v, no past of [2,batch,heads,tokens,size]", in.Name, body, in.Type)
		}
		heads, ok1 := in.Type.Dims[2].Value()
		size, ok2 := in.Type.Dims[4].Value()
		if !ok1 || !ok2 {
			return nil, graph.Errorf(graph.ErrUnsupported, "input %q of graph %q is %v; its heads are not known", in.Name,
				body, in.Type)
		}
		dims := graph.Dims{graph.Known(2), graph.Known(rows), graph.Known(heads), graph.Symbol(op.Rows), graph.Known(size)}
		l.States = append(l.States, op.LoopState{In: 3 + i, Out: 1 + i, DType: in.Type.DType, Dims: dims, Axis: 3})
	}
	return l, nil
}

// withRows returns dims with extent n along an axis.
func withRows(dims graph.Dims, axis, n int) graph.Dims {
	list := slices.Clone(dims)
	list[axis] = graph.Known(n)
	return list
}

// last returns the logits of the last token of each row.
func (s *search) last(c *op.Run, v tensor.Value, rows int) ([]float32, int, error) {
	t, ok := v.(*tensor.Tensor)
	if !ok || len(t.Shape()) != 3 || t.Shape()[0] != rows || t.Shape().Len() == 0 || !kit.ComputedInF32.Has(t.DType()) {
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

// advance makes tokens the next input, one per row. Token r extends row from[r], or row r if from
// is nil.
func (d *decoding) advance(tokens []int32, from []int) error {
	mask, next := d.spare[:0], make([]int32, d.rows)
	for r := range d.rows {
		source := r
		if from != nil {
			source = from[r]
		}
		mask = append(append(mask, d.mask[source*d.length:][:d.length]...), 1)
		next[r] = d.next[source] + 1
	}
	d.ids, d.spare, d.mask = tokens, d.mask, mask
	d.length++
	d.positions = d.positions[:0]
	for r := range d.rows {
		d.positions = append(d.positions, next[r]-1)
	}
	d.next = next
	if from == nil {
		return nil
	}
	return d.caches.Gather(1, from)
}
