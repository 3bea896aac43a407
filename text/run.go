package text

import (
	"cmp"
	"context"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
)

// A result is the part of an output for one text: rows for its tokens, or one row.
type result struct {
	rows    []float32
	columns int
}

// row returns row i.
func (r result) row(i int) []float32 { return r.rows[i*r.columns : (i+1)*r.columns] }

// run gives every encoding to the network, and calls use for each with its result, in any order.
func (n *network) run(ctx context.Context, list []*tokenizer.Encoding, use func(i int, r result) error) error {
	order := make([]int, len(list))
	for i := range order {
		if order[i] = i; len(list[i].IDs) == 0 {
			return errorf(nacre.ErrShape, "%s: text %d has no tokens", n.folder.path, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(list[a].IDs), len(list[b].IDs)) })
	for len(order) > 0 {
		size := min(n.batch, len(order))
		if _, masked := n.inputs[inputMask]; !masked { // only texts of one length run together
			same := 1
			for same < size && len(list[order[same]].IDs) == len(list[order[0]].IDs) {
				same++
			}
			size = same
		}
		if err := n.runBatch(ctx, list, order[:size], use); err != nil {
			return err
		}
		order = order[size:]
	}
	return nil
}

// runBatch runs the encodings of these numbers together.
func (n *network) runBatch(
	ctx context.Context, list []*tokenizer.Encoding, numbers []int, use func(i int, r result) error,
) error {
	ids := n.inputs[inputIDs]
	rows, length := len(numbers), 1
	if b := ids.Shape[0]; !b.Open() {
		rows = b.Size
	}
	for _, i := range numbers {
		length = max(length, len(list[i].IDs))
	}
	if s := ids.Shape[1]; !s.Open() {
		length = s.Size
	}
	in := make(map[string]*nacre.Tensor, len(n.inputs))
	for name, info := range n.inputs {
		t, err := n.input(name, info, list, numbers, rows, length)
		if err != nil {
			return err
		}
		in[name] = t
	}
	out, err := n.session.Run(ctx, in)
	if err != nil {
		return err
	}
	t := out[n.output]
	shape := t.Shape()
	if len(shape) != n.rank || shape[0] != rows || n.rank == 3 && shape[1] != length || n.rank > 3 {
		return n.errShape(shape)
	}
	values, err := nacre.Float32s(t)
	if err != nil {
		return err
	}
	t.Release()
	each := len(values) / rows
	for k, i := range numbers {
		r := result{values[k*each : (k+1)*each], shape[n.rank-1]}
		if n.rank == 3 {
			r.rows = r.rows[:len(list[i].IDs)*r.columns]
		}
		if err := use(i, r); err != nil {
			return err
		}
	}
	return nil
}

// input makes an input of a batch.
func (n *network) input(
	name string, info nacre.Info, list []*tokenizer.Encoding, numbers []int, rows, length int,
) (*nacre.Tensor, error) {
	if n.padded(name, list, numbers, length) {
		return nil, errorf(nacre.ErrUnsupported,
			"%s: the network takes %d tokens and has no input %s, so shorter texts cannot be told from padding",
			n.file(), length, inputMask)
	}
	data := make([]int64, rows*length)
	for k := range rows {
		e := list[numbers[min(k, len(numbers)-1)]] // a fixed batch repeats its last text
		row := data[k*length : (k+1)*length]
		for i := range row {
			row[i] = n.element(name, e, i)
		}
	}
	if info.DType == nacre.Int64 {
		return nacre.NewTensor(data, rows, length)
	}
	narrow := make([]int32, len(data))
	for i, v := range data {
		narrow[i] = int32(v)
	}
	return nacre.NewTensor(narrow, rows, length)
}

// padded reports whether a network without a mask would see padding.
func (n *network) padded(name string, list []*tokenizer.Encoding, numbers []int, length int) bool {
	if _, masked := n.inputs[inputMask]; masked || name != inputIDs {
		return false
	}
	return slices.ContainsFunc(numbers, func(i int) bool { return len(list[i].IDs) < length })
}

// element returns token i of a text in an input.
func (n *network) element(name string, e *tokenizer.Encoding, i int) int64 {
	inside := i < len(e.IDs)
	switch name {
	case inputIDs:
		if inside {
			return int64(e.IDs[i])
		}
		return int64(n.pad)
	case inputTypes:
		if inside {
			return int64(e.TypeIDs[i])
		}
		return int64(n.padType)
	case inputMask:
		if inside {
			return 1
		}
		return 0
	}
	return int64(i) // positions
}
