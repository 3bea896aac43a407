package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var normRows = []row{
	rowFor("softmax", bindSoftmax),
	rowFor("lrn", bindLRN),
	rowFor("embed_norm", bindEmbedNorm),
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

// RowNorm adds a command.
func (b *binder) RowNorm(r *lower.RowNorm) error {
	if r.Skip.Place != device.None {
		half := b.halfOfAll(r.X.DType)
		w := skipNormWords(r.Rows, r.N, r.SkipRows, r.Centred, r.X.DType, r.Epsilon, half)
		return b.float32("f32_skip_norm", w, half, r.X.Operand, r.Skip.Operand, r.Scale.Operand, r.Shift.Operand,
			r.Bias.Operand, r.Y.Operand, r.Mean.Operand, r.InvStd.Operand, r.Sum.Operand)
	}
	types := []tensor.DType{r.X.DType, r.Scale.DType, r.Shift.DType, r.Y.DType, r.Stash}
	half := b.halfOfAll(types...)
	w := layerNormWords(r.Rows, r.N, r.Centred, types, r.Epsilon, half)
	return b.float32("f32_layer_norm", w, half, r.X.Operand, r.Scale.Operand, r.Shift.Operand, r.Y.Operand, r.Mean.Operand,
		r.InvStd.Operand)
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

// GroupNorm adds a command.
func (b *binder) GroupNorm(n *lower.GroupNorm) error {
	types := []tensor.DType{n.X.DType, n.Scale.DType, n.Bias.DType}
	half := b.halfOfAll(types...)
	w := groupNormWords(n.Batch, n.Channels, n.Inner, n.Groups, n.Params, types, n.Epsilon, half)
	return b.float32("f32_group_norm", w, half, n.X.Operand, n.Scale.Operand, n.Bias.Operand, n.Y.Operand)
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

// BatchNorm adds a command.
func (b *binder) BatchNorm(n *lower.BatchNorm) error {
	if n.Training {
		return device.Refuse("training is computed in Go")
	}
	types := []tensor.DType{b.DType(0), b.DType(1), b.DType(2), b.DType(3), b.DType(4)}
	half := b.halfOfAll(types...)
	w := batchNormWords(n.Batch, n.Channels, n.Inner, types, n.Epsilon, half)
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
