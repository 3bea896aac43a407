package ml

import (
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// relabel replaces every element by its value in a table.
type relabel struct{ tables []*table } // one per element type of the input

// table maps elements of one type to values.
type table struct {
	keys   tensor.DType
	texts  map[string]int
	bits   map[uint64]int
	near   []int64 // the indices of integer keys from first on; nil if the keys are spread too far
	first  int64
	values *tensor.Tensor // a vector; the last element serves elements without a key
}

// newTable pairs the elements of keys and values. If a key occurs twice, the first counts if first
// is set, otherwise the last.
func newTable(keys, values, other *tensor.Tensor, first bool) (*table, error) {
	n := keys.Len()
	if values.Len() != n {
		return nil, graph.Errorf(graph.ErrFormat, "%d keys have %d values", n, values.Len())
	}
	if other.DType() != values.DType() || other.Len() != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "the default is %v and values are %v", other, values)
	}
	t := &table{keys: keys.DType(), values: tensor.New(values.DType(), n+1)}
	copy(t.values.Strings(), values.Strings())
	copy(t.values.Bytes(), values.Bytes())
	copy(t.values.Bytes()[len(values.Bytes()):], other.Bytes())
	if values.DType() == tensor.String {
		t.values.Strings()[n] = other.Strings()[0]
	}
	if keys.DType() == tensor.String {
		t.texts = make(map[string]int, n)
		for i, s := range keys.Strings() {
			if _, there := t.texts[s]; !there || !first {
				t.texts[s] = i
			}
		}
		return t, nil
	}
	t.bits = make(map[uint64]int, n)
	err := eachKey(keys, func(i int, bits uint64) {
		if _, there := t.bits[bits]; !there || !first {
			t.bits[bits] = i
		}
	})
	if keys.DType() == tensor.I64 || keys.DType() == tensor.I32 {
		t.list()
	}
	return t, err
}

// list makes the list of indices if the integer keys are near each other.
func (t *table) list() {
	const spread = 8 // at most so many entries per key
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for bits := range t.bits {
		low, high = min(low, int64(bits)), max(high, int64(bits))
	}
	if size := uint64(high) - uint64(low); len(t.bits) > 0 && size < uint64(spread*len(t.bits)) {
		t.first, t.near = low, make([]int64, size+1)
		for i := range t.near {
			t.near[i] = int64(t.values.Len() - 1)
		}
		for bits, k := range t.bits {
			t.near[int64(bits)-low] = int64(k)
		}
	}
}

// findNear is find for integers with a list of indices.
func findNear[T int32 | int64](t *table, x []T, index []int64) {
	none := int64(t.values.Len() - 1)
	for i, v := range x {
		if k := uint64(int64(v)) - uint64(t.first); k < uint64(len(t.near)) {
			index[i] = t.near[k]
		} else {
			index[i] = none
		}
	}
}

func isTableKey(d tensor.DType) bool {
	switch d {
	case tensor.I64, tensor.I32, tensor.I16, tensor.F32, tensor.F64:
		return true
	}
	return false
}

// eachKey calls f with bits that identify each number. All NaNs have the same bits, and so have
// both zeros.
func eachKey(t *tensor.Tensor, f func(i int, bits uint64)) error {
	t = t.Aligned()
	switch d := t.DType(); {
	case !isTableKey(d):
		return graph.Errorf(graph.ErrUnsupported, "keys of type %v", d)
	case d.IsFloat():
		for at, list := range blocksOf[float64](t) {
			for i, v := range list {
				f(at+i, floatKey(v))
			}
		}
	default:
		for at, list := range blocksOf[int64](t) {
			for i, v := range list {
				f(at+i, uint64(v))
			}
		}
	}
	return nil
}

func floatKey(v float64) uint64 {
	switch {
	case v != v:
		return math.Float64bits(math.NaN())
	case v == 0:
		return 0
	}
	return math.Float64bits(v)
}

// find stores in index, for each element of x, the index of its value.
func (t *table) find(pace *op.Pace, x *tensor.Tensor, index []int64) error {
	none := int64(t.values.Len() - 1)
	if t.keys == tensor.String {
		for i, s := range x.Strings() {
			pace.Work(32 + len(s))
			index[i] = none
			if k, ok := t.texts[s]; ok {
				index[i] = int64(k)
			}
		}
		return nil
	}
	switch {
	case t.near == nil:
	case x.DType() == tensor.I64:
		findNear(t, tensor.View[int64](x.Aligned()), index)
		return nil
	case x.DType() == tensor.I32:
		findNear(t, tensor.View[int32](x.Aligned()), index)
		return nil
	}
	return eachKey(x, func(i int, bits uint64) {
		pace.Work(32)
		index[i] = none
		if k, ok := t.bits[bits]; ok {
			index[i] = int64(k)
		}
	})
}

func (o *relabel) table(d tensor.DType) (*table, error) {
	for _, t := range o.tables {
		if t.keys == d {
			return t, nil
		}
	}
	return nil, graph.Errorf(graph.ErrShape, "elements are of type %v and keys of type %v", d, o.tables[0].keys)
}

// Infer keeps the extents.
func (o *relabel) Infer(c *op.Infer) error {
	t, err := o.table(c.In[0].DType)
	if err != nil {
		return err
	}
	c.Set(0, t.values.DType(), c.In[0].Dims)
	return nil
}

// Run looks up every element.
func (o *relabel) Run(c *op.Run) error {
	x := c.In[0]
	t, err := o.table(x.DType())
	if err != nil {
		return err
	}
	index, err := c.ScratchInt64s(x.Len())
	if err != nil {
		return err
	}
	if err := t.find(c.Pace(), x, index); err != nil {
		return err
	}
	switch y := c.Out[0]; {
	case len(index) == 0:
	case y.DType() == tensor.F32:
		lookUp(tensor.View[float32](t.values), tensor.View[float32](y), index)
	case y.DType() == tensor.I64:
		lookUp(tensor.View[int64](t.values), tensor.View[int64](y), index)
	default:
		kit.GatherBlocks(c.Pace(), t.values, y, index, 1, t.values.Len(), 1)
	}
	return nil
}

func lookUp[T any](values, out []T, index []int64) {
	for i, k := range index {
		out[i] = values[k]
	}
}

// defaultText and defaultNumber return the node's defaults, or the standard's.
func defaultText(n *op.Node) *tensor.Tensor {
	t, _ := tensor.FromStrings([]string{n.Str("default_string", "_Unused")})
	return t
}

func defaultNumber(n *op.Node) *tensor.Tensor { return kit.Scalar(int64(n.Int("default_int64", -1))) }

// newBothWays returns an operator that maps strings to integers and integers to strings.
func newBothWays(n *op.Node, texts, numbers *tensor.Tensor) (op.Op, error) {
	toNumbers, err := newTable(texts, numbers, defaultNumber(n), false)
	if err != nil {
		return nil, err
	}
	toTexts, err := newTable(numbers, texts, defaultText(n), false)
	if err != nil {
		return nil, err
	}
	return &relabel{[]*table{toNumbers, toTexts}}, nil
}

func textVector(list []string) *tensor.Tensor {
	t, _ := tensor.FromStrings(list, len(list))
	return t
}

func newCategoryMapper(n *op.Node) (op.Op, error) {
	return newBothWays(n, textVector(n.Strs("cats_strings")), kit.Int64Vector(n.Ints("cats_int64s")))
}

func newLabelEncoder(n *op.Node) (op.Op, error) {
	if n.Since < 2 {
		texts := n.Strs("classes_strings")
		places := make([]int, len(texts))
		for i := range places {
			places[i] = i
		}
		return newBothWays(n, textVector(texts), kit.Int64Vector(places))
	}
	keys, err := readColumn(n, "keys")
	if err != nil {
		return nil, err
	}
	values, err := readColumn(n, "values")
	if err != nil {
		return nil, err
	}
	other, err := readDefault(n, values.DType())
	if err != nil {
		return nil, err
	}
	t, err := newTable(keys, values, other, n.Since < 4)
	if err != nil {
		return nil, err
	}
	return &relabel{[]*table{t}}, nil
}

// readColumn returns the only list among the attributes that begin with name.
func readColumn(n *op.Node, name string) (*tensor.Tensor, error) {
	var found []*tensor.Tensor
	if list := n.Strs(name + "_strings"); len(list) > 0 {
		found = append(found, textVector(list))
	}
	if list := n.Ints(name + "_int64s"); len(list) > 0 {
		found = append(found, kit.Int64Vector(list))
	}
	if list := n.Floats(name + "_floats"); len(list) > 0 {
		t, _ := tensor.From(list, len(list))
		found = append(found, t)
	}
	if n.Since >= 4 {
		if t := n.Tensor(name + "_tensor"); t != nil {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "%d of the attributes %s_* hold something; one must", len(found), name)
	}
	if d := found[0].DType(); d != tensor.String && !isTableKey(d) {
		return nil, graph.Errorf(graph.ErrUnsupported, "attribute %s_tensor has elements of type %v", name, d)
	}
	return found[0], nil
}

// readDefault returns the value, of type d, for elements that the table lacks.
func readDefault(n *op.Node, d tensor.DType) (*tensor.Tensor, error) {
	text, number := defaultText(n), defaultNumber(n)
	float := n.Float("default_float", float32(math.Copysign(0, -1)))
	if n.Since >= 4 {
		if t := n.Tensor("default_tensor"); t != nil {
			return t, nil
		}
	}
	t := tensor.New(d)
	switch {
	case d == tensor.String:
		return text, nil
	case d.IsFloat():
		elements.Put(t, 0, []float32{float})
	default:
		elements.Put(t, 0, tensor.View[int64](number))
	}
	return t, nil
}

var labelRows = []op.Row{
	newRow("CategoryMapper", op.Types{tensor.String, tensor.I64}, newCategoryMapper),
	{Domain: domain, Name: "LabelEncoder", Since: []int{1, 2, 4}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		Types: op.Types{tensor.String, tensor.I64, tensor.F32, tensor.I32, tensor.I16, tensor.F64}, Items: kit.ItemsKept, New: newLabelEncoder},
}
