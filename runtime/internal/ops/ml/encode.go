package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// vectorizer puts the inputs' samples side by side. The node gives the width of each input; longer
// samples are cut and shorter ones padded with zeros.
type vectorizer struct {
	sizes []int
	total int
}

func newVectorizer(n *op.Node) (op.Op, error) {
	o := &vectorizer{sizes: n.Ints("inputdimensions")}
	if len(o.sizes) != len(n.Inputs) {
		return nil, graph.Errorf(graph.ErrFormat, "inputdimensions has %d elements for %d inputs", len(o.sizes),
			len(n.Inputs))
	}
	for _, size := range o.sizes {
		if size < 0 || size > kit.MaxElements || o.total > kit.MaxElements {
			return nil, graph.Errorf(graph.ErrFormat, "inputdimensions is %v", o.sizes)
		}
		o.total += size
	}
	return o, nil
}

func (o *vectorizer) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	all := graph.Unknown()
	for _, v := range c.In {
		rank, ok := v.Rank()
		if !ok {
			continue
		}
		if rank == 0 {
			return graph.Errorf(graph.ErrShape, "an input is %v, which has no axis", v.Type)
		}
		rows := graph.Known(1)
		if rank > 1 {
			rows = v.Dims[0]
		}
		if all, ok = kit.JoinDim(all, rows); !ok {
			return graph.Errorf(graph.ErrShape, "inputs have %v and %v samples", all, rows)
		}
	}
	c.Set(0, tensor.F32, graph.Dims{all, graph.Known(o.total)})
	return nil
}

func (o *vectorizer) Run(c *op.Run) error {
	rows := 1
	if s := c.In[0].Shape(); len(s) > 1 {
		rows = s[0]
	}
	y, err := c.Output(0, tensor.F32, tensor.Shape{rows, o.total})
	if err != nil {
		return err
	}
	clear(y.Bytes())
	at := 0
	for i, x := range c.In {
		s := x.Shape()
		if len(s) > 1 && s[0] != rows || len(s) == 1 && rows != 1 {
			return graph.Errorf(graph.ErrShape, "input %d is %v and there are %d samples", i, x, rows)
		}
		list, err := floatsOf(c, x)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			n, pace := len(list)/rows, c.Pace()
			for r := range rows {
				pace.Work(8 + n)
				copy(tensor.View[float32](y)[r*o.total+at:][:o.sizes[i]], list[r*n:][:n])
			}
		}
		at += o.sizes[i]
	}
	return nil
}

// oneHotEncoder gives every element a vector with a 1 at the index of its category.
type oneHotEncoder struct {
	table *table
	count int
	zeros bool // elements of no category give zeros; if false, they are an error
}

func newOneHotEncoder(n *op.Node) (op.Op, error) {
	l, err := readLabels(n, "cats_int64s", "cats_strings")
	if err != nil {
		return nil, err
	}
	places := make([]int, l.count())
	for i := range places {
		places[i] = i
	}
	o := &oneHotEncoder{count: l.count(), zeros: n.Bool("zeros", true)}
	o.table, err = newTable(l.vector(), kit.Int64Vector(places), kit.Scalar(int64(-1)), false)
	return o, err
}

func (o *oneHotEncoder) Infer(c *op.Infer) error {
	if (o.table.keys == tensor.String) != (c.In[0].DType == tensor.String) {
		return graph.Errorf(graph.ErrShape, "elements are of type %v and categories of type %v", c.In[0].DType, o.table.keys)
	}
	if c.In[0].Dims == nil {
		c.Set(0, tensor.F32, nil)
		return nil
	}
	c.Set(0, tensor.F32, kit.JoinDims(c.In[0].Dims, graph.Dims{graph.Known(o.count)}))
	return nil
}

func (o *oneHotEncoder) Run(c *op.Run) error {
	x, y := c.In[0], tensor.View[float32](c.Out[0])
	clear(y)
	index, err := c.ScratchInt64s(x.Len())
	if err != nil {
		return err
	}
	if x.DType().IsFloat() {
		for at, list := range blocksOf[float64](x) {
			o.cut(list, index[at:])
		}
	} else if err := o.table.find(c.Pace(), x, index); err != nil {
		return err
	}
	for from, to := range c.Pace().Stretches(len(index), 4) {
		if i := o.set(y[from*o.count:], index[from:to]); i >= 0 {
			return graph.Errorf(graph.ErrShape, "element %d, %s, is of no category, and zeros is 0", from+i, x.Text(from+i))
		}
	}
	return nil
}

// set sets the columns of categories to 1. If every element must have a category, it returns the
// first element without one; otherwise it returns -1.
func (o *oneHotEncoder) set(y []float32, index []int64) int {
	for i, k := range index {
		switch {
		case k < int64(o.count):
			y[i*o.count+int(k)] = 1
		case !o.zeros:
			return i
		}
	}
	return -1
}

// cut is find for floats, truncated to integers.
func (o *oneHotEncoder) cut(x []float64, index []int64) {
	for i, v := range x {
		index[i] = int64(o.count)
		if v = math.Trunc(v); v >= -0x1p63 && v < 0x1p63 {
			if k, ok := o.table.bits[uint64(int64(v))]; ok {
				index[i] = int64(k)
			}
		}
	}
}

var encoderRows = []op.Row{
	{Domain: domain, Name: "FeatureVectorizer", Since: []int{1}, In: [2]int{1, op.Any}, Out: [2]int{1, 1}, Types: numberTypes, New: newVectorizer},
	newRow("OneHotEncoder", op.Types{tensor.String, tensor.I64, tensor.I32, tensor.F32, tensor.F64}, newOneHotEncoder),
}
