package topologies

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sound lists networks of sound and of language.
func sound() []Topology {
	return []Topology{
		{Name: "vocoder", Build: Vocoder},
		{Name: "whisper_tiny_encoder", Build: WhisperEncoder},
		{Name: "attention_12x64_512", Build: func() *graph.Model { return Attention(12, 64, 512) }},
	}
}

// transformer adds layers with normalisation before attention and before the dense part.
type transformer struct {
	*builder
	width, heads, hidden int
	act                  func(string) string
}

func (t *transformer) norm(x string) string {
	return t.node("LayerNormalization", []*graph.Attr{integer("axis", -1)}, x, t.weight(1, t.width),
		t.weight(100, t.width))
}

func (t *transformer) dense(x string, in, out int) string {
	return t.node("Add", nil, t.node("MatMul", nil, x, t.weight(in, in, out)), t.weight(100, out))
}

// split returns the heads of a projection. The value has the given number of rows.
func (t *transformer) split(x string, rows int, perm ...int64) string {
	x = t.node("Reshape", nil, t.dense(x, t.width, t.width),
		t.ints(1, int64(rows), int64(t.heads), int64(t.width/t.heads)))
	return t.node("Transpose", []*graph.Attr{ints("perm", perm...)}, x)
}

// attend lets rows of x attend to rows of y. If mask is not empty, it is added to scores.
func (t *transformer) attend(x, y string, rows, others int, mask string) string {
	q, k, v := t.split(x, rows, 0, 2, 1, 3), t.split(y, others, 0, 2, 3, 1), t.split(y, others, 0, 2, 1, 3)
	a := t.node("Mul", nil, t.node("MatMul", nil, q, k), t.scalar(float32(1/math.Sqrt(float64(t.width/t.heads)))))
	if mask != "" {
		a = t.node("Add", nil, a, mask)
	}
	a = t.node("MatMul", nil, t.node("Softmax", []*graph.Attr{integer("axis", -1)}, a), v)
	a = t.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1, 3)}, a)
	return t.dense(t.node("Reshape", nil, a, t.ints(1, int64(rows), int64(t.width))), t.width, t.width)
}

// layer adds attention to the rows themselves, attention to memory if it is not empty, and the
// dense part.
func (t *transformer) layer(x, memory string, rows, others int, mask string) string {
	y := t.norm(x)
	x = t.node("Add", nil, x, t.attend(y, y, rows, rows, mask))
	if memory != "" {
		x = t.node("Add", nil, x, t.attend(t.norm(x), memory, rows, others, ""))
	}
	return t.node("Add", nil, x, t.dense(t.act(t.dense(t.norm(x), t.width, t.hidden)), t.hidden, t.width))
}

// ViT returns the tiny network of Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020), in
// the size of Touvron et al.
func ViT() *graph.Model {
	b := newBuilder("vit")
	const width, rows = 192, 197
	t := &transformer{builder: b, width: width, heads: 3, hidden: 4 * width, act: b.gelu}
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = b.node("Conv", []*graph.Attr{ints("kernel_shape", 16, 16), ints("strides", 16, 16)}, x,
		b.weight(768, width, 3, 16, 16), b.weight(100, width))
	x = b.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1)}, b.node("Reshape", nil, x, b.ints(1, width, rows-1)))
	x = b.node("Add", nil, b.concat(b.weight(1, 1, 1, width), x), b.weight(1, 1, rows, width))
	for range 12 {
		x = t.layer(x, "", rows, 0, "")
	}
	x = b.node("Gather", []*graph.Attr{integer("axis", 1)}, t.norm(x), b.ints(0))
	x = b.node("Reshape", nil, x, b.ints(1, width))
	b.output(b.node("Softmax", []*graph.Attr{integer("axis", -1)}, t.dense(x, width, 1000)), 1, 1000)
	return b.model()
}

// WhisperEncoder returns the encoder of the tiny network of Radford et al., "Robust Speech
// Recognition" (2022), on 30 seconds of sound.
func WhisperEncoder() *graph.Model {
	b := newBuilder("whisper")
	const width, rows = 384, 1500
	t := &transformer{builder: b, width: width, heads: 6, hidden: 4 * width, act: b.gelu}
	x := b.input("x", tensor.F32, 1, 80, 2*rows)
	x = b.gelu(b.conv1(x, 80, width, 3, 1, 1))
	x = b.gelu(b.conv1(x, width, width, 3, 2, 1))
	x = b.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1)}, x)
	x = b.node("Add", nil, x, b.weight(1, 1, rows, width))
	for range 4 {
		x = t.layer(x, "", rows, 0, "")
	}
	b.output(t.norm(x), 1, rows, width)
	return b.model()
}

// Attention returns heads of scaled products of rows, as exporters write them.
func Attention(heads, width, rows int) *graph.Model {
	b := newBuilder("attention")
	q, k, v := b.input("q", tensor.F32, 1, heads, rows, width), b.input("k", tensor.F32, 1, heads, rows, width),
		b.input("v", tensor.F32, 1, heads, rows, width)
	a := b.node("MatMul", nil, q, b.node("Transpose", []*graph.Attr{ints("perm", 0, 1, 3, 2)}, k))
	a = b.node("Mul", nil, a, b.scalar(float32(1/math.Sqrt(float64(width)))))
	a = b.node("Softmax", []*graph.Attr{integer("axis", -1)}, a)
	b.output(b.node("MatMul", nil, a, v), 1, heads, rows, width)
	return b.model()
}

// GPT2Words is the size of the vocabulary of GPT-2.
const GPT2Words = 50257

// GPT2 returns the small network of Radford et al., "Language Models are Unsupervised Multitask
// Learners" (2019), on a prompt of rows tokens, for the logits of the last.
func GPT2(rows int) *graph.Model {
	b := newBuilder("gpt2")
	const width = 768
	t := &transformer{builder: b, width: width, heads: 12, hidden: 4 * width, act: b.gelu}
	x := b.node("Gather", nil, b.weight(1, GPT2Words, width), b.input("tokens", tensor.I64, 1, rows))
	x = b.node("Add", nil, x, b.weight(1, 1, rows, width))
	mask := tensor.New(tensor.F32, rows, rows)
	for i := range rows {
		for j := i + 1; j < rows; j++ {
			tensor.View[float32](mask)[i*rows+j] = -1e9
		}
	}
	hidden := b.constant(mask)
	for range 12 {
		x = t.layer(x, "", rows, 0, hidden)
	}
	x = b.node("Gather", []*graph.Attr{integer("axis", 1)}, t.norm(x), b.ints(int64(rows-1)))
	b.output(b.node("MatMul", nil, x, b.weight(width, width, GPT2Words)), 1, 1, GPT2Words)
	return b.model()
}

// Product returns a product of matrices, m x k by k x n. The operand named constant, a or b, is a
// weight. For none, both are inputs. A matrix of U8 is multiplied by a matrix of I8.
func Product(left tensor.DType, m, n, k int, constant string) *graph.Model {
	op, right, result := "MatMul", left, left
	if left == tensor.U8 {
		op, right, result = "MatMulInteger", tensor.I8, tensor.I32
	}
	b := newBuilder(fmt.Sprint("product_", m, "_", n, "_", k))
	operand := func(name string, d tensor.DType, rows, cols int) string {
		if name != constant {
			return b.input(name, d, rows, cols)
		}
		if d == tensor.F32 {
			return b.weight(k, rows, cols)
		}
		t := tensor.New(d, rows, cols)
		if d == tensor.F64 {
			for i := range tensor.View[float64](t) {
				tensor.View[float64](t)[i] = b.rand.NormFloat64()
			}
			return b.constant(t)
		}
		for i := range t.Bytes() {
			t.Bytes()[i] = byte(b.rand.Uint32())
		}
		return b.constant(t)
	}
	y := b.node(op, nil, operand("a", left, m, k), operand("b", right, k, n))
	b.g.Outputs = append(b.g.Outputs, &graph.Value{Name: y, Type: graph.TensorOf(result, graph.DimsOf([]int{m, n}))})
	return b.model()
}
