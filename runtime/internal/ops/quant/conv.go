package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checkFilters returns an error if a present input of numbers is known to have neither one element
// nor one per filter of weights w.
func checkFilters(c *op.Infer, w int, numbers ...int) error {
	for _, i := range numbers {
		if !c.Has(i) || c.In[i].Dims == nil || len(c.In[w].Dims) == 0 {
			continue
		}
		n, filters := c.In[i].Dims.Len(), c.In[w].Dims[0]
		if n.IsKnown() && filters.IsKnown() && !n.Is(1) && !n.Same(filters) {
			return graph.Errorf(graph.ErrShape, "input %d is %v; one scale or zero point is needed, or %v", i, c.In[i].Type,
				filters)
		}
	}
	return nil
}

// ConvInteger convolves x - x_zero with w - w_zero. x has one zero point, w one for the tensor or
// one per filter.
type ConvInteger struct{ conv nn.Conv }

func newConvInteger(n *op.Node) (op.Op, error) {
	inner, err := nn.NewConv(n)
	if err != nil {
		return nil, err
	}
	return &ConvInteger{*inner.(*nn.Conv)}, nil
}

// Infer applies the rule of Conv. The output is int32.
func (o *ConvInteger) Infer(c *op.Infer) error { return o.infer(c, tensor.I32) }

// infer is Infer for an output of type d.
func (o *ConvInteger) infer(c *op.Infer, d tensor.DType) error {
	if err := checkBytes(c, 0, 1); err != nil {
		return err
	}
	for i := range 2 {
		if err := checkZero(c, 2+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkOne(c, 2); err != nil {
		return err
	}
	if err := checkFilters(c, 1, 3); err != nil {
		return err
	}
	dims, err := o.conv.Dims(c.In[0].Dims, c.In[1].Dims, nil)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// Shape returns the extents of the convolution of x by w.
func (o *ConvInteger) Shape(x, w tensor.Shape) (*nn.ConvShape, error) { return o.conv.Shape(x, w) }

// ConvIntegerToFloat is ConvInteger with float32 results: the sums and a bias, times a scale. The
// bias is an integer per filter. There is one scale, or one per filter.
type ConvIntegerToFloat struct{ ConvInteger }

// The inputs of ConvIntegerToFloat after the inputs of ConvInteger.
const (
	ConvIntegerToFloatScale = iota + 4
	ConvIntegerToFloatBias
)

func newConvIntegerToFloat(n *op.Node) (op.Op, error) {
	inner, err := newConvInteger(n)
	if err != nil {
		return nil, err
	}
	return &ConvIntegerToFloat{*inner.(*ConvInteger)}, nil
}

// Infer applies the rule of ConvInteger. The output is float32.
func (o *ConvIntegerToFloat) Infer(c *op.Infer) error {
	if scale := c.In[ConvIntegerToFloatScale]; scale.DType != tensor.F32 {
		return graph.Errorf(graph.ErrShape, "the scale is %v, not float32", scale.Type)
	}
	if err := checkFilters(c, 1, ConvIntegerToFloatScale); err != nil {
		return err
	}
	if c.Has(ConvIntegerToFloatBias) {
		if err := checkBias(c.In[ConvIntegerToFloatBias], c.In[1].Dims); err != nil {
			return err
		}
	}
	return o.infer(c, tensor.F32)
}

// checkBias returns an error if a bias is not int32, or known not to have a number per filter of
// weights.
func checkBias(bias *op.Value, weights graph.Dims) error {
	if bias.DType != tensor.I32 {
		return graph.Errorf(graph.ErrShape, "the bias is %v, not int32", bias.Type)
	}
	if bias.Dims == nil || len(weights) == 0 {
		return nil
	}
	if n := bias.Dims.Len(); n.IsKnown() && weights[0].IsKnown() && !n.Same(weights[0]) {
		return graph.Errorf(graph.ErrShape, "the bias is %v; %v numbers are needed", bias.Type, weights[0])
	}
	return nil
}

// QLinearConv is Conv on quantised x and w with a quantised result. x and y have one scale and one
// zero point, w one of each for the tensor or per filter. The bias has the scale of the sums.
type QLinearConv struct {
	conv         nn.Conv
	ChannelsLast bool // channels of x and y are the last axis
}

func newQLinearConv(n *op.Node) (op.Op, error) {
	inner, err := nn.NewConv(n)
	if err != nil {
		return nil, err
	}
	return &QLinearConv{conv: *inner.(*nn.Conv), ChannelsLast: n.Domain == kit.Microsoft &&
		n.Bool("channels_last", false)}, nil
}

// Shape returns the extents of the convolution of x by w.
func (o *QLinearConv) Shape(x, w tensor.Shape) (*nn.ConvShape, error) {
	if o.ChannelsLast {
		x = channelsFirst(x)
	}
	return o.conv.Shape(x, w)
}

// channelsFirst and channelsLast move the channel axis of a list with one element per axis.
func channelsFirst[T any](list []T) []T {
	if len(list) < 2 {
		return list
	}
	return append([]T{list[0], list[len(list)-1]}, list[1:len(list)-1]...)
}

func channelsLast[T any](list []T) []T {
	if len(list) < 2 {
		return list
	}
	return append(append([]T{list[0]}, list[2:]...), list[1])
}

// Infer applies the rule of Conv.
func (o *QLinearConv) Infer(c *op.Infer) error { return o.infer(c, tensor.I32) }

// infer is Infer for a bias of one of the given types.
func (o *QLinearConv) infer(c *op.Infer, bias ...tensor.DType) error {
	if err := checkBytes(c, 0, 3, 7); err != nil {
		return err
	}
	for _, i := range []int{1, 4, 6} {
		if err := checkScale(c, i); err != nil {
			return err
		}
	}
	for _, i := range []int{0, 3} {
		if err := checkZero(c, i+2, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkOne(c, 1, 2, 6, 7); err != nil {
		return err
	}
	if err := checkFilters(c, 3, 4, 5); err != nil {
		return err
	}
	x, added := c.In[0].Dims, graph.Dims(nil)
	if o.ChannelsLast {
		x = channelsFirst(x)
	}
	if c.Has(8) {
		if added = c.In[8].Dims; !slices.Contains(bias, c.In[8].DType) {
			return graph.Errorf(graph.ErrShape, "B is %v, not %v", c.In[8].Type, bias)
		}
	}
	dims, err := o.conv.Dims(x, c.In[3].Dims, added)
	if err != nil {
		return err
	}
	if o.ChannelsLast {
		dims = channelsLast(dims)
	}
	c.Set(0, c.In[7].DType, dims)
	return nil
}

// FusedQLinearConv is QLinearConv that adds a quantised value z to the result and applies an
// epilogue before it quantises. The bias may be floats. If a stage is given, the result is first
// quantised and dequantised with the stage's scale and zero point, then z is added.
type FusedQLinearConv struct {
	QLinearConv
	Epilogue kit.Epilogue
}

// The inputs of FusedQLinearConv after the inputs of QLinearConv: z, its scale and zero point, then
// the scale and zero point of the stage.
const (
	FusedQLinearConvZ = iota + 9
	FusedQLinearConvZScale
	FusedQLinearConvZZero
	FusedQLinearConvStage
	FusedQLinearConvStageZero
)

func newFusedQLinearConv(n *op.Node) (op.Op, error) {
	inner, err := newQLinearConv(n)
	if err != nil {
		return nil, err
	}
	if n.HasIn(FusedQLinearConvStage) != n.HasIn(FusedQLinearConvStageZero) {
		return nil, graph.Errorf(graph.ErrFormat, "scale and zero point of a stage must both be there or both be left out")
	}
	epilogue, err := kit.ReadEpilogue(n)
	if epilogue.Func != "" && epilogue.Func != "relu" && epilogue.Func != "clip" {
		return nil, graph.Errorf(graph.ErrUnsupported, "activation %q", n.Str("activation", ""))
	}
	return &FusedQLinearConv{*inner.(*QLinearConv), epilogue}, err
}

// Infer applies the rule of Conv and requires z to have the output's extents.
func (o *FusedQLinearConv) Infer(c *op.Infer) error {
	if err := o.infer(c, tensor.I32, tensor.F32); err != nil {
		return err
	}
	if c.Has(FusedQLinearConvStage) {
		if err := checkBytes(c, FusedQLinearConvStageZero); err != nil {
			return err
		}
		if err := checkPerTensor(c, c.In[FusedQLinearConvStageZero].DType, FusedQLinearConvStage,
			FusedQLinearConvStageZero); err != nil {
			return err
		}
	}
	if !c.Has(FusedQLinearConvZ) {
		return nil
	}
	z := c.In[FusedQLinearConvZ]
	if err := checkBytes(c, FusedQLinearConvZ); err != nil {
		return err
	}
	if err := checkPerTensor(c, z.DType, FusedQLinearConvZScale, FusedQLinearConvZZero); err != nil {
		return err
	}
	if !sameExtents(z.Dims, c.Out[0].Dims) {
		return graph.Errorf(graph.ErrShape, "Z is %v and the output %v", z.Type, c.Out[0].Type)
	}
	return nil
}

var convRows = []op.Row{
	{Name: "ConvInteger", Since: []int{10}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: byteTypes, Work: nn.ConvWork(1), Items: kit.ItemsFirst(0), New: newConvInteger},
	{Domain: kit.Internal, Name: "ConvIntegerToFloat", Since: []int{1}, In: [2]int{5, 6}, Optional: kit.Inputs(2, 3), Out: [2]int{1, 1}, Types: byteTypes,
		Work: nn.ConvWork(1), Items: kit.ItemsFirst(0), New: newConvIntegerToFloat},
	{Name: "QLinearConv", Since: []int{10}, In: [2]int{8, 9}, Out: [2]int{1, 1}, Types: byteTypes, Work: nn.ConvWork(3), Items: kit.ItemsFirst(0), New: newQLinearConv},
	{Domain: kit.Microsoft, Name: "QLinearConv", Since: []int{1}, In: [2]int{8, 9}, Out: [2]int{1, 1}, Types: byteTypes, Work: nn.ConvWork(3), New: newQLinearConv},
	{Domain: kit.Internal, Name: "FusedQLinearConv", Since: []int{1}, In: [2]int{8, 14}, Optional: kit.Inputs(8, 9, 10, 11, 12, 13), Out: [2]int{1, 1}, Types: byteTypes,
		InPlace: []int{FusedQLinearConvZ}, Work: nn.ConvWork(3), Items: kit.ItemsFirst(0, FusedQLinearConvZ), New: newFusedQLinearConv},
}
