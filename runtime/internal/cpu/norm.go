package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var normRows = []row{
	rowFor("softmax", bindSoftmax),
	rowFor("lrn", bindLRN),
	rowFor("layer_norm", func(o *nn.LayerNorm, b *binder) error { return b.layerNorm(o, b.out(1), b.out(2), b.DType(2)) }),
	rowFor("layer_norm", func(o *nn.SimplifiedNorm, b *binder) error {
		return b.layerNorm(&o.LayerNorm, device.Operand{}, b.out(1), tensor.Invalid)
	}),
	rowFor("skip_norm", bindSkipNorm),
	rowFor("embed_norm", bindEmbedNorm),
	rowFor("group_norm", bindGroupNorm),
	rowFor("batch_norm", bindBatchNorm),
}

// halfOfAll returns the kernel that converts between float32, in which kernels compute, and the
// types. It is the zero Kernel if all types are float32. Invalid stands for an operand left out. Other
// types are refused.
func (b *binder) halfOfAll(types ...tensor.DType) (half bindings.Kernel) {
	for _, d := range types {
		switch d {
		case tensor.Invalid, tensor.F32:
		case tensor.F16, tensor.BF16:
			half = b.dev.half
		default:
			b.Note(device.Refuse("%v elements are computed in Go", d))
		}
	}
	return half
}

// float32 adds a command of a kernel that computes in float32 and converts with half.
func (b *binder) float32(op string, w words, half bindings.Kernel, operands ...device.Operand) error {
	return b.runWith(op, []bindings.Kernel{half}, w, operands...)
}

func bindSoftmax(o *nn.Softmax, b *binder) error {
	if o.Hard {
		return device.Refuse("Hardmax is computed in Go")
	}
	half := b.halfOfAll(b.DType(0))
	outer, n, inner, err := o.Split(b.In[0].Dims)
	if err != nil {
		return err
	}
	return b.float32("f32_softmax", softmaxWords(outer, n, inner, o.Log, b.DType(0), half), half, b.in(0), b.out(0))
}

func softmaxWords(outer, n, inner graph.Dim, log bool, dtype tensor.DType, half bindings.Kernel) (w words) {
	w.dim(outer, n, inner)
	w.bool(log)
	w.dtype(dtype)
	w.part(half)
	return w
}

func bindLRN(o *nn.LRN, b *binder) error {
	half := b.halfOfAll(b.DType(0))
	dims := b.In[0].Dims
	channels, ok := b.Max(dims[1])
	if !ok {
		return device.Refuse("extent %v is not known", dims[1])
	}
	size := min(o.Size, 2*channels+2-o.Size%2) // of the same parity, beyond every channel
	alpha := float64(o.Alpha / float32(o.Size))
	w := lrnWords(dims[0], dims[1], dims[2:].Len(), size, b.DType(0), alpha, float64(o.Beta), float64(o.Bias), half)
	return b.float32("f32_lrn", w, half, b.in(0), b.out(0))
}

func lrnWords(
	batch, channels, inner graph.Dim, size int, dtype tensor.DType, alpha, beta, bias float64, half bindings.Kernel,
) (w words) {
	w.dim(batch, channels, inner)
	w.int(size)
	w.dtype(dtype)
	w.float(alpha, beta, bias)
	w.part(half)
	return w
}

// layerNorm adds a command that normalises rows. mean and invStd are its further outputs; bias is
// the type of its bias.
func (b *binder) layerNorm(o *nn.LayerNorm, mean, invStd device.Operand, bias tensor.DType) error {
	x := b.In[0].Dims
	if mean.Place == device.None && invStd.Place == device.None && bias != tensor.Invalid && b.Out[0].DType == b.DType(0) {
		if batch, channels, ok := o.PerRow(x, b.In[1].Dims, b.In[2].Dims); ok {
			return b.rowNorm(o, batch, channels)
		}
	}
	types := []tensor.DType{b.DType(0), b.DType(1), bias, b.Out[0].DType, o.Stash}
	half := b.halfOfAll(types...)
	for i, v := range b.In[1:] {
		if v != nil && !o.PerElement(x, v.Dims) {
			return device.Refuse("parameter %d of shape %v does not have an element for each of a row of %v", i+1, v.Dims, x)
		}
	}
	rows, n, err := o.Split(x)
	if err != nil {
		return err
	}
	w := layerNormWords(rows, n, o.Centred, types, float64(o.Epsilon), half)
	scale, shift := b.in(1), b.in(2)
	return b.float32("f32_layer_norm", w, half, b.in(0), scale, shift, b.out(0), mean, invStd)
}

// rowNorm adds a command that normalises rows with a scale and a bias for each channel of them.
func (b *binder) rowNorm(o *nn.LayerNorm, batch, channels graph.Dim) error {
	types := []tensor.DType{b.DType(0), b.DType(1), b.DType(2)}
	half := b.halfOfAll(types...)
	_, n, err := o.Split(b.In[0].Dims)
	if err != nil {
		return err
	}
	w := groupNormWords(batch, channels, n, channels, channels, types, float64(o.Epsilon), half)
	return b.float32("f32_group_norm", w, half, b.in(0), b.in(1), b.in(2), b.out(0))
}

// layerNormWords takes the types of x, scale, bias, output and statistics.
func layerNormWords(
	rows, n graph.Dim, centred bool, types []tensor.DType, epsilon float64, half bindings.Kernel,
) (w words) {
	w.dim(rows, n)
	w.bool(centred)
	w.dtype(types...)
	w.float(epsilon)
	w.part(half)
	return w
}

func bindSkipNorm(o *nn.SkipNorm, b *binder) error {
	half := b.halfOfAll(b.DType(0))
	x, skip := b.In[0].Dims, b.In[1].Dims
	n := x[len(x)-1]
	betaIn, biasIn := o.Inputs()
	beta := device.Operand{}
	if betaIn >= 0 {
		beta = b.in(betaIn)
	}
	w := skipNormWords(x[:len(x)-1].Len(), n, skip[:len(skip)-1].Len(), o.Centred, b.DType(0), float64(o.Epsilon), half)
	return b.float32("f32_skip_norm", w, half, b.in(0), b.in(1), b.in(2), beta, b.in(biasIn), b.out(0), b.out(1),
		b.out(2), b.out(3))
}

func skipNormWords(
	rows, n, skipRows graph.Dim, centred bool, dtype tensor.DType, epsilon float64, half bindings.Kernel,
) (w words) {
	w.dim(rows, n, skipRows)
	w.bool(centred)
	w.dtype(dtype)
	w.float(epsilon)
	w.part(half)
	return w
}

func bindEmbedNorm(o *nn.EmbedNorm, b *binder) error {
	words := b.In[nn.EmbedWords].Dims
	e := embedding{batch: words[0], tokens: words[1], n: b.In[nn.EmbedWordTable].Dims[1], epsilon: float64(o.Epsilon)}
	for i, in := range [3][2]int{
		{nn.EmbedWords, nn.EmbedWordTable}, {nn.EmbedPlaces, nn.EmbedPlaceTable}, {nn.EmbedSegments, nn.EmbedSegmentTable},
	} {
		if b.Has(in[1]) {
			e.rows[i] = b.In[in[1]].Dims[0]
		}
		if b.Has(in[0]) {
			e.numberBytes[i], e.numbers[i] = b.DType(in[0]).Bytes(1), b.In[in[0]].Dims.Len()
		}
	}
	if b.Has(nn.EmbedMask) {
		e.maskBytes = b.DType(nn.EmbedMask).Bytes(1)
	}
	e.dtype = b.DType(nn.EmbedWordTable)
	half := b.halfOfAll(e.dtype)
	e.half = half
	operands := make([]device.Operand, 9, 12)
	for i := range operands {
		operands[i] = b.in(i)
	}
	return b.float32("f32_embed_norm", e.words(), half, append(operands, b.out(0), b.out(1), b.out(2))...)
}

// embedding holds the words of a normalised sum of embeddings, from tables of words, positions and
// segments.
type embedding struct {
	batch, tokens, n graph.Dim
	rows             [3]graph.Dim // rows of the tables
	numberBytes      [3]int
	numbers          [3]graph.Dim
	maskBytes        int
	dtype            tensor.DType
	epsilon          float64
	half             bindings.Kernel
}

func (e *embedding) words() (w words) {
	w.dim(e.batch, e.tokens, e.n)
	w.dim(e.rows[:]...)
	w.int(e.numberBytes[:]...)
	w.dim(e.numbers[:]...)
	w.int(e.maskBytes)
	w.dtype(e.dtype)
	w.float(e.epsilon)
	w.part(e.half)
	return w
}

func bindGroupNorm(o *nn.GroupNorm, b *binder) error {
	types := []tensor.DType{b.DType(0), b.DType(1), b.DType(2)}
	half := b.halfOfAll(types...)
	dims := b.In[0].Dims
	groups, params, err := o.Split(dims[1])
	if err != nil {
		return err
	}
	if err := b.haveElements(params, 1, 2); err != nil {
		return err
	}
	w := groupNormWords(dims[0], dims[1], dims[2:].Len(), groups, params, types, float64(o.Epsilon), half)
	return b.float32("f32_group_norm", w, half, b.in(0), b.in(1), b.in(2), b.out(0))
}

// groupNormWords takes the types of x, scale and bias.
func groupNormWords(
	batch, channels, inner, groups, params graph.Dim, types []tensor.DType, epsilon float64, half bindings.Kernel,
) (w words) {
	w.dim(batch, channels, inner, groups, params)
	w.dtype(types...)
	w.float(epsilon)
	w.part(half)
	return w
}

func bindBatchNorm(o *nn.BatchNorm, b *binder) error {
	if o.Training {
		return device.Refuse("training is computed in Go")
	}
	types := []tensor.DType{b.DType(0), b.DType(1), b.DType(2), b.DType(3), b.DType(4)}
	half := b.halfOfAll(types...)
	batch, channels, inner := o.Split(b.In[0].Dims)
	if err := b.haveElements(channels, 1, 2, 3, 4); err != nil {
		return err
	}
	w := batchNormWords(batch, channels, inner, types, o.Epsilon, half)
	return b.float32("f32_batch_norm", w, half, b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.out(0))
}

// batchNormWords takes the types of x and of scale, bias, mean and variance.
func batchNormWords(
	batch, channels, inner graph.Dim, types []tensor.DType, epsilon float64, half bindings.Kernel,
) (w words) {
	w.dim(batch, channels, inner)
	w.dtype(types...)
	w.float(epsilon)
	w.part(half)
	return w
}

// haveElements refuses inputs that are not known to have n elements.
func (b *binder) haveElements(n graph.Dim, inputs ...int) error {
	for _, i := range inputs {
		if d := b.In[i].Dims; d == nil || !d.Len().Same(n) {
			return device.Refuse("input %d of shape %v is not known to have %v elements", i, d, n)
		}
	}
	return nil
}
