package text

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TfIdf counts the n-grams of a pool in rows of items, [n] or [rows,n]. The
// items of an n-gram stand next to each other, or 1 to skips others lie between
// each two of them. The pool's k-th n-gram counts at coordinate indexes[k] of
// the output, which several may share: there their numbers are added.
type TfIdf struct {
	mode       string    // TF for counts, IDF for weights of what occurs, TFIDF for counts times weights
	weights    []float32 // one per n-gram of the pool; nil for 1
	indexes    []int
	width      int // coordinates
	Skips      int // items that may lie between two of an n-gram
	fewest     int // items of an n-gram
	most       int
	strings    map[string]int32 // items of a pool of strings, and their numbers
	ints       map[int64]int32  // those of a pool of integers
	tree       map[gramStep]int32
	leaves     []int32 // by node of the tree: the n-gram that ends there, from 1
	ofIntegers bool
	grams      []Gram // those that count, in order; of a pool of integers
}

// Gram is an n-gram of a pool of integers: its items, the coordinate at which it counts, and
// its weight.
type Gram struct {
	Items  []int64
	To     int
	Weight float32
}

// Grams returns the n-grams of a pool of integers that count, by coordinate, and in the order
// of the pool where they share one.
func (o *TfIdf) Grams() []Gram {
	return slices.SortedStableFunc(slices.Values(o.grams), func(a, b Gram) int { return a.To - b.To })
}

// Counted reports whether an n-gram counts as often as it occurs, not once.
func (o *TfIdf) Counted() bool { return o.mode != "IDF" }

// Weighted reports whether n-grams have weights.
func (o *TfIdf) Weighted() bool { return o.mode != "TF" && o.weights != nil }

// gramStep leads from a node of the tree of n-grams to another.
type gramStep struct{ node, item int32 }

func newTfIdf(n *op.Node) (op.Op, error) {
	o := &TfIdf{
		mode: n.Str("mode", ""), weights: n.Floats("weights"), indexes: n.Ints("ngram_indexes"), Skips: n.Int("max_skip_count", 0),
		fewest: n.Int("min_gram_length", 0), most: n.Int("max_gram_length", 0), ofIntegers: n.Has("pool_int64s"),
		strings: map[string]int32{}, ints: map[int64]int32{}, tree: map[gramStep]int32{}, leaves: []int32{0},
	}
	words, numbers := n.Strs("pool_strings"), n.Ints("pool_int64s")
	for _, name := range []string{"mode", "ngram_counts", "ngram_indexes", "max_skip_count", "min_gram_length", "max_gram_length"} {
		if !n.Has(name) {
			return nil, graph.Errorf(graph.ErrFormat, "has no attribute %s", name)
		}
	}
	if n.Has("pool_strings") == o.ofIntegers {
		return nil, graph.Errorf(graph.ErrFormat, "has both or none of the attributes pool_strings and pool_int64s; it takes one of them")
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
	return o, o.load(pool, numbers, starts)
}

// numbered returns the number of an item, a new one if it has none.
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
		return graph.Errorf(graph.ErrFormat, "n-grams have %d to %d items, and the pool those of 1 to %d", o.fewest, o.most, len(starts))
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

// load builds the tree of n-grams, of which numbers has the items where these are integers; those of i+1 items lie in the pool from
// starts[i] on.
func (o *TfIdf) load(pool []int32, numbers, starts []int) error {
	gram := 0
	for i, start := range starts {
		end, size := len(pool), i+1
		if size < len(starts) {
			end = starts[size]
		}
		if start < 0 || start > end || end > len(pool) || (end-start)%size != 0 {
			return graph.Errorf(graph.ErrFormat, "items %d to %d of a pool of %d cannot be its %d-grams", start, end, len(pool), size)
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
				g := Gram{Items: op.Convert(numbers[at:at+size], func(v int) int64 { return int64(v) }), To: o.indexes[gram-1], Weight: 1}
				if o.weights != nil {
					g.Weight = o.weights[gram-1]
				}
				o.grams = append(o.grams, g)
			}
		}
	}
	return nil
}

// step returns the node that item leads to, a new one if there is none.
func (o *TfIdf) step(node, item int32) int32 {
	next := numbered(o.tree, gramStep{node, item}) + 1
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
	c.Set(0, tensor.F32, op.JoinDims(x.Dims[:len(x.Dims)-1], graph.Dims{graph.Known(o.width)}))
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
	if err := c.Mem.Reserve(tensor.I32.Bytes(n) + tensor.I64.Bytes(len(o.indexes))); err != nil {
		return err
	}
	items, counts, out := make([]int32, n), make([]int, len(o.indexes)), tensor.View[float32](y)
	for row := range shape[:len(shape)-1].Len() {
		o.number(c.In[0], row*n, items)
		clear(counts)
		o.count(items, counts)
		o.weigh(counts, out[row*o.width:][:o.width])
	}
	return nil
}

// number looks up the numbers of len(items) elements of t; -1 for items that are
// not in the pool.
func (o *TfIdf) number(t *tensor.Tensor, from int, items []int32) {
	for i := range items {
		var ok bool
		switch t.DType() {
		case tensor.String:
			items[i], ok = o.strings[t.Strings()[from+i]]
		case tensor.I32:
			items[i], ok = o.ints[int64(tensor.View[int32](t)[from+i])]
		default:
			items[i], ok = o.ints[tensor.View[int64](t)[from+i]]
		}
		if !ok {
			items[i] = -1
		}
	}
}

// count adds the n-grams of items to counts. Those of one item do not depend on
// skips and count once.
func (o *TfIdf) count(items []int32, counts []int) {
	for distance := 1; distance == 1 || distance-1 <= o.Skips && distance < len(items) && o.most > 1; distance++ {
		for start := range items {
			node := int32(0)
			for size, at := 1, start; size <= o.most && at < len(items); size, at = size+1, at+distance {
				next, ok := o.tree[gramStep{node, items[at]}]
				if !ok {
					break
				}
				node = next + 1
				if gram := o.leaves[node]; gram != 0 && (size > 1 || distance == 1) {
					counts[gram-1]++
				}
			}
		}
	}
}

// weigh writes a row of the output.
func (o *TfIdf) weigh(counts []int, row []float32) {
	clear(row)
	for gram, n := range counts {
		if n == 0 {
			continue
		}
		v := float32(n)
		if !o.Counted() {
			v = 1
		}
		if o.Weighted() {
			v *= o.weights[gram]
		}
		row[o.indexes[gram]] += v
	}
}
