package ml

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mapOf returns the map of input 0 and the indices of its pairs in ascending order of keys.
func mapOf(c *op.Run) (m *tensor.Map, order []int, err error) {
	m, ok := c.Values[0].(*tensor.Map)
	if !ok || m.Keys == nil || m.Values == nil || m.Keys.Len() != m.Values.Len() {
		return nil, nil, graph.Errorf(graph.ErrShape, "input is %v, no map of keys to values", c.Values[0])
	}
	order = make([]int, m.Keys.Len())
	for i := range order {
		order[i] = i
	}
	switch m.Keys.DType() {
	case tensor.String:
		keys := m.Keys.Strings()
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	case tensor.I64:
		keys := tensor.View[int64](m.Keys.Aligned())
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	default:
		return nil, nil, graph.Errorf(graph.ErrUnsupported, "input is %v; keys must be int64 or string", m)
	}
	return m, order, nil
}

// mapTypes returns the types of keys and values of the map of input 0.
func mapTypes(c *op.Infer) (key, value tensor.DType, err error) {
	t := c.In[0].Type
	if t.Kind != graph.MapType || t.Elem == nil {
		return key, value, graph.Errorf(graph.ErrShape, "input is %v, no map", t)
	}
	return t.Key, t.Elem.DType, nil
}

// castMap stores the values of a map with integer keys in a matrix of one row. The dense form
// orders values by key. The sparse form uses keys as indices and fills the gaps with 0, or "0.f" as
// text.
type castMap struct {
	to     tensor.DType
	sparse bool
	length int // elements of a sparse result
}

func newCastMap(n *op.Node) (op.Op, error) {
	o := &castMap{length: n.Int("max_map", 1)}
	switch to := n.Str("cast_to", "TO_FLOAT"); to {
	case "TO_FLOAT":
		o.to = tensor.F32
	case "TO_INT64":
		o.to = tensor.I64
	case "TO_STRING":
		o.to = tensor.String
	default:
		return nil, graph.Errorf(graph.ErrFormat, "cast_to is %q, not TO_FLOAT, TO_INT64 or TO_STRING", to)
	}
	switch form := n.Str("map_form", "DENSE"); form {
	case "DENSE":
	case "SPARSE":
		o.sparse = true
		if o.length < 0 {
			return nil, graph.Errorf(graph.ErrFormat, "max_map is %d", o.length)
		}
	default:
		return nil, graph.Errorf(graph.ErrFormat, "map_form is %q, not DENSE or SPARSE", form)
	}
	return o, nil
}

func (o *castMap) Infer(c *op.Infer) error {
	key, value, err := mapTypes(c)
	if err != nil {
		return err
	}
	if key != tensor.I64 || value != tensor.F32 && value != tensor.String {
		return graph.Errorf(graph.ErrUnsupported, "input is %v; a map of int64 to float32 or string is needed", c.In[0].Type)
	}
	n := graph.Unknown()
	if o.sparse {
		n = graph.Known(o.length)
	}
	c.Set(0, o.to, graph.Dims{graph.Known(1), n})
	return nil
}

func (o *castMap) Run(c *op.Run) error {
	m, order, err := mapOf(c)
	if err != nil {
		return err
	}
	n := len(order)
	if o.sparse {
		n = o.length
	}
	y, err := c.Alloc(0, o.to, tensor.Shape{1, n})
	if err != nil {
		return err
	}
	clear(y.Bytes())
	for i := range y.Strings() {
		y.Strings()[i] = "0.f"
	}
	keys, numbers := tensor.View[int64](m.Keys.Aligned()), kit.Doubles(m.Values.Aligned())
	for i, from := range order {
		to := int64(i)
		if o.sparse {
			if to = keys[from]; to < 0 || to >= int64(n) {
				return graph.Errorf(graph.ErrShape, "key %d is not a place among %d", to, n)
			}
		}
		if numbers != nil {
			o.number(y, int(to), numbers[from])
		} else if err := o.text(y, int(to), m.Values.Strings()[from]); err != nil {
			return err
		}
	}
	return nil
}

// number stores v in element i of y, converted to its type.
func (o *castMap) number(y *tensor.Tensor, i int, v float64) {
	switch o.to {
	case tensor.String:
		y.Strings()[i] = strconv.FormatFloat(v, 'f', 6, 64)
	case tensor.I64:
		tensor.View[int64](y)[i] = int64(v)
	default:
		tensor.View[float32](y)[i] = float32(v)
	}
}

// text stores s, or the number it spells, in element i of y.
func (o *castMap) text(y *tensor.Tensor, i int, s string) error {
	switch o.to {
	case tensor.String:
		y.Strings()[i] = s
	case tensor.I64:
		v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return graph.Errorf(graph.ErrShape, "value %q is no int64", s)
		}
		tensor.View[int64](y)[i] = v
	default:
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
		if err != nil {
			return graph.Errorf(graph.ErrShape, "value %q is no float32", s)
		}
		tensor.View[float32](y)[i] = float32(v)
	}
	return nil
}

// dictVectorizer stores the values of a map in a matrix of one row, in the order of a vocabulary of
// keys. A key that the map lacks gives 0 or the empty string. Keys outside the vocabulary are
// ignored.
type dictVectorizer struct{ vocabulary labels }

func newDictVectorizer(n *op.Node) (op.Op, error) {
	l, err := readLabels(n, "int64_vocabulary", "string_vocabulary")
	return &dictVectorizer{l}, err
}

func (o *dictVectorizer) Infer(c *op.Infer) error {
	key, value, err := mapTypes(c)
	if err != nil {
		return err
	}
	if key != o.vocabulary.dtype() {
		return graph.Errorf(graph.ErrShape, "input is %v and the vocabulary of type %v", c.In[0].Type, o.vocabulary.dtype())
	}
	switch value {
	case tensor.F32, tensor.F64, tensor.I64, tensor.String:
	default:
		return graph.Errorf(graph.ErrUnsupported, "input is %v; values must be float32, float64, int64 or string",
			c.In[0].Type)
	}
	c.Set(0, value, graph.Dims{graph.Known(1), graph.Known(o.vocabulary.count())})
	return nil
}

// tableBytes estimates the bytes needed to find one key of a map: its index, its entry in a table
// and its value.
const tableBytes = 128

func (o *dictVectorizer) Run(c *op.Run) error {
	m, _, err := mapOf(c)
	if err != nil {
		return err
	}
	if err := c.Mem.Reserve(m.Keys.Len() * tableBytes); err != nil {
		return err
	}
	places := make([]int, m.Keys.Len())
	for i := range places {
		places[i] = i
	}
	where, err := newTable(m.Keys, kit.Int64Vector(places), kit.Scalar(int64(-1)), false)
	if err != nil {
		return err
	}
	index, err := c.ScratchInt64s(o.vocabulary.count())
	if err != nil {
		return err
	}
	if err := where.find(c.Pace(), o.vocabulary.vector(), index); err != nil {
		return err
	}
	y, err := c.Alloc(0, m.Values.DType(), tensor.Shape{1, len(index)})
	if err != nil {
		return err
	}
	// One more value, 0, serves keys that the map lacks.
	values := tensor.New(m.Values.DType(), m.Values.Len()+1)
	copy(values.Bytes(), m.Values.Bytes())
	copy(values.Strings(), m.Values.Strings())
	kit.GatherBlocks(c.Pace(), values, y, index, 1, values.Len(), 1)
	return c.Mem.Reserve(-m.Keys.Len() * tableBytes)
}

// zipMap turns every row of a matrix into a map with the node's keys. A vector is one row. Maps are
// in ascending order of keys. If a key occurs twice, the last counts.
type zipMap struct {
	keys  *tensor.Tensor // ascending
	index []int64        // the column of each key
	count int            // of columns
}

func newZipMap(n *op.Node) (op.Op, error) {
	l, err := readLabels(n, "classlabels_int64s", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	if l.texts != nil {
		list, index := sortedKeys(l.texts)
		return &zipMap{textVector(list), index, l.count()}, nil
	}
	list, index := sortedKeys(l.numbers)
	t, _ := tensor.From(list, len(list))
	return &zipMap{t, index, l.count()}, nil
}

func sortedKeys[T cmp.Ordered](keys []T) (list []T, index []int64) {
	last := make(map[T]int64, len(keys))
	for i, k := range keys {
		last[k] = int64(i)
	}
	for k := range last {
		list = append(list, k)
	}
	slices.Sort(list)
	for _, k := range list {
		index = append(index, last[k])
	}
	return list, index
}

func (o *zipMap) Infer(c *op.Infer) error {
	_, n, err := rowDims(c.In[0])
	if err != nil {
		return err
	}
	if v, ok := n.Value(); ok && v != o.count {
		return graph.Errorf(graph.ErrShape, "input is %v and %d keys are listed", c.In[0].Type, o.count)
	}
	value := graph.TensorOf(tensor.F32, graph.Dims{})
	c.SetType(0, kit.SequenceOf(graph.Type{Kind: graph.MapType, Key: o.keys.DType(), Elem: &value}))
	return nil
}

func (o *zipMap) Run(c *op.Run) error {
	rows, n, err := matrixOf(c.In[0])
	if err != nil {
		return err
	}
	if n != o.count {
		return graph.Errorf(graph.ErrShape, "input is %v and %d keys are listed", c.In[0], o.count)
	}
	row := tensor.MapBytes + tensor.SizeOf(tensor.F32, tensor.Shape{len(o.index)})
	if err := c.Mem.Reserve(tensor.SequenceBytes(rows) + rows*row); err != nil {
		return err
	}
	x := tensor.View[float32](c.In[0])
	items, maps, all := make([]tensor.Value, rows), make([]tensor.Map, rows), make([]float32, rows*len(o.index))
	for r := range items {
		values := all[r*len(o.index):][:len(o.index)]
		for i, k := range o.index {
			values[i] = x[r*n+int(k)]
		}
	}
	vectors := tensor.Vectors(all, rows, len(o.index))
	for r := range items {
		maps[r] = tensor.Map{Keys: o.keys, Values: &vectors[r]}
		items[r] = &maps[r]
	}
	c.Set(0, &tensor.Sequence{Items: items})
	return nil
}

// makesRow returns the row of an operator with dynamic outputs.
func makesRow(name string, types op.Types, open func(n *op.Node) (op.Op, error)) op.Row {
	row := newRow(name, types, open)
	row.DynamicOutputs = true
	return row
}

var mapRows = []op.Row{
	takesMaps(makesRow("CastMap", nil, newCastMap)),
	takesMaps(makesRow("DictVectorizer", nil, newDictVectorizer)),
	makesRow("ZipMap", op.Types{tensor.F32}, newZipMap),
}

// takesMaps returns row for an operator that takes maps.
func takesMaps(row op.Row) op.Row {
	row.Kinds = true
	return row
}
