package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// extractor takes elements of the last axis by number; a vector becomes a matrix
// of one row.
type extractor struct{}

func newExtractor(*op.Node) (op.Op, error) { return extractor{}, nil }

func (extractor) Infer(c *op.Infer) error {
	if c.In[1].DType != tensor.I64 {
		return graph.Errorf(graph.ErrShape, "indices are %v, not int64", c.In[1].Type)
	}
	dims, n := c.In[0].Dims, graph.Unknown()
	if c.In[1].Dims != nil {
		n = c.In[1].Dims.Len()
	}
	switch {
	case dims == nil:
		c.Set(0, c.In[0].DType, nil)
	case len(dims) == 0:
		return graph.Errorf(graph.ErrShape, "input is %v, which has no axis", c.In[0].Type)
	case len(dims) == 1:
		c.Set(0, c.In[0].DType, graph.Dims{graph.Known(1), n})
	default:
		c.Set(0, c.In[0].DType, op.JoinDims(dims[:len(dims)-1], graph.Dims{n}))
	}
	return nil
}

func (extractor) Run(c *op.Run) error {
	x, index := c.In[0], tensor.View[int64](c.In[1])
	n := x.Shape()[len(x.Shape())-1]
	for _, i := range index {
		if i < 0 || i >= int64(n) {
			return graph.Errorf(graph.ErrShape, "index %d is not one of %d elements", i, n)
		}
	}
	if c.Out[0].Len() > 0 {
		op.GatherBlocks(x, c.Out[0], index, x.Len()/n, n, 1)
	}
	return nil
}

// inferFeatures gives output 0 the input's shape and an element type. Counts are
// of numbers that there are for the last axis: one, or as many as it is long.
func inferFeatures(c *op.Infer, d tensor.DType, counts ...int) error {
	x := c.In[0]
	for _, count := range counts {
		if rank, ok := x.Rank(); ok && count != 1 && (rank == 0 || x.Dims[rank-1].IsKnown() && !x.Dims[rank-1].Is(count)) {
			return graph.Errorf(graph.ErrShape, "input is %v and numbers for %d features are given", x.Type, count)
		}
	}
	c.Set(0, d, x.Dims)
	return nil
}

// featureCount is the extent of the input's last axis, checked against the counts
// that inferFeatures takes.
func featureCount(c *op.Run, counts ...int) (int, error) {
	s, n := c.In[0].Shape(), 1
	if len(s) > 0 {
		n = s[len(s)-1]
	}
	for _, count := range counts {
		if count != 1 && count != n {
			return 0, graph.Errorf(graph.ErrShape, "input is %v and numbers for %d features are given", c.In[0], count)
		}
	}
	return n, nil
}

// perFeature returns n numbers: those given, or the only one again and again.
func perFeature[T any](list []T, n int) []T {
	if len(list) == n {
		return list
	}
	long := make([]T, n)
	for i := range long {
		long[i] = list[0]
	}
	return long
}

// number are the Go types of numberTypes.
type number interface {
	float32 | float64 | int64 | int32
}

// binarizer makes 1 of what is above a threshold and 0 of all else.
type binarizer struct{ threshold float64 }

func newBinarizer(n *op.Node) (op.Op, error) {
	return &binarizer{float64(n.Float("threshold", 0))}, nil
}

func (o *binarizer) Infer(c *op.Infer) error { return inferFeatures(c, c.In[0].DType) }

func (o *binarizer) Run(c *op.Run) error {
	t := o.threshold
	// An integer is above a number if it is above the next integer below that.
	whole := int64(math.MaxInt64)
	switch floor := math.Floor(t); {
	case floor < -0x1p63:
		whole, t = math.MinInt64, math.Inf(-1)
	case floor < 0x1p63:
		whole = int64(floor)
	}
	switch x, y := c.In[0], c.Out[0]; x.DType() {
	case tensor.F32:
		binarize(tensor.View[float32](x), tensor.View[float32](y), func(v float32) bool { return float64(v) > t })
	case tensor.F64:
		binarize(tensor.View[float64](x), tensor.View[float64](y), func(v float64) bool { return v > t })
	case tensor.I64:
		binarize(tensor.View[int64](x), tensor.View[int64](y), func(v int64) bool { return v > whole || math.IsInf(t, -1) })
	case tensor.I32:
		binarize(tensor.View[int32](x), tensor.View[int32](y), func(v int32) bool { return int64(v) > whole })
	}
	return nil
}

func binarize[T number](x, y []T, above func(T) bool) {
	for i, v := range x {
		y[i] = 0
		if above(v) {
			y[i] = 1
		}
	}
}

// scaler subtracts an offset and multiplies by a scale, each given once or for
// every feature.
type scaler struct{ offset, scale []float32 }

func newScaler(n *op.Node) (op.Op, error) {
	o := &scaler{n.Floats("offset"), n.Floats("scale")}
	if len(o.offset) == 0 {
		o.offset = []float32{0}
	}
	if len(o.scale) == 0 {
		o.scale = []float32{1}
	}
	return o, nil
}

func (o *scaler) Infer(c *op.Infer) error {
	return inferFeatures(c, tensor.F32, len(o.offset), len(o.scale))
}

func (o *scaler) Run(c *op.Run) error {
	n, err := featureCount(c, len(o.offset), len(o.scale))
	if err != nil {
		return err
	}
	offset, scale := perFeature(o.offset, n), perFeature(o.scale, n)
	switch x, y := c.In[0], tensor.View[float32](c.Out[0]); x.DType() {
	case tensor.F32:
		rescale(tensor.View[float32](x), offset, scale, y)
	case tensor.F64:
		double := func(v float32) float64 { return float64(v) }
		rescale(tensor.View[float64](x), op.Convert(offset, double), op.Convert(scale, double), y)
	case tensor.I64:
		rescale(tensor.View[int64](x), offset, scale, y)
	case tensor.I32:
		rescale(tensor.View[int32](x), offset, scale, y)
	}
	return nil
}

func rescale[T number, F float32 | float64](x []T, offset, scale []F, y []float32) {
	for n := len(offset); len(x) > 0; x, y = x[n:], y[n:] {
		for j, v := range x[:n] {
			y[j] = float32((F(v) - offset[j]) * scale[j])
		}
	}
}

// imputer replaces one value, which may be NaN, by another, given once or for
// every feature.
type imputer struct {
	floats []float32
	float  float32 // what to replace
	ints   []int
	int    int // what to replace
}

func newImputer(n *op.Node) (op.Op, error) {
	o := &imputer{n.Floats("imputed_value_floats"), n.Float("replaced_value_float", 0), n.Ints("imputed_value_int64s"), n.Int("replaced_value_int64", 0)}
	if len(o.floats) == 0 && len(o.ints) == 0 {
		return nil, graph.Errorf(graph.ErrFormat, "imputed_value_floats or imputed_value_int64s must hold what to put in")
	}
	return o, nil
}

func (o *imputer) Infer(c *op.Infer) error {
	count, err := o.count(c.In[0].DType)
	if err != nil {
		return err
	}
	return inferFeatures(c, c.In[0].DType, count)
}

// count is how many values there are to put in among elements of that type.
func (o *imputer) count(d tensor.DType) (int, error) {
	if !d.IsInteger() {
		if len(o.floats) == 0 {
			return 0, graph.Errorf(graph.ErrShape, "elements are of type %v and imputed_value_floats is left out", d)
		}
		return len(o.floats), nil
	}
	if len(o.ints) == 0 {
		return 0, graph.Errorf(graph.ErrShape, "elements are of type %v and imputed_value_int64s is left out", d)
	}
	for _, v := range o.ints {
		if d == tensor.I32 && int(int32(v)) != v {
			return 0, graph.Errorf(graph.ErrShape, "elements are of type %v and %d is to be put in", d, v)
		}
	}
	return len(o.ints), nil
}

func (o *imputer) Run(c *op.Run) error {
	count, err := o.count(c.In[0].DType())
	if err != nil {
		return err
	}
	n, err := featureCount(c, count)
	if err != nil {
		return err
	}
	switch x, y := c.In[0], c.Out[0]; x.DType() {
	case tensor.F32:
		impute(x, y, perFeature(o.floats, n), func(v float32) bool { return v == o.float || v != v && o.float != o.float })
	case tensor.F64:
		by := op.Convert(perFeature(o.floats, n), func(v float32) float64 { return float64(v) })
		impute(x, y, by, func(v float64) bool { return v == float64(o.float) || v != v && o.float != o.float })
	case tensor.I64:
		by := op.Convert(perFeature(o.ints, n), func(v int) int64 { return int64(v) })
		impute(x, y, by, func(v int64) bool { return int(v) == o.int })
	case tensor.I32:
		by := op.Convert(perFeature(o.ints, n), func(v int) int32 { return int32(v) })
		impute(x, y, by, func(v int32) bool { return int(v) == o.int })
	}
	return nil
}

func impute[T number](x, y *tensor.Tensor, by []T, missing func(T) bool) {
	from, to := tensor.View[T](x), tensor.View[T](y)
	for n := len(by); len(from) > 0; from, to = from[n:], to[n:] {
		for j, v := range from[:n] {
			if missing(v) {
				v = by[j]
			}
			to[j] = v
		}
	}
}

// normalizer divides every sample by a norm of it, unless that is 0.
type normalizer struct{ norm string }

func newNormalizer(n *op.Node) (op.Op, error) {
	o := &normalizer{n.Str("norm", "MAX")}
	switch o.norm {
	case "MAX", "L1", "L2":
		return o, nil
	}
	return nil, graph.Errorf(graph.ErrFormat, "norm is %q, not MAX, L1 or L2", o.norm)
}

func (o *normalizer) Infer(c *op.Infer) error {
	if _, _, err := rowDims(c.In[0]); err != nil {
		return err
	}
	c.Set(0, tensor.F32, c.In[0].Dims)
	return nil
}

func (o *normalizer) Run(c *op.Run) error {
	_, n, err := matrixOf(c.In[0])
	if err != nil || c.In[0].Len() == 0 {
		return err
	}
	switch x, out := c.In[0], tensor.View[float32](c.Out[0]); x.DType() {
	case tensor.F32:
		normalize(o, tensor.View[float32](x), n, out)
	case tensor.F64:
		normalize(o, tensor.View[float64](x), n, out)
	case tensor.I64:
		normalize(o, tensor.View[int64](x), n, out)
	case tensor.I32:
		normalize(o, tensor.View[int32](x), n, out)
	}
	return nil
}

func normalize[T number](o *normalizer, x []T, n int, out []float32) {
	for ; len(x) > 0; x, out = x[n:], out[n:] {
		norm := o.of(n, func(i int) float64 { return float64(x[i]) })
		for i, v := range x[:n] {
			out[i] = float32(float64(v) / norm)
		}
	}
}

// of is what a sample is to be divided by.
func (o *normalizer) of(n int, at func(i int) float64) float64 {
	sum, most := 0.0, math.Inf(-1)
	for i := range n {
		switch v := at(i); o.norm {
		case "MAX":
			if v > most {
				most = v
			}
		case "L1":
			sum += math.Abs(v)
		case "L2":
			sum += v * v
		}
	}
	switch o.norm {
	case "MAX":
		sum = most
	case "L2":
		sum = math.Sqrt(sum)
	}
	if sum == 0 {
		return 1
	}
	return sum
}

// vectorizer puts samples side by side, cut or filled up with zeros to lengths
// that the node gives.
type vectorizer struct {
	sizes []int
	total int
}

func newVectorizer(n *op.Node) (op.Op, error) {
	o := &vectorizer{sizes: n.Ints("inputdimensions")}
	if len(o.sizes) != len(n.Inputs) {
		return nil, graph.Errorf(graph.ErrFormat, "inputdimensions has %d elements for %d inputs", len(o.sizes), len(n.Inputs))
	}
	for _, size := range o.sizes {
		if size < 0 || size > op.MaxElements || o.total > op.MaxElements {
			return nil, graph.Errorf(graph.ErrFormat, "inputdimensions is %v", o.sizes)
		}
		o.total += size
	}
	return o, nil
}

func (o *vectorizer) Infer(c *op.Infer) error {
	if err := op.SameTypes(c.In); err != nil {
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
		if all, ok = op.JoinDim(all, rows); !ok {
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
			n := len(list) / rows
			for r := range rows {
				copy(tensor.View[float32](y)[r*o.total+at:][:o.sizes[i]], list[r*n:][:n])
			}
		}
		at += o.sizes[i]
	}
	return nil
}

// oneHotEncoder gives every element a vector with a 1 at the place of its category.
type oneHotEncoder struct {
	table *table
	count int
	zeros bool // for elements of no category
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
	o.table, err = newTable(l.vector(), op.Int64Vector(places), op.Scalar(int64(-1)), false)
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
	c.Set(0, tensor.F32, op.JoinDims(c.In[0].Dims, graph.Dims{graph.Known(o.count)}))
	return nil
}

func (o *oneHotEncoder) Run(c *op.Run) error {
	x, y := c.In[0], tensor.View[float32](c.Out[0])
	clear(y)
	index, err := c.ScratchInt64s(x.Len())
	if err != nil {
		return err
	}
	switch x.DType() {
	case tensor.F32:
		o.cut(op.Convert(tensor.View[float32](x), func(v float32) float64 { return float64(v) }), index)
	case tensor.F64:
		o.cut(tensor.View[float64](x), index)
	default:
		if err := o.table.find(x, index); err != nil {
			return err
		}
	}
	for i, k := range index {
		switch {
		case k < int64(o.count):
			y[i*o.count+int(k)] = 1
		case !o.zeros:
			return graph.Errorf(graph.ErrShape, "element %d, %s, is of no category, and zeros is 0", i, x.Text(i))
		}
	}
	return nil
}

// cut is find for floats, which are cut to integers.
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

var featureRows = []op.Row{
	{Domain: domain, Name: "ArrayFeatureExtractor", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1},
		Types: op.Types{tensor.F32, tensor.F64, tensor.I64, tensor.I32, tensor.String}, New: newExtractor},
	overInput(newRow("Binarizer", numberTypes, newBinarizer)),
	{Domain: domain, Name: "FeatureVectorizer", Since: []int{1}, In: [2]int{1, op.Any}, Out: [2]int{1, 1}, Types: numberTypes, New: newVectorizer},
	overInput(newRow("Imputer", numberTypes, newImputer)),
	overInput(newRow("Normalizer", numberTypes, newNormalizer)),
	newRow("OneHotEncoder", op.Types{tensor.String, tensor.I64, tensor.I32, tensor.F32, tensor.F64}, newOneHotEncoder),
	overInput(newRow("Scaler", numberTypes, newScaler)),
}

// overInput lets the output take over the input's memory.
func overInput(row op.Row) op.Row {
	row.InPlace = []int{0}
	return row
}
