package text

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TfIdf counts the n-grams of a pool in rows of items, [n] or [rows,n]. The items of an n-gram are
// neighbours, or are separated by the same number of other items, at most Skips. The k-th n-gram of
// the pool counts at coordinate indexes[k] of the output. If n-grams share a coordinate, their
// counts are added.
type TfIdf struct {
	mode       string    // TF for counts, IDF for the weights of n-grams that occur, TFIDF for counts times weights
	weights    []float32 // one per n-gram of the pool; nil for 1
	indexes    []int
	width      int // coordinates
	Skips      int // most items between two neighbours of an n-gram
	fewest     int // least items of an n-gram
	most       int
	strings    map[string]int32 // items of a pool of strings, and their numbers
	ints       map[int64]int32  // items of a pool of integers, and their numbers
	near       []int32          // numbers of the integers from lowest on, -1 for none; nil if they are spread too far
	lowest     int64
	tree       map[gramStep]int32
	first      []int32  // by item: the node below the root, 0 for none
	leads      []uint64 // by node: bit n%64 is set if item n leads on
	leaves     []int32  // by node: the n-gram that ends there, from 1; 0 for none
	shared     bool     // several n-grams share a coordinate
	ofIntegers bool
	grams      []Gram // the n-grams that count, in order, for a pool of integers
}

// Gram is an n-gram of a pool of integers: its items, its coordinate and its weight.
type Gram struct {
	Items  []int64
	To     int
	Weight float32
}

// Grams returns the n-grams that count of a pool of integers, ordered by coordinate, then by their
// order in the pool.
func (o *TfIdf) Grams() []Gram {
	return slices.SortedStableFunc(slices.Values(o.grams), func(a, b Gram) int { return a.To - b.To })
}

// Counted reports whether an n-gram counts every time it occurs, not once.
func (o *TfIdf) Counted() bool { return o.mode != "IDF" }

// Weighted reports whether n-grams have weights.
func (o *TfIdf) Weighted() bool { return o.mode != "TF" && o.weights != nil }

// gramStep combines a node of the tree of n-grams, in the high half, and the number of an item that
// leads to another node. A map with one number as its key is faster than one with two.
type gramStep uint64

func stepFrom(node, item int32) gramStep { return gramStep(node)<<32 | gramStep(uint32(item)) }

func (s gramStep) node() int32 { return int32(s >> 32) }
func (s gramStep) item() int32 { return int32(s) }

func newTfIdf(n *op.Node) (op.Op, error) {
	o := &TfIdf{
		mode: n.Str("mode", ""), weights: n.Floats("weights"), indexes: n.Ints("ngram_indexes"),
		Skips:  n.Int("max_skip_count", 0),
		fewest: n.Int("min_gram_length", 0), most: n.Int("max_gram_length", 0), ofIntegers: n.Has("pool_int64s"),
		strings: map[string]int32{}, ints: map[int64]int32{}, tree: map[gramStep]int32{}, leaves: []int32{0},
	}
	words, numbers := n.Strs("pool_strings"), n.Ints("pool_int64s")
	for _, name := range []string{"mode", "ngram_counts", "ngram_indexes", "max_skip_count", "min_gram_length",
		"max_gram_length"} {
		if !n.Has(name) {
			return nil, graph.Errorf(graph.ErrFormat, "has no attribute %s", name)
		}
	}
	if n.Has("pool_strings") == o.ofIntegers {
		return nil, graph.Errorf(graph.ErrFormat,
			"has both or none of the attributes pool_strings and pool_int64s; it takes one of them")
	}
	pool := make([]int32, 0, max(len(words), len(numbers)))
	for _, w := range words {
		pool = append(pool, numbered(o.strings, w))
	}
	for _, v := range numbers {
		pool = append(pool, numbered(o.ints, int64(v)))
	}
	starts := n.Ints("ngram_counts")
	if err := o.check(starts); err != nil {
		return nil, err
	}
	if err := o.load(pool, numbers, starts); err != nil {
		return nil, err
	}
	o.index(numbers)
	return o, nil
}

// index makes the tables that replace maps in look-ups.
func (o *TfIdf) index(numbers []int) {
	o.first, o.leads = make([]int32, len(o.strings)+len(o.ints)), make([]uint64, len(o.leaves))
	for step, next := range o.tree {
		o.leads[step.node()] |= 1 << (step.item() & 63)
		if step.node() == 0 {
			o.first[step.item()] = next + 1
		}
	}
	places := map[int]bool{}
	for _, at := range o.indexes {
		o.shared = o.shared || places[at]
		places[at] = true
	}
	const spread = 16 // at most so many entries per item of the pool
	if len(numbers) == 0 {
		return
	}
	lowest, highest := slices.Min(numbers), slices.Max(numbers)
	if uint64(highest)-uint64(lowest) >= uint64(spread*len(numbers)) {
		return
	}
	o.near, o.lowest = slices.Repeat([]int32{-1}, highest-lowest+1), int64(lowest)
	for v, n := range o.ints {
		o.near[v-o.lowest] = n
	}
}

// numbered returns the number of an item and assigns a new one if needed.
func numbered[T comparable](items map[T]int32, item T) int32 {
	n, ok := items[item]
	if !ok {
		n = int32(len(items))
		items[item] = n
	}
	return n
}

func (o *TfIdf) check(starts []int) error {
	switch {
	case !slices.Contains([]string{"TF", "IDF", "TFIDF"}, o.mode):
		return graph.Errorf(graph.ErrFormat, "mode is %q; it takes TF, IDF or TFIDF", o.mode)
	case o.fewest < 1 || o.most < o.fewest || o.most > len(starts):
		return graph.Errorf(graph.ErrFormat, "n-grams have %d to %d items, and the pool has n-grams of 1 to %d", o.fewest,
			o.most, len(starts))
	case o.Skips < 0:
		return graph.Errorf(graph.ErrFormat, "max_skip_count is %d", o.Skips)
	case len(o.indexes) == 0:
		return graph.Errorf(graph.ErrFormat, "ngram_indexes is empty")
	case o.weights != nil && len(o.weights) != len(o.indexes):
		return graph.Errorf(graph.ErrFormat, "there are %d weights for %d n-grams", len(o.weights), len(o.indexes))
	}
	last := slices.Max(o.indexes)
	if slices.Min(o.indexes) < 0 || last == math.MaxInt {
		return graph.Errorf(graph.ErrFormat, "ngram_indexes go from %d to %d", slices.Min(o.indexes), last)
	}
	o.width = last + 1
	return nil
}

// load builds the tree of n-grams. The n-grams of i+1 items are in the pool from starts[i] on.
// numbers holds the items if they are integers.
func (o *TfIdf) load(pool []int32, numbers, starts []int) error {
	gram := 0
	for i, start := range starts {
		end, size := len(pool), i+1
		if size < len(starts) {
			end = starts[size]
		}
		if start < 0 || start > end || end > len(pool) || (end-start)%size != 0 {
			return graph.Errorf(graph.ErrFormat, "items %d to %d of a pool of %d cannot be its %d-grams", start, end,
				len(pool), size)
		}
		if count := (end - start) / size; count > len(o.indexes)-gram {
			return graph.Errorf(graph.ErrFormat, "the pool has more than the %d n-grams of ngram_indexes", len(o.indexes))
		}
		for at := start; at < end; at += size {
			gram++
			if size < o.fewest || size > o.most {
				continue
			}
			node := int32(0)
			for _, item := range pool[at : at+size] {
				node = o.step(node, item)
			}
			if o.leaves[node] != 0 {
				return graph.Errorf(graph.ErrFormat, "n-grams %d and %d of the pool are equal", o.leaves[node]-1, gram-1)
			}
			o.leaves[node] = int32(gram)
			if o.ofIntegers {
				g := Gram{Items: kit.Convert(numbers[at:at+size], func(v int) int64 { return int64(v) }), To: o.indexes[gram-1],
					Weight: 1}
				if o.weights != nil {
					g.Weight = o.weights[gram-1]
				}
				o.grams = append(o.grams, g)
			}
		}
	}
	return nil
}

// step returns the node that item leads to and adds it if needed.
func (o *TfIdf) step(node, item int32) int32 {
	next := numbered(o.tree, stepFrom(node, item)) + 1
	if int(next) == len(o.leaves) {
		o.leaves = append(o.leaves, 0)
	}
	return next
}

// Infer sets a row of counts for every row of items.
func (o *TfIdf) Infer(c *op.Infer) error {
	x := c.In[0]
	if (x.DType == tensor.String) == o.ofIntegers {
		return graph.Errorf(graph.ErrShape, "input has elements of type %v; the pool's are others", x.DType)
	}
	if x.Dims == nil {
		c.Set(0, tensor.F32, nil)
		return nil
	}
	if len(x.Dims) != 1 && len(x.Dims) != 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [n] or [rows,n]", x.Type)
	}
	c.Set(0, tensor.F32, kit.JoinDims(x.Dims[:len(x.Dims)-1], graph.Dims{graph.Known(o.width)}))
	return nil
}

// Run counts row by row.
func (o *TfIdf) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	if len(shape) != 1 && len(shape) != 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [n] or [rows,n]", c.In[0])
	}
	y, err := c.Output(0, tensor.F32, append(shape[:len(shape)-1].Clone(), o.width))
	if err != nil {
		return err
	}
	n := shape[len(shape)-1]
	grams := len(o.indexes)
	room, err := c.ScratchTensor(tensor.I32, tensor.Shape{n + 2*grams})
	if err != nil {
		return err
	}
	list, out := tensor.View[int32](room), tensor.View[float32](y)
	items, tally := list[:n], tally{counts: list[n:][:grams], met: list[n+grams:][:0]}
	clear(tally.counts)
	pace := c.Pace()
	for row := range shape[:len(shape)-1].Len() {
		for at := 0; at < n; at += stretch {
			part := items[at:min(at+stretch, n)]
			pace.Work(16 * len(part))
			o.number(c.In[0], row*n+at, part)
		}
		o.count(pace, items, &tally)
		pace.Work(len(tally.met) + o.width)
		o.weigh(&tally, out[row*o.width:][:o.width])
	}
	return nil
}

// stretch is the number of items between two checks whether to stop.
const stretch = 1 << 14

// tally counts the n-grams of a row.
type tally struct {
	counts []int32 // of every n-gram of the pool
	met    []int32 // the n-grams with counts above 0
}

func (t *tally) add(gram int32) {
	if t.counts[gram] == 0 {
		t.met = append(t.met, gram)
	}
	t.counts[gram]++
}

// number looks up the numbers of len(items) elements of t. Items outside the pool get -1.
func (o *TfIdf) number(t *tensor.Tensor, from int, items []int32) {
	switch t.DType() {
	case tensor.String:
		for i, v := range t.Strings()[from:][:len(items)] {
			items[i] = lookUp(o.strings, v)
		}
	case tensor.I32:
		numberInts(o, tensor.View[int32](t)[from:][:len(items)], items)
	default:
		numberInts(o, tensor.View[int64](t)[from:][:len(items)], items)
	}
}

// numberInts looks up the numbers of integers.
func numberInts[T int32 | int64](o *TfIdf, list []T, items []int32) {
	for i, v := range list {
		switch at := uint64(v) - uint64(o.lowest); {
		case o.near == nil:
			items[i] = lookUp(o.ints, int64(v))
		case at < uint64(len(o.near)):
			items[i] = o.near[at]
		default:
			items[i] = -1
		}
	}
}

// lookUp returns the number of an item, or -1 if it has none.
func lookUp[T comparable](items map[T]int32, item T) int32 {
	n, ok := items[item]
	if !ok {
		return -1
	}
	return n
}

// count adds the n-grams of items to the tally. An n-gram of one item counts once, independent of
// skips.
func (o *TfIdf) count(pace *op.Pace, items []int32, t *tally) {
	for distance := 1; distance == 1 || distance-1 <= o.Skips && distance < len(items) && o.most > 1; distance++ {
		for from, to := range pace.Stretches(len(items), 1) {
			for start := from; start < to; start++ {
				o.countFrom(pace, items, start, distance, t)
			}
		}
	}
}

// countFrom adds the n-grams of items at a distance of each other, from a start on.
func (o *TfIdf) countFrom(pace *op.Pace, items []int32, start, distance int, t *tally) {
	item := items[start]
	if item < 0 || o.first[item] == 0 {
		return
	}
	node := o.first[item]
	if gram := o.leaves[node]; gram != 0 && distance == 1 {
		t.add(gram - 1)
	}
	for size, at := 2, start+distance; size <= o.most && at < len(items); size, at = size+1, at+distance {
		if items[at] < 0 || o.leads[node]>>(items[at]&63)&1 == 0 {
			return
		}
		pace.Work(16)
		next, ok := o.tree[stepFrom(node, items[at])]
		if !ok {
			return
		}
		node = next + 1
		if gram := o.leaves[node]; gram != 0 {
			t.add(gram - 1)
		}
	}
}

// weigh writes a row of the output and clears the tally. Numbers that share a coordinate are added
// in the order of their n-grams.
func (o *TfIdf) weigh(t *tally, row []float32) {
	clear(row)
	if o.shared {
		slices.Sort(t.met)
	}
	for _, gram := range t.met {
		v := float32(t.counts[gram])
		t.counts[gram] = 0
		if !o.Counted() {
			v = 1
		}
		if o.Weighted() {
			v *= o.weights[gram]
		}
		row[o.indexes[gram]] += v
	}
	t.met = t.met[:0]
}
