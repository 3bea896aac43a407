package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lengths adds a dispatch, and returns the scratch for its result. If caches are in memory with room,
// commands change with the lengths of the caches only in its limits.
func (b *binder) Lengths(l *lower.Lengths) (device.Operand, error) {
	n := b.known(l.Batch, l.Tokens, l.Room, l.Past)
	to, all := b.temp(4*(2*n[0]+1)), 1
	if l.All.Place != device.None {
		all = b.intWords(l.All.DType)
	}
	var w words
	w.int(n[0], n[1])
	constants := []uint32{uint32(l.Kind), uint32(kit.Btoi(l.Ends)), uint32(b.intWords(l.Counts.DType)), uint32(all)}
	err := b.flat("attention/lengths", "i32", n[0], constants, w, l.Counts.Operand, l.All.Operand, to,
		b.fault("the keys of batch %d are not as many as there is room for"), constant(int32(n[2]), int32(n[3])))
	if c := b.step.Commands; err == nil && len(c) > 0 && l.Kind == lower.LengthsLast && !b.Has(attention.GroupScores) &&
		b.isRoom(attention.GroupPastKey, 1) && b.isRoom(attention.GroupPastValue, 2) {
		c[len(c)-1].Kernel.(*kernel).limits = &limits{
			extents: []extent{{isOut: true, operand: 1, axis: 2}, {operand: attention.GroupPastKey, axis: 2}},
			outputs: []int{2}, inputs: []int{attention.GroupPastValue},
		}
	}
	return to, err
}

// appending describes rows that are appended to a cache of keys or values.
type appending struct {
	kept    int            // rows of the past that count; not used with lengths
	lengths device.Operand // none if all batches have the same number of rows
	bias    device.Operand // none without a bias
	biasAt  int            // first element of the bias
	masked  bool           // a mask has as many columns as rows count
}

// Append adds a dispatch. A past that shares the output's memory stays in place.
func (b *binder) Append(from lower.Heads, l *lower.Append) (lower.Heads, error) {
	x := b.numbers(from)
	n := b.known(l.Kept, l.BiasAt, l.Room, l.PastMemory, l.CacheRows, l.PastAt, l.CacheAt)
	d := l.DType
	if d == tensor.Invalid {
		d = from.DType
	}
	if d != from.DType && d != tensor.I8 || x.coded {
		return from, device.Refuse("the cache is %v, and the new rows are %v or codes", d, from.DType)
	}
	a := appending{kept: n[0], lengths: l.Lengths, bias: l.Bias.Operand, biasAt: n[1], masked: l.Masked}
	c := cache{from: l.Past, fromAt: n[5], pastRoom: n[3], at: l.Cache, start: n[6], rows: n[2], room: n[2],
		coded: d == tensor.I8}
	if c.at.Place == device.None {
		c.at = b.temp(d.Bytes(x.batch * x.heads * c.rows * cacheWidth(d, x.size)))
	} else {
		isState := c.from.Place == device.In && c.at.Place == device.Out && b.isRoom(c.from.Index, c.at.Index)
		c.room, c.inPlace = n[4], isState
	}
	y, err := b.append(b.floatName(from.DType), x, a, c)
	return y.lowered(d), err
}

// isRoom reports whether input i and output k are both in memory with room, as states are.
func (b *binder) isRoom(i, k int) bool {
	return i < len(b.InRoom) && b.InRoom[i] != nil && k < len(b.OutRoom) && b.OutRoom[k] != nil
}

// cache is the memory for the rows of a past and the rows appended to them.
type cache struct {
	from       device.Operand // the past; none without
	fromAt     int            // first element of the past
	pastRoom   int            // rows of a head that its memory has room for
	at         device.Operand
	start      int // first element of the cache
	rows, room int // rows of a head that count, and rows that memory has room for
	inPlace    bool
	coded      bool // rows are codes with their scales
}

// written returns the number of rows of a head that are written if x is appended.
func (c *cache) written(x headRows) int {
	if c.inPlace {
		return x.rows
	}
	return c.rows
}

// seen returns the rows of a head that attention is bound for. If lengths say how many count, the
// room serves all of them, and commands do not change while the cache grows.
func (a *appending) seen(c cache) int {
	if c.inPlace && a.lengths.Place != device.None && !a.masked {
		return c.room
	}
	return c.rows
}

// appended is the work of a dispatch of attention/append: x becomes rows of a cache.
type appended struct {
	x headRows
	appending
	cache
}

// isPlain reports whether the past stays in place and no bias is added.
func (a *appended) isPlain() bool { return a.inPlace && a.bias.Place == device.None }

// constants returns the specialization constants of attention/append and attention/append_codes.
func (a *appending) constants(c cache) []uint32 {
	return []uint32{uint32(kit.Btoi(a.lengths.Place != device.None)), uint32(kit.Btoi(c.inPlace)),
		uint32(kit.Btoi(a.bias.Place != device.None))}
}

// append adds the dispatch of attention/append or attention/append_codes, and returns the cache. The
// variant is of the new rows.
func (b *binder) append(variant string, x headRows, a appending, c cache) (headRows, error) {
	if c.coded {
		return b.appendCodes(variant, x, a, c)
	}
	total := x.batch * x.heads * c.written(x) * x.size
	var w words
	w.int(total, x.heads, x.rows, x.size, a.kept)
	w.heads(x)
	w.int(a.biasAt, c.fromAt, c.pastRoom*x.size, c.start, c.written(x), c.room*x.size)
	y := whole(c.at, x.batch, x.heads, a.seen(c), x.size, c.room)
	y.start = c.start
	defer b.does(&appended{x, a, c}, "attention/append")
	return y, b.flat("attention/append", variant, total, a.constants(c), w, c.from, x.at, a.bias, a.lengths, c.at)
}

// normalisedHeads returns queries or keys with each head scaled to a mean square of 1 and
// multiplied by weights.
func (b *binder) normalisedHeads(x headRows, weights device.Operand, epsilon float64) (headRows, error) {
	d, y, from := b.DType(0), b.sideBySide(x), x.at
	if x.start != 0 || x.perBatch != y.perBatch || x.perHead != y.perHead || x.perRow != y.perRow {
		axes := []axisSteps{{x.batch, x.perBatch, y.perBatch}, {x.rows, x.perRow, y.perRow},
			{x.heads, x.perHead, y.perHead}, {x.size, 1, 1}}
		from = b.temp(d.Bytes(x.len()))
		if err := b.strided(d, x.start, 0, axes, x.at, from); err != nil {
			return x, err
		}
	}
	return y, b.normRows(b.floatName(d), &rows{rows: x.batch * x.rows * x.heads, n: x.size, epsilon: epsilon, x: from,
		scale: weights, y: y.at})
}

// bindProjectedAttention computes queries, keys and values by one product, side by side in rows,
// and attends to them.
func bindProjectedAttention(o *attention.ProjectedAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.ProjectedPast}, []int{1}); err != nil {
		return err
	}
	d := b.DType(0)
	x, columns := b.Shape(attention.ProjectedInput), b.Shape(attention.ProjectedWeights)
	p := &product{m: x[0] * x[1], n: columns[1], k: columns[0], aRow: columns[0], aCol: 1, bRow: columns[1], bCol: 1}
	all := b.temp(d.Bytes(p.m * p.n))
	bias := addend{operand: b.in(attention.ProjectedBias), col: 1, beta: 1}
	m := &multiplying{product: p, dtype: d, left: b.in(attention.ProjectedInput),
		right: b.in(attention.ProjectedWeights), out: all, alpha: 1, c: bias}
	if err := b.products(m); err != nil {
		return err
	}
	return lower.AttendProjected(o, b, d, all)
}
