package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The kinds of lengths, as attention/lengths numbers them.
const (
	lengthsLast = iota
	lengthsKeys
	lengthsPast
)

// lengths is a dispatch of attention/lengths.
type lengths struct {
	kind, batch, tokens int
	room, past          int
	ends                bool
	limits              *limits // the extents that room and past are; nil if commands follow lengths otherwise
}

// lengths adds the dispatch, and returns the scratch for its result. Input has the number of keys
// or the last position of each batch, and input all the number of keys of all; negative for none.
func (b *binder) lengths(l lengths, input, all int) (device.Operand, error) {
	to := b.temp(4 * (2*l.batch + 1))
	n, m, total := b.intWords(b.DType(input)), 1, device.Operand{}
	if all >= 0 {
		m, total = b.intWords(b.DType(all)), b.in(all)
	}
	var w words
	w.int(l.batch, l.tokens)
	constants := []uint32{uint32(l.kind), uint32(kit.Btoi(l.ends)), uint32(n), uint32(m)}
	err := b.flat("attention/lengths", "i32", l.batch, constants, w, b.in(input), total, to,
		b.fault("the keys of batch %d are not as many as there is room for"), constant(int32(l.room), int32(l.past)))
	if n := len(b.step.Commands); err == nil && n > 0 {
		b.step.Commands[n-1].Kernel.(*kernel).limits = l.limits
	}
	return to, err
}

// appending describes rows that are appended to a cache of keys or values.
type appending struct {
	kept    int            // rows of the past that count; not used with lengths
	lengths device.Operand // none if all batches have the same number of rows
	bias    device.Operand // none without a bias
	biasAt  int            // first element of the bias
	room    int            // rows of the cache; 0 for kept and the new ones
	masked  bool           // a mask has as many columns as rows count
}

// grown returns x appended to the past in an input. The result is in an output if the node has it,
// else in scratch. A past that shares the output's memory stays in place. Without past, output and
// bias, grown returns x.
func (b *binder) grown(x headRows, past, output int, a appending) (headRows, error) {
	hasPast, wants := past >= 0 && b.Has(past), output >= 0 && b.Wants(output)
	if !hasPast && !wants && a.bias.Place == device.None {
		return x, nil
	}
	d := b.DType(0)
	switch {
	case hasPast:
		d = b.DType(past)
	case wants:
		d = b.Out[output].DType
	}
	if d != b.DType(0) && d != tensor.I8 || x.coded {
		return x, device.Refuse("the cache is %v, and the new rows are %v or codes", d, b.DType(0))
	}
	if a.room == 0 {
		a.room = a.kept + x.rows
	}
	c := cache{rows: a.room, room: a.room, coded: d == tensor.I8}
	if hasPast {
		c.from, c.pastRoom = b.in(past), b.memory(past)[2]
	}
	switch {
	case wants:
		c.at, c.room = b.out(output), b.outMemory(output)[2]
		c.inPlace = hasPast && b.isRoom(past, output)
	default:
		c.at = b.temp(d.Bytes(x.batch * x.heads * a.room * cacheWidth(d, x.size)))
	}
	return b.append(x, a, c)
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

// append adds the dispatch of attention/append or attention/append_codes, and returns the cache.
func (b *binder) append(x headRows, a appending, c cache) (headRows, error) {
	variant := b.floatName(b.DType(0))
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

func bindMultiHeadAttention(o *attention.MultiHeadAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.MultiKey, attention.MultiValue, attention.MultiPastKey, attention.MultiPastValue},
		[]int{1, 2}); err != nil {
		return err
	}
	if err := b.checkRows(attention.MultiKey, attention.MultiValue); err != nil {
		return err
	}
	operands := func(in []*op.Value) (q, k, v attention.MultiHeadOperand, err error) {
		return o.Operands(append(slices.Clone(in), make([]*op.Value, max(attention.MultiPastLength+1-len(in), 0))...))
	}
	qh, kh, vh, err := operands(b.InMemory())
	if err != nil {
		return err
	}
	_, keys, values, err := operands(b.In)
	if err != nil {
		return err
	}
	kh.Rows, vh.Rows = keys.Rows, values.Rows
	var x [3]headRows
	for i, h := range []attention.MultiHeadOperand{qh, kh, vh} {
		if x[i], err = heads(b.in(h.Input), b.DType(h.Input), h.HeadRows); err != nil {
			return err
		}
	}
	a := &attending{
		scale: o.Scale, causal: o.Causal, filter: o.Filter, there: attention.MultiMask, scores: attention.MultiScores,
		stage: attention.ScoresBiased, sideBySide: true, nan: attention.NaNKept,
	}
	grow := appending{}
	if b.Has(attention.MultiPastKey) {
		rows := b.Shape(attention.MultiPastKey)[2]
		if grow.kept = rows; b.Has(attention.MultiPastLength) {
			l := lengths{kind: lengthsPast, batch: x[1].batch, tokens: x[1].rows, room: rows, past: rows}
			if a.lengths, err = b.lengths(l, attention.MultiPastLength, -1); err != nil {
				return err
			}
			grow = appending{lengths: a.lengths, room: rows}
		}
	}
	a.past = grow.kept
	for i, h := range []attention.MultiHeadOperand{qh, kh, vh} {
		own, past, output := grow, attention.MultiPastKey+i-1, i
		if i == 0 {
			own, past, output = appending{}, -1, -1
		}
		if h.Biased {
			at, err := known(h.Bias)
			if err != nil {
				return err
			}
			own.bias, own.biasAt = b.in(attention.MultiBias), at[0]
		}
		if x[i], err = b.grown(x[i], past, output, own); err != nil {
			return err
		}
	}
	a.q, a.k, a.v = x[0], x[1], x[2]
	return b.attend(a)
}

func bindGroupQueryAttention(o *attention.GroupQueryAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.GroupPastKey, attention.GroupPastValue}, []int{1, 2}); err != nil {
		return err
	}
	if b.Wants(3) {
		return device.Refuse("scores are a result, and batches have different numbers of keys")
	}
	in := make([]*op.Value, max(len(b.In), attention.GroupKeyNorm+1))
	copy(in, b.In)
	qh, kh, vh, err := o.Operands(in)
	if err != nil {
		return err
	}
	inputs := [3]int{attention.GroupQuery, attention.GroupKey, attention.GroupValue}
	if !b.Has(attention.GroupKey) {
		inputs = [3]int{}
	}
	var x [3]headRows
	for i, h := range []attention.HeadRows{qh, kh, vh} {
		if x[i], err = heads(b.in(inputs[i]), b.DType(inputs[i]), h); err != nil {
			return err
		}
	}
	past, room, err := b.groupRoom(x[1].rows)
	if err != nil {
		return err
	}
	a := &attending{scale: o.Scale, cap: o.Softcap, causal: o.Causal, window: o.Window, scores: attention.GroupScores,
		there: -1, stage: -1, sideBySide: true, nan: attention.NaNKept}
	switch {
	case b.Has(attention.GroupSink):
		a.sink, a.sinkInput = givenSinks, attention.GroupSink
	case o.Smooth:
		a.sink = zeroSinks
	}
	l := lengths{kind: lengthsLast, batch: x[0].batch, tokens: x[0].rows, room: room, past: past}
	if !b.Has(attention.GroupScores) && b.isRoom(attention.GroupPastKey, 1) && b.isRoom(attention.GroupPastValue, 2) {
		l.limits = &limits{
			extents: []extent{{isOut: true, operand: 1, axis: 2}, {operand: attention.GroupPastKey, axis: 2}},
			outputs: []int{2}, inputs: []int{attention.GroupPastValue},
		}
	}
	if a.lengths, err = b.lengths(l, attention.GroupLast, attention.GroupTotal); err != nil {
		return err
	}
	for i, norm := range []int{attention.GroupQueryNorm, attention.GroupKeyNorm} {
		if x[i], err = b.normalisedHeads(x[i], norm, float64(o.Epsilon)); err != nil {
			return err
		}
	}
	for i := 0; i < 2 && o.Rotary; i++ {
		if x[i], err = b.rotatedHeads(x[i], o.Interleaved, attention.GroupCos, attention.GroupSin, attention.GroupPositions,
			a.lengths); err != nil {
			return err
		}
	}
	for i := 1; i < 3; i++ {
		if x[i], err = b.grown(x[i], attention.GroupPastKey+i-1, i, appending{lengths: a.lengths, room: room,
			masked: b.Has(attention.GroupScores)}); err != nil {
			return err
		}
	}
	a.q, a.k, a.v = x[0], x[1], x[2]
	return b.attend(a)
}

// normalisedHeads returns queries or keys with each head scaled to a mean square of 1 and
// multiplied by an input of weights. Without that input it returns x.
func (b *binder) normalisedHeads(x headRows, weights int, epsilon float64) (headRows, error) {
	if !b.Has(weights) {
		return x, nil
	}
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
		scale: b.in(weights), y: y.at})
}

// groupRoom returns the rows of the past, and the rows of the cache.
func (b *binder) groupRoom(rows int) (past, room int, err error) {
	if !b.Has(attention.GroupPastKey) {
		return 0, rows, nil
	}
	past = b.Shape(attention.GroupPastKey)[2]
	if b.Wants(1) {
		return past, b.OutShape(1)[2], nil
	}
	if list, ok := b.In[attention.GroupTotal].IntVec(); ok && len(list) == 1 {
		n, err := known(list[0])
		if err != nil {
			return past, 0, err
		}
		return past, max(past, n[0]), nil
	}
	return past, 0, device.Refuse("the number of keys is known only while running")
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
	qh, kh, vh, err := o.Operands(b.In)
	if err != nil {
		return err
	}
	a := &attending{scale: o.Scale, causal: o.Causal, filter: o.Filter, there: attention.ProjectedMask,
		scores: attention.ProjectedScores, stage: -1, sideBySide: true}
	for i, h := range []attention.HeadRows{qh, kh, vh} {
		if *[]*headRows{&a.q, &a.k, &a.v}[i], err = heads(all, d, h); err != nil {
			return err
		}
	}
	grow := appending{}
	if b.Has(attention.ProjectedPast) {
		rows := b.Shape(attention.ProjectedPast)[3]
		if grow.kept = rows; o.Shared {
			l := lengths{kind: lengthsPast, batch: a.k.batch, tokens: a.k.rows, room: rows, past: rows}
			if a.lengths, err = b.lengths(l, attention.ProjectedPastLength, -1); err != nil {
				return err
			}
			grow = appending{lengths: a.lengths, room: rows}
		}
	}
	if grow.room == 0 {
		grow.room = grow.kept + a.k.rows
	}
	a.past = grow.kept
	for _, x := range []*headRows{&a.q, &a.k} {
		if *x, err = b.rotatedAfter(o, *x, grow); err != nil {
			return err
		}
	}
	if !b.Has(attention.ProjectedPast) && !b.Wants(1) {
		return b.attend(a)
	}
	return b.attendHalves(a, grow, d)
}

// attendHalves appends keys and values to the two halves of a cache, and attends to them.
func (b *binder) attendHalves(a *attending, grow appending, d tensor.DType) (err error) {
	c := cache{rows: grow.room, room: grow.room}
	if b.Has(attention.ProjectedPast) {
		c.from, c.pastRoom = b.in(attention.ProjectedPast), b.memory(attention.ProjectedPast)[3]
	}
	if b.Wants(1) {
		c.at, c.room = b.out(1), b.outMemory(1)[3]
		c.inPlace = b.isRoom(attention.ProjectedPast, 1)
	} else {
		c.at = b.temp(d.Bytes(2 * a.k.batch * a.k.heads * c.room * a.k.size))
	}
	head := a.k.batch * a.k.heads * a.k.size
	if a.k, err = b.append(a.k, grow, c); err != nil {
		return err
	}
	c.fromAt, c.start = head*c.pastRoom, head*c.room
	if a.v, err = b.append(a.v, grow, c); err != nil {
		return err
	}
	return b.attend(a)
}
