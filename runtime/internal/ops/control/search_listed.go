package control

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// guess collects the numbers that a plan assumes until a run provides them.
type guess struct{ said []string }

// assume records a number.
func (g *guess) assume(what string, n int) int {
	g.said = append(g.said, fmt.Sprintf("%s %d", what, n))
	return n
}

// numberOr returns the number in an input if known, otherwise it assumes n.
func (g *guess) numberOr(in []*op.Value, i int, what string, n int) int {
	if i < len(in) && in[i] != nil {
		if list, ok := in[i].KnownInts(); ok && len(list) == 1 && list[0] > 0 && list[0] <= maxText {
			return list[0]
		}
	}
	return g.assume(what, n)
}

// extentOr returns an extent of an input if known, otherwise it assumes n.
func (g *guess) extentOr(v *op.Value, axis int, what string, n int) int {
	if axis < len(v.Dims) {
		if known, ok := v.Dims[axis].Value(); ok {
			return known
		}
	}
	return g.assume(what, n)
}

// Loops describes the runs of the decoder after the first.
func (s *search) Loops(attr string, in []*op.Value) *kit.Loops {
	if attr != decoderBody {
		return nil
	}
	g := &guess{}
	rows := g.extentOr(in[0], 0, "batch", 1)
	most := g.numberOr(in, 1, "max_length", maxRoom)
	if s.beams > 0 {
		beams := g.numberOr(in, s.beams, "num_beams", 1)
		if beams > maxBeams || rows > kit.MaxElements/beams {
			return nil
		}
		rows *= beams
	}
	l := &kit.Loops{Types: map[int]graph.Type{}}
	int32s := func(dims ...graph.Dim) graph.Type { return graph.TensorOf(tensor.I32, dims) }
	if s.pair != nil {
		if !s.pair.types(l, g, s.decoder, in[0], rows, most) {
			return nil
		}
	} else {
		loop, err := loopOf(s.decoder, decoderBody, rows, most)
		if err != nil {
			return nil
		}
		l.Loop = *loop
		tokens := int32s(graph.Known(rows), graph.Known(1))
		l.Types[0], l.Types[1] = tokens, tokens
		l.Types[2] = int32s(graph.Known(rows), graph.Symbol(op.Rows).Add(graph.Known(1)))
	}
	l.Assumed = strings.Join(g.said, ", ")
	return l
}

// types describes the decoder of a pair. It reports false if the decoder's inputs are not declared
// far enough.
func (p *pair) types(l *kit.Loops, g *guess, decoder *graph.Graph, source *op.Value, rows, most int) bool {
	l.Loop = *p.loop(rows, most)
	tokens := graph.Known(1)
	if p.whole {
		tokens = tokens.Add(graph.Symbol(op.Rows))
	}
	l.Types[0] = graph.TensorOf(tensor.I32, graph.Dims{graph.Known(rows), tokens})
	read := 0 // rows of the encoder's outputs
	if p.masked {
		read = g.extentOr(source, 1, "source tokens", 1)
	} else {
		read = g.assume("source rows", 1)
	}
	for i, in := range decoder.Inputs[1:] {
		axis := 1
		if i+1 >= l.States[0].In {
			axis = 2
		}
		dims := filled(in.Type.Dims, map[int]int{0: rows, axis: read})
		if len(dims) <= axis {
			return false
		}
		l.Types[i+1] = graph.TensorOf(in.Type.DType, dims)
	}
	for i := range l.States {
		s := &l.States[i]
		s.DType, s.Dims = l.Types[s.In].DType, l.Types[s.In].Dims
		s.Dims[s.Axis] = graph.Symbol(op.Rows)
	}
	return true
}

// filled returns dims with the given numbers along some axes, or nil if other extents are unknown.
func filled(dims graph.Dims, numbers map[int]int) graph.Dims {
	var list graph.Dims
	for a, d := range dims {
		n, ok := d.Value()
		if m, given := numbers[a]; given {
			n, ok = m, true
		}
		if !ok {
			return nil
		}
		list = append(list, graph.Known(n))
	}
	return list
}
