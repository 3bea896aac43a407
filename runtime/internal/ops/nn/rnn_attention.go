package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// attentionLSTM is AttnLSTM: LSTM with an input that is joined, at each step, by the result of
// Bahdanau's attention to a memory in the step before.
type attentionLSTM struct{ Recurrent }

// The inputs of attentionLSTM that LSTM does not have.
const (
	attnQuery      = 8 + iota // [directions,hidden,size]
	attnKeys                  // [directions,depth,size]
	attnVector                // [directions,size]
	attnMemory                // [batch,steps,depth]
	attnLengths               // [batch]
	attnProjection            // [directions,depth+hidden,width]
)

func newAttentionLSTM(n *op.Node) (op.Op, error) {
	for i := attnQuery; i <= attnMemory; i++ {
		if !n.HasIn(i) {
			return nil, graph.Errorf(graph.ErrFormat, "input %d, of the attention, is left out", i)
		}
	}
	o, err := NewLSTM(n)
	if err != nil {
		return nil, err
	}
	return &attentionLSTM{*o.(*Recurrent)}, nil
}

// Infer sets the extents of the states of all steps and of the last states.
func (o *attentionLSTM) Infer(c *op.Infer) error {
	x, r := c.In[0], c.In[2]
	steps, batch, hidden := graph.Unknown(), graph.Unknown(), graph.Unknown()
	if x.Dims != nil {
		if len(x.Dims) != 3 {
			return graph.Errorf(graph.ErrShape, "X %v is not [steps,batch,size]", x.Type)
		}
		steps, batch = x.Dims[0], x.Dims[1]
	}
	if r.Dims != nil {
		if len(r.Dims) != 3 {
			return graph.Errorf(graph.ErrShape, "R %v is not [directions,4·hidden,hidden]", r.Type)
		}
		hidden = r.Dims[2]
	}
	for i, v := range c.In {
		if v != nil && i != 4 && i != attnLengths && v.DType != x.DType {
			return graph.Errorf(graph.ErrShape, "input %d is of %v, X of %v", i, v.DType, x.DType)
		}
	}
	directions := graph.Known(o.Directions)
	c.Set(0, x.DType, graph.Dims{steps, directions, batch, hidden})
	c.Set(1, x.DType, graph.Dims{directions, batch, hidden})
	c.Set(2, x.DType, graph.Dims{directions, batch, hidden})
	return nil
}

// attnRun is one run: the numbers of all inputs, in float64, and the extents.
type attnRun struct {
	*attentionLSTM
	in                         [attnProjection + 1][]float64
	steps, batch, size, hidden int
	memory, depth, keys, width int // steps of the memory, and elements of a step, of a key and of the attention's result
	lengths, known             []int
	out                        [3][]float64
}

// Run computes each sequence separately, in float64.
func (o *attentionLSTM) Run(c *op.Run) error {
	r, err := o.operands(c)
	if err != nil {
		return err
	}
	err = c.Parallel(o.Directions*r.batch, 1, func(from, to int) error {
		for i := from; i < to; i++ {
			if err := r.sequence(c, i/r.batch, i%r.batch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, list := range r.out {
		if c.Wants(i) {
			kit.PutDoubles(c.Out[i], list)
		}
	}
	return nil
}

// operands reads the inputs and checks their extents.
func (o *attentionLSTM) operands(c *op.Run) (*attnRun, error) {
	x, memory := c.In[0].Shape(), c.In[attnMemory].Shape()
	hidden := c.In[2].Shape()[2]
	r := &attnRun{attentionLSTM: o, steps: x[0], batch: x[1], size: x[2], hidden: hidden}
	if len(memory) != 3 {
		return nil, graph.Errorf(graph.ErrShape, "the memory %v is not [batch,steps,depth]", c.In[attnMemory])
	}
	r.memory, r.depth, r.width = memory[1], memory[2], memory[2]
	keys := c.In[attnQuery].Shape()
	if len(keys) != 3 {
		return nil, graph.Errorf(graph.ErrShape, "the query layer %v is not [directions,hidden,size]", c.In[attnQuery])
	}
	r.keys = keys[2]
	if t := c.Given(attnProjection); t != nil && len(t.Shape()) == 3 {
		r.width = t.Shape()[2]
	}
	d := o.Directions
	for i, want := range map[int]tensor.Shape{
		1: {d, 4 * hidden, r.size + r.width}, 2: {d, 4 * hidden, hidden}, 3: {d, 8 * hidden}, 5: {d, r.batch, hidden}, 6: {d, r.batch, hidden}, 7: {d, 3 * hidden},
		attnQuery: {d, hidden, r.keys}, attnKeys: {d, r.depth, r.keys}, attnVector: {d, r.keys}, attnMemory: {r.batch, r.memory, r.depth},
		attnProjection: {d, r.depth + hidden, r.width},
	} {
		if t := c.Given(i); t != nil && !t.Shape().Equal(want) {
			return nil, graph.Errorf(graph.ErrShape, "input %d is %v where %v is wanted", i, t, want)
		}
	}
	for i := range r.in {
		if i != 4 && i != attnLengths {
			r.in[i] = kit.Doubles(c.Given(i))
		}
	}
	var err error
	if r.lengths, err = lengthsOf(c.Given(4), r.batch, r.steps); err != nil {
		return nil, err
	}
	if r.known, err = lengthsOf(c.Given(attnLengths), r.batch, r.memory); err != nil {
		return nil, err
	}
	states := d * r.batch * hidden
	r.out = [3][]float64{make([]float64, r.steps*states), make([]float64, states), make([]float64, states)}
	return r, nil
}

// lengthsOf returns the lengths of sequences. If t is nil, all lengths are most.
func lengthsOf(t *tensor.Tensor, batch, most int) ([]int, error) {
	if t == nil {
		list := make([]int, batch)
		for i := range list {
			list[i] = most
		}
		return list, nil
	}
	list, err := op.Ints(t)
	if err != nil {
		return nil, err
	}
	if len(list) != batch {
		return nil, graph.Errorf(graph.ErrShape, "there are %d lengths for %d sequences", len(list), batch)
	}
	for _, n := range list {
		if n < 0 || n > most {
			return nil, graph.Errorf(graph.ErrShape, "a length is %d; it takes 0 to %d", n, most)
		}
	}
	return list, nil
}

// sequence runs one direction over one sequence.
func (r *attnRun) sequence(c *op.Run, d, b int) error {
	h := r.hidden
	state, cell := make([]float64, h), make([]float64, h)
	at := (d*r.batch + b) * h
	if r.in[5] != nil {
		copy(state, r.in[5][at:])
	}
	if r.in[6] != nil {
		copy(cell, r.in[6][at:])
	}
	keys := angles(r.keysOf(d, b))
	in := make([]float64, r.size+r.width) // the input and the attention's result
	n := r.lengths[b]
	for k := range n {
		if c.Stopped() {
			return op.ErrStopped
		}
		t := k
		if r.Reverse || d == 1 {
			t = n - 1 - k
		}
		copy(in[:r.size], r.in[0][(t*r.batch+b)*r.size:])
		r.step(d, in, state, cell)
		r.read(d, b, keys, state, in[r.size:])
		copy(r.out[0][((t*r.Directions+d)*r.batch+b)*h:], state)
	}
	copy(r.out[1][at:], state)
	copy(r.out[2][at:], cell)
	return nil
}

// step computes one step of LSTM and overwrites state and cell.
func (r *attnRun) step(d int, in, state, cell []float64) {
	h, functions := r.hidden, r.Cells[d]
	gates := make([]float64, 4*h)
	for g := range gates {
		row := d*4*h + g
		sum := kit.Dot(r.in[1][row*len(in):][:len(in)], in) + kit.Dot(r.in[2][row*h:][:h], state)
		if r.in[3] != nil {
			sum += r.in[3][d*8*h+g] + r.in[3][d*8*h+4*h+g]
		}
		gates[g] = sum
	}
	clip := float64(functions.Clip)
	bound := func(v float64) float64 { return min(max(v, -clip), clip) }
	peep := func(part, i int) float64 {
		if r.in[7] == nil {
			return 0
		}
		return r.in[7][d*3*h+part*h+i] * cell[i]
	}
	f, g, out := functions.Functions[0].formula(), functions.Functions[1].formula(), functions.Functions[2].formula()
	for i := range state {
		input := f(bound(gates[i] + peep(0, i)))
		forget := 1 - input
		if !functions.InputForget {
			forget = f(bound(gates[2*h+i] + peep(2, i)))
		}
		cell[i] = forget*cell[i] + input*g(bound(gates[3*h+i]))
		state[i] = f(bound(gates[h+i]+peep(1, i))) * out(cell[i])
	}
}

// keysOf returns the keys of the valid steps of a memory.
func (r *attnRun) keysOf(d, b int) []float64 {
	list := make([]float64, r.known[b]*r.keys)
	layer := r.in[attnKeys][d*r.depth*r.keys:]
	for m := range r.known[b] {
		row := list[m*r.keys:][:r.keys]
		for i, v := range r.in[attnMemory][(b*r.memory+m)*r.depth:][:r.depth] {
			for j, w := range layer[i*r.keys:][:r.keys] {
				row[j] += v * w
			}
		}
	}
	return list
}

// angle is a number v and exp(2v). Two angles give the hyperbolic tangent of their sum without
// another exponential.
type angle struct{ v, exp float64 }

// maxAngle is the largest |v| for which products of two exponentials neither overflow nor vanish.
const maxAngle = 150

// angles returns the angles of a list of numbers.
func angles(list []float64) []angle {
	return kit.Convert(list, func(v float64) angle { return angle{v, math.Exp(2 * v)} })
}

// tanhSum returns tanh(a + b). Its absolute error is a few units in the last place of 1.
func tanhSum(a, b angle) float64 {
	if math.Abs(a.v) <= maxAngle && math.Abs(b.v) <= maxAngle {
		return 1 - 2/(a.exp*b.exp+1)
	}
	return math.Tanh(a.v + b.v)
}

// read stores the result of the attention of state to the memory in out.
func (r *attnRun) read(d, b int, keys []angle, state, out []float64) {
	query := make([]float64, r.keys)
	for i, v := range state {
		for j, w := range r.in[attnQuery][(d*r.hidden+i)*r.keys:][:r.keys] {
			query[j] += v * w
		}
	}
	turned := angles(query)
	scores, most := make([]float64, r.known[b]), math.Inf(-1)
	for m := range scores {
		for j, w := range r.in[attnVector][d*r.keys:][:r.keys] {
			scores[m] += w * tanhSum(keys[m*r.keys+j], turned[j])
		}
		most = max(most, scores[m])
	}
	sum := 0.0
	for m, v := range scores {
		scores[m] = math.Exp(v - most)
		sum += scores[m]
	}
	context := make([]float64, r.depth)
	for m, v := range scores {
		weight := v / sum
		for j, x := range r.in[attnMemory][(b*r.memory+m)*r.depth:][:r.depth] {
			context[j] += weight * x
		}
	}
	if r.in[attnProjection] == nil {
		copy(out, context)
		return
	}
	clear(out)
	layer := r.in[attnProjection][d*(r.depth+r.hidden)*r.width:]
	for _, part := range [][]float64{state, context} {
		for i, v := range part {
			for j, w := range layer[i*r.width:][:r.width] {
				out[j] += v * w
			}
		}
		layer = layer[len(part)*r.width:]
	}
}

var attentionLSTMRows = []op.Row{
	{Domain: kit.Microsoft, Name: "AttnLSTM", Since: []int{1}, In: [2]int{3, 14}, Out: [2]int{0, 3}, Types: op.Types{tensor.F32, tensor.F64}, Heap: 16, New: newAttentionLSTM},
}
