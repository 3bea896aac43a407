package attention

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sparseAttention is SparseAttention: causal attention in which queries see only some blocks of
// keys, over a cache of keys and values with room.
type sparseAttention struct {
	heads, kvHeads, block int
	scale                 *float32
	rotary, interleaved   bool
}

// The inputs of sparseAttention.
const (
	sparseQuery = iota
	sparseKey
	sparseValue
	sparsePastKey
	sparsePastValue
	sparseRows    // [layouts,blocks+1]: start of the columns of each row of blocks
	sparseColumns // [layouts,most]: the blocks that each row of blocks sees
	sparseTotal   // tokens of the longest sequence
	sparseLengths // [batch]: tokens of each
	sparseCos
	sparseSin
)

func newSparseAttention(n *op.Node) (op.Op, error) {
	o := &sparseAttention{heads: n.Int("num_heads", 0), kvHeads: n.Int("kv_num_heads", 0),
		block: n.Int("sparse_block_size", 0),
		scale: microsoftScale(n), rotary: n.Bool("do_rotary", false), interleaved: n.Bool("rotary_interleaved", false)}
	switch {
	case o.heads < 1 || o.kvHeads < 1 || o.heads%o.kvHeads != 0:
		return nil, graph.Errorf(graph.ErrFormat, "%d heads of queries cannot share %d of keys", o.heads, o.kvHeads)
	case o.block < 1 || o.block > 1<<20:
		return nil, graph.Errorf(graph.ErrFormat, "sparse_block_size is %d", o.block)
	case n.HasIn(sparseKey) != n.HasIn(sparseValue):
		return nil, graph.Errorf(graph.ErrFormat, "key and value come together or not at all")
	case !hasOutputs(n, 0, 1, 2):
		return nil, graph.Errorf(graph.ErrUnsupported, "an output is left out; the operator gives its result and both caches")
	case o.rotary && !(n.HasIn(sparseCos) && n.HasIn(sparseSin)):
		return nil, graph.Errorf(graph.ErrFormat, "do_rotary needs the caches of cosines and sines")
	}
	return o, nil
}

// Infer sets [batch,tokens,hidden] and the caches.
func (o *sparseAttention) Infer(c *op.Infer) error {
	q, past := c.In[sparseQuery], c.In[sparsePastKey]
	for _, i := range []int{sparseKey, sparseValue, sparsePastKey, sparsePastValue, sparseCos, sparseSin} {
		if c.Has(i) && c.In[i].DType != q.DType {
			return graph.Errorf(graph.ErrShape, "input %d is of %v, queries of %v", i, c.In[i].DType, q.DType)
		}
	}
	for i := sparseRows; i <= sparseLengths; i++ {
		if c.In[i].DType != tensor.I32 {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; it takes int32", i, c.In[i].Type)
		}
	}
	out := graph.UnknownDims(3)
	if q.Dims != nil {
		if len(q.Dims) != 3 {
			return graph.Errorf(graph.ErrShape, "query %v is not [batch,tokens,hidden]", q.Type)
		}
		copy(out, q.Dims)
		if !c.Has(sparseKey) {
			out[2] = q.Dims[2].Div(graph.Known(o.heads + 2*o.kvHeads)).Mul(graph.Known(o.heads))
		}
	}
	if past.Dims != nil && (len(past.Dims) != 4 || differ(past.Dims[1], graph.Known(o.kvHeads))) {
		return graph.Errorf(graph.ErrShape, "past_key %v is not [batch,%d,room,size]", past.Type, o.kvHeads)
	}
	c.Set(0, q.DType, out)
	c.Set(1, q.DType, past.Dims)
	c.Set(2, q.DType, c.In[sparsePastValue].Dims)
	return nil
}

// sparseRun has the operands of one run.
type sparseRun struct {
	*sparseAttention
	batch, tokens, size, room    int
	q, k, v                      []float32 // [batch,tokens,heads*size]; each has its own row width and offset
	width, at                    [3]int
	keys, values                 []float32 // the caches, [batch,kvHeads,room,size]
	cos, sin                     []float32
	rows, columns                []int32
	layouts, perRows, perColumns int
	lengths                      []int
	prompt                       bool
}

// Run adds the new keys and values to the caches and computes the attention in float32.
func (o *sparseAttention) Run(c *op.Run) error {
	r, err := o.operands(c)
	if err != nil {
		return err
	}
	out, err := c.FloatsFor(c.Out[0])
	if err != nil {
		return err
	}
	scores, err := c.ScratchFloats(r.room)
	if err != nil {
		return err
	}
	for b := range r.batch {
		past := r.lengths[b] - r.tokens
		if r.prompt {
			past = 0
		}
		r.store(b, past)
		for t := range r.tokens {
			if c.Stopped() {
				return op.ErrStopped
			}
			for h := range o.heads {
				row := out[((b*r.tokens+t)*o.heads+h)*r.size:][:r.size]
				r.attend(b, t, h, past+t, scores, row)
			}
		}
	}
	c.PutFloats(c.Out[0], out)
	c.PutFloats(c.Out[1], r.keys)
	c.PutFloats(c.Out[2], r.values)
	return nil
}

// operands reads and checks the inputs and copies the caches.
func (o *sparseAttention) operands(c *op.Run) (*sparseRun, error) {
	q, past := c.In[sparseQuery].Shape(), c.In[sparsePastKey].Shape()
	r := &sparseRun{sparseAttention: o, batch: q[0], tokens: q[1], size: past[3], room: past[2]}
	n, kv := o.heads*r.size, o.kvHeads*r.size
	r.width, r.at = [3]int{n, kv, kv}, [3]int{}
	if !c.Has(sparseKey) {
		r.width, r.at = [3]int{n + 2*kv, n + 2*kv, n + 2*kv}, [3]int{0, n, n + kv}
	}
	for i, list := range []*[]float32{&r.q, &r.k, &r.v} {
		from := c.Given(i)
		if from == nil {
			from = c.In[sparseQuery]
		}
		if s := from.Shape(); len(s) != 3 || s[0] != r.batch || s[1] != r.tokens || s[2] != r.width[i] {
			return nil, graph.Errorf(graph.ErrShape, "input %d, %v, is not [%d,%d,%d]", i, from, r.batch, r.tokens, r.width[i])
		}
		var err error
		if *list, err = c.Floats(from); err != nil {
			return nil, err
		}
	}
	if !past.Equal(tensor.Shape{r.batch, o.kvHeads, r.room, r.size}) || !past.Equal(c.In[sparsePastValue].Shape()) {
		return nil, graph.Errorf(graph.ErrShape, "caches %v and %v do not belong to %d sequences", c.In[sparsePastKey],
			c.In[sparsePastValue], r.batch)
	}
	if err := r.caches(c); err != nil {
		return nil, err
	}
	return r, r.layout(c)
}

// caches sets the output caches to copies of the input caches.
func (r *sparseRun) caches(c *op.Run) error {
	for i, list := range []*[]float32{&r.keys, &r.values} {
		past, err := c.Floats(c.In[sparsePastKey+i])
		if err != nil {
			return err
		}
		if *list, err = c.FloatsFor(c.Out[1+i]); err != nil {
			return err
		}
		copy(*list, past)
	}
	if !r.rotary {
		return nil
	}
	var err error
	if r.cos, err = c.Floats(c.In[sparseCos]); err != nil {
		return err
	}
	r.sin, err = c.Floats(c.In[sparseSin])
	s, t := c.In[sparseCos].Shape(), c.In[sparseSin].Shape()
	if err == nil && (len(s) != 2 || 2*s[1] != r.size || !s.Equal(t)) {
		err = graph.Errorf(graph.ErrShape, "caches of cosines %v and sines %v do not belong to heads of %d",
			c.In[sparseCos], c.In[sparseSin], r.size)
	}
	return err
}

// layout checks lengths and blocks.
func (r *sparseRun) layout(c *op.Run) error {
	total, err := op.ScalarInt(c.In[sparseTotal], "total_sequence_length")
	if err != nil {
		return err
	}
	r.prompt = total == r.tokens
	if r.lengths, err = op.Ints(c.In[sparseLengths]); err != nil {
		return err
	}
	if len(r.lengths) != r.batch || total > r.room || total < r.tokens {
		return graph.Errorf(graph.ErrShape, "%d lengths and %d tokens do not belong to %d sequences in caches of %d",
			len(r.lengths), total, r.batch, r.room)
	}
	most := total
	if r.rotary {
		most = min(most, c.In[sparseCos].Shape()[0])
	}
	for _, n := range r.lengths {
		if n > most || n < 1 || !r.prompt && n < r.tokens {
			return graph.Errorf(graph.ErrShape, "a sequence of %d tokens, %d of them new, does not fit caches of %d", n,
				r.tokens, most)
		}
	}
	if r.prompt && total > most {
		return graph.Errorf(graph.ErrShape, "%d tokens do not fit caches of %d positions", total, most)
	}
	rows, columns := c.In[sparseRows].Shape(), c.In[sparseColumns].Shape()
	if len(rows) != 2 || len(columns) != 2 || rows[0] != columns[0] || rows[0] == 0 || (rows[1]-1)*r.block < total {
		return graph.Errorf(graph.ErrShape, "blocks %v and %v do not cover %d tokens", c.In[sparseRows],
			c.In[sparseColumns], total)
	}
	r.rows, r.columns = tensor.View[int32](c.In[sparseRows]), tensor.View[int32](c.In[sparseColumns])
	r.layouts, r.perRows, r.perColumns = rows[0], rows[1], columns[1]
	for i, v := range r.rows {
		if v < 0 || int(v) > r.perColumns || i%r.perRows > 0 && v < r.rows[i-1] {
			return graph.Errorf(graph.ErrShape, "row %d of blocks begins at %d of %d", i, v, r.perColumns)
		}
	}
	return nil
}

// store adds the new keys and values to the caches after row past.
func (r *sparseRun) store(b, past int) {
	for t := range r.tokens {
		row := (b*r.tokens + t)
		for h := range r.kvHeads {
			to := ((b*r.kvHeads+h)*r.room + past + t) * r.size
			r.turn(r.keys[to:][:r.size], r.k[row*r.width[1]+r.at[1]+h*r.size:][:r.size], past+t)
			copy(r.values[to:][:r.size], r.v[row*r.width[2]+r.at[2]+h*r.size:])
		}
	}
}

// turn copies a head to out, rotated by the angles of a position if the node is rotary.
func (r *sparseRun) turn(out, x []float32, position int) {
	copy(out, x)
	if !r.rotary {
		return
	}
	n := r.size / 2
	cos, sin := r.cos[position*n:][:n], r.sin[position*n:][:n]
	for j := range n {
		a, b := j, j+n
		if r.interleaved {
			a, b = 2*j, 2*j+1
		}
		out[a], out[b] = x[a]*cos[j]-x[b]*sin[j], x[a]*sin[j]+x[b]*cos[j]
	}
}

// attend computes the attention of one head of one query.
func (r *sparseRun) attend(b, t, h, position int, scores, out []float32) {
	query := make([]float32, r.size)
	r.turn(query, r.q[(b*r.tokens+t)*r.width[0]+r.at[0]+h*r.size:][:r.size], position)
	scale := float32(1 / math.Sqrt(float64(r.size)))
	if r.scale != nil {
		scale = *r.scale
	}
	base := (b*r.kvHeads + h/(r.heads/r.kvHeads)) * r.room * r.size
	row := h%r.layouts*r.perRows + position/r.block
	blocks := r.columns[h%r.layouts*r.perColumns:][r.rows[row]:r.rows[row+1]]
	most, sum := float32(math.Inf(-1)), float32(0)
	each := func(f func(j int)) {
		for _, block := range blocks {
			for j := max(int(block), 0) * r.block; block >= 0 && j < min((int(block)+1)*r.block, position+1); j++ {
				f(j)
			}
		}
	}
	each(func(j int) {
		scores[j] = 0
		for i, v := range r.keys[base+j*r.size:][:r.size] {
			scores[j] += v * query[i]
		}
		scores[j] *= scale
		most = max(most, scores[j])
	})
	clear(out)
	each(func(j int) {
		w := float32(math.Exp(float64(scores[j] - most)))
		sum += w
		for i, v := range r.values[base+j*r.size:][:r.size] {
			out[i] += w * v
		}
	})
	for i := range out {
		if sum > 0 {
			out[i] /= sum
		}
	}
}

var sparseAttentionRows = []op.Row{
	{Domain: kit.Microsoft, Name: "SparseAttention", Since: []int{1}, In: [2]int{9, 11}, Optional: kit.Inputs(sparseKey, sparseValue), Out: [2]int{3, 3}, Types: kit.ComputedInF32, New: newSparseAttention},
}
