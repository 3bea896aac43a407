package text

import (
	"math"
	"math/bits"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// nGrams hashes, for each token, the groups of two, three and more tokens that end with it.
// NGramHashMapping takes sequences of one length, [batch,tokens]. VarlenNGramHashMapping takes
// sequences one after the other, [tokens].
type nGrams struct {
	packed     bool
	most       int // tokens in the largest group
	heads      int // hashes per group
	pad        int64
	resets     bool // a token that ends a text hides the tokens before it
	updates    int  // states in state_update per sequence
	hashes     int
	historyLen int
	in         nGramInputs
}

// nGramInputs holds the positions of optional inputs; -1 for none.
type nGramInputs struct{ past, offsets, eos, segments, pastSegments, capture int }

// maxGroup bounds the tokens of a group.
const maxGroup = 1 << 16

func newNGrams(packed bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o := &nGrams{packed: packed, most: n.Int("max_ngram_size", 0), heads: n.Int("n_head_per_ngram", 0),
			pad:    int64(n.Int("pad_id", 0)),
			resets: n.Bool("reset_on_eos", false), in: nGramInputs{past: 3, offsets: 4, eos: 5, segments: 6, pastSegments: -1, capture: -1}}
		if packed {
			o.in = nGramInputs{past: 4, offsets: 5, eos: 6, segments: 7, pastSegments: 8, capture: 9}
			o.updates = n.Int("state_update_capacity", 0)
		}
		if o.most < 2 || o.most > maxGroup || o.heads < 1 || o.heads > maxGroup || o.updates < 0 || o.updates > 8 {
			return nil, graph.Errorf(graph.ErrFormat,
				"max_ngram_size %d, n_head_per_ngram %d or state_update_capacity %d cannot be", o.most, o.heads, o.updates)
		}
		if packed && n.HasIn(9) != (o.updates > 0) {
			return nil, graph.Errorf(graph.ErrFormat, "capture_count and state_update_capacity come together or not at all")
		}
		o.historyLen, o.hashes = o.most-1, (o.most-1)*o.heads
		return o, nil
	}
}

// Infer sets one hash per token, group and head.
func (o *nGrams) Infer(c *op.Infer) error {
	rank, batch := 2, graph.Unknown()
	if o.packed {
		rank = 1
		if d := c.In[3].Dims; len(d) == 1 {
			batch = d[0].Sub(graph.Known(1))
		}
	}
	tokens := c.In[0].Dims
	switch {
	case tokens == nil:
		tokens = graph.UnknownDims(rank)
	case len(tokens) != rank:
		return graph.Errorf(graph.ErrShape, "ids are %v; they take %d axes", c.In[0].Type, rank)
	}
	if !o.packed {
		batch = tokens[0]
	}
	d := c.In[0].DType
	for _, i := range []int{1, 2, o.in.past, o.in.offsets, o.in.eos} {
		if c.Has(i) && c.In[i].DType != d {
			return graph.Errorf(graph.ErrShape, "input %d is of %v, ids of %v", i, c.In[i].DType, d)
		}
	}
	history := graph.Dims{batch, graph.Known(o.historyLen)}
	c.Set(0, d, kit.JoinDims(tokens, graph.Dims{graph.Known(o.hashes)}))
	c.Set(1, d, history)
	c.Set(2, tensor.I32, history)
	c.Set(3, d, graph.Dims{batch, graph.Known(o.updates), history[1]})
	return nil
}

// divisor is a positive number n and the floor of (2⁶⁴ - 1) / n.
type divisor struct{ n, inverse uint64 }

func newDivisor(n int64) divisor { return divisor{uint64(n), math.MaxUint64 / uint64(n)} }

// mod returns v modulo n, from 0 to n - 1.
func (d divisor) mod(v int64) int64 {
	size := uint64(max(v, -v)) // 2⁶³ for the smallest v
	quotient, _ := bits.Mul64(size, d.inverse)
	rest := size - quotient*d.n // below 2n: the quotient is exact or 1 too small
	if rest >= d.n {
		rest -= d.n
	}
	if v < 0 && rest > 0 {
		rest = d.n - rest
	}
	return int64(rest)
}

// nGramRun holds the operands of one run as int64.
type nGramRun struct {
	*nGrams
	narrow                                bool // numbers have 32 bits
	tokens, multipliers                   []int64
	sizes                                 []divisor
	past, offsets, segments, pastSegments []int64
	capture                               []int64
	fill                                  int64
	ends                                  bool       // there is a token that ends texts, and it is fill
	out                                   [4][]int64 // hashes, history, its segments, captured histories
	all, mix, firsts                      []int64    // of one sequence
}

// Run hashes the sequences one after the other.
func (o *nGrams) Run(c *op.Run) error {
	starts, err := o.sequences(c)
	if err != nil {
		return err
	}
	r, err := o.operands(c, len(starts)-1)
	if err != nil {
		return err
	}
	if err := r.scratch(c, starts); err != nil {
		return err
	}
	for i := range len(starts) - 1 {
		if c.Stopped() {
			return op.ErrStopped
		}
		r.sequence(i, starts[i], starts[i+1])
	}
	return r.store(c)
}

// sequences returns the start of each sequence and the end of the last.
func (o *nGrams) sequences(c *op.Run) ([]int, error) {
	shape := c.In[0].Shape()
	if !o.packed {
		starts := make([]int, shape[0]+1)
		for i := range starts {
			starts[i] = i * shape[1]
		}
		return starts, nil
	}
	starts, err := op.Ints(c.In[3])
	if err != nil || len(starts) < 1 || starts[0] != 0 || starts[len(starts)-1] != shape[0] {
		return nil, graph.Errorf(graph.ErrShape, "cumulative_sequence_length %v does not divide %d tokens", starts, shape[0])
	}
	for i := range len(starts) - 1 {
		if starts[i+1] <= starts[i] {
			return nil, graph.Errorf(graph.ErrShape, "sequence %d has no token", i)
		}
	}
	return starts, nil
}

// integers returns the elements of input i, or nil if it is left out. There must be n elements,
// unless n is negative.
func integers(c *op.Run, i, n int, what string) ([]int64, error) {
	t := c.Given(i)
	if t == nil {
		return nil, nil
	}
	if n >= 0 && t.Len() != n {
		return nil, graph.Errorf(graph.ErrShape, "%s has %d elements where %d are wanted", what, t.Len(), n)
	}
	if t.DType() == tensor.I64 {
		return tensor.View[int64](t.Aligned()), nil
	}
	list, err := op.Ints(t)
	return kit.Convert(list, func(v int) int64 { return int64(v) }), err
}

// operands reads the inputs and allocates the results.
func (o *nGrams) operands(c *op.Run, batch int) (*nGramRun, error) {
	r := &nGramRun{nGrams: o, fill: o.pad, narrow: c.In[0].DType() == tensor.I32}
	tokens := c.In[0].Len()
	var eos, sizes []int64
	for _, in := range []struct {
		at   int
		n    int
		what string
		list *[]int64
	}{
		{0, tokens, "ids", &r.tokens}, {1, -1, "multipliers", &r.multipliers}, {2, o.hashes, "vocab_sizes", &sizes},
		{o.in.past, batch * o.historyLen, "past_ids", &r.past}, {o.in.offsets, o.hashes, "head_offsets", &r.offsets},
		{o.in.eos, 1, "eos_token_id", &eos}, {o.in.segments, tokens, "segment_ids", &r.segments},
		{o.in.pastSegments, batch * o.historyLen, "past_segment_ids", &r.pastSegments}, {o.in.capture, batch, "capture_count", &r.capture},
	} {
		if in.at < 0 {
			continue
		}
		var err error
		if *in.list, err = integers(c, in.at, in.n, in.what); err != nil {
			return nil, err
		}
	}
	if len(r.multipliers) < o.most {
		return nil, graph.Errorf(graph.ErrShape, "there are %d multipliers for groups of %d tokens", len(r.multipliers),
			o.most)
	}
	r.sizes = make([]divisor, len(sizes))
	for i, n := range sizes {
		if n <= 0 {
			return nil, graph.Errorf(graph.ErrShape, "vocab_sizes has %d", n)
		}
		r.sizes[i] = newDivisor(n)
	}
	if eos != nil {
		r.fill, r.ends = eos[0], true
	}
	return r, r.room(c, tokens, batch)
}

// room allocates the results, in the outputs if their types allow it.
func (r *nGramRun) room(c *op.Run, tokens, batch int) error {
	history := batch * r.historyLen
	for i, n := range [...]int{tokens * r.hashes, history, history, history * r.updates} {
		if c.Wants(i) && c.Out[i].DType() == tensor.I64 && c.Out[i].Len() == n {
			r.out[i] = tensor.View[int64](c.Out[i])
			continue
		}
		var err error
		if r.out[i], err = c.ScratchInt64s(n); err != nil {
			return err
		}
	}
	if r.segments == nil {
		clear(r.out[2])
	}
	return nil
}

// scratch allocates memory for one sequence.
func (r *nGramRun) scratch(c *op.Run, starts []int) error {
	longest := 0
	for i := range len(starts) - 1 {
		longest = max(longest, starts[i+1]-starts[i])
	}
	for _, list := range []*[]int64{&r.all, &r.mix, &r.firsts} {
		var err error
		if *list, err = c.ScratchInt64s(r.historyLen + longest); err != nil {
			return err
		}
	}
	return nil
}

// sequence hashes the tokens of sequence i.
func (r *nGramRun) sequence(i, from, to int) {
	h := r.historyLen
	all := r.all[:h] // the history and the tokens
	for k := range all {
		all[k] = r.fill
		if r.past != nil {
			all[k] = r.past[i*h+k]
		}
	}
	all = append(all, r.tokens[from:to]...)
	segments := r.segmentsOf(i, from, to)
	first, firsts := 0, r.firsts[:to-from] // of the visible tokens
	for t := 1; t < len(all); t++ {
		if r.resets && r.ends && all[t-1] == r.fill {
			first = t
		}
		if segments != nil && t >= r.knownFrom() && segments[t] != segments[t-1] {
			first = t
		}
		if t >= h {
			firsts[t-h] = int64(first)
		}
	}
	r.hash(all, firsts, r.out[0][from*r.hashes:to*r.hashes])
	copy(r.out[1][i*h:][:h], all[len(all)-h:])
	if segments != nil {
		copy(r.out[2][i*h:][:h], segments[len(segments)-h:])
	}
	r.capturePrefixes(i, all)
}

// knownFrom returns the first position with a known segment before it.
func (r *nGramRun) knownFrom() int {
	if r.pastSegments != nil {
		return 1
	}
	return r.historyLen + 1
}

// segmentsOf returns the segments of the history and the tokens, or nil if there are none.
func (r *nGramRun) segmentsOf(i, from, to int) []int64 {
	if r.segments == nil {
		return nil
	}
	h := r.historyLen
	list := make([]int64, h, h+to-from)
	if r.pastSegments != nil {
		copy(list, r.pastSegments[i*h:])
	}
	return append(list, r.segments[from:to]...)
}

// wrap returns v wrapped to the type of the numbers.
func (r *nGramRun) wrap(v int64) int64 {
	if r.narrow {
		return int64(int32(v))
	}
	return v
}

// hash hashes the groups that end with each of the last tokens. Token i sees the tokens from
// firsts[i] on. The hashes of one head are computed for all tokens before the next head.
func (r *nGramRun) hash(all []int64, firsts, out []int64) {
	h := r.historyLen
	mix := r.mix[:len(firsts)]
	for i, v := range all[h:] {
		mix[i] = r.wrap(v * r.multipliers[0])
	}
	for k := 1; k < r.most; k++ {
		by := r.multipliers[k]
		for i, v := range all[h-k : len(all)-k] {
			if int64(i+h-k) < firsts[i] {
				v = r.fill
			}
			mix[i] ^= r.wrap(v * by)
		}
		for j := (k - 1) * r.heads; j < k*r.heads; j++ {
			size, offset, at := r.sizes[j], int64(0), j
			if r.offsets != nil {
				offset = r.offsets[j]
			}
			for _, v := range mix {
				out[at] = r.wrap(size.mod(v) + offset)
				at += r.hashes
			}
		}
	}
}

// capturePrefixes stores the history after each of the first tokens.
func (r *nGramRun) capturePrefixes(i int, all []int64) {
	h, n := r.historyLen, r.updates
	for k := range n {
		state := r.out[3][(i*n+k)*h:][:h]
		if k < len(all)-h && int64(k) < r.capture[i] {
			copy(state, all[k+1:])
			continue
		}
		for j := range state {
			state[j] = r.pad
		}
	}
}

// store writes the results to the outputs.
func (r *nGramRun) store(c *op.Run) error {
	for i, list := range r.out {
		if !c.Wants(i) {
			continue
		}
		if c.Out[i].DType() == tensor.I64 {
			copy(tensor.View[int64](c.Out[i]), list)
			continue
		}
		out := tensor.View[int32](c.Out[i])
		for k, v := range list {
			out[k] = int32(max(math.MinInt32, min(v, math.MaxInt32)))
		}
	}
	return nil
}
