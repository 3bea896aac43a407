package gptrs

import (
	"fmt"
	"slices"

	decoding "github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// decoder makes the nodes of a causal network.
type decoder struct {
	*lowerer
	heads, kvHeads, head int64 // how many of queries and of keys, and their width
	ids                  string
	index                string // positions of the tokens, a vector
	rope                 *rotation
}

// newDecoder adds the inputs. The heads of the keys are as many as of the queries, or
// fewer.
func newDecoder(l *lowerer, heads, kvHeads, head int64) *decoder {
	d := &decoder{lowerer: l, heads: heads, kvHeads: kvHeads, head: head}
	d.ids = l.b.Input("input_ids", graph.TensorOf(tensor.I64, dims("batch", "sequence")))
	for i := range l.size("num_layers") {
		for _, part := range cacheParts {
			l.b.State(cacheName("past_key_values", i, part), cacheName("present", i, part), 2,
				graph.TensorOf(tensor.F32, d.cacheDims("past")))
		}
	}
	decoding.LimitTokens(l.b, d.ids, int(l.size("vocab_size")))
	past := ""
	if l.size("num_layers") > 0 {
		past = "past"
	}
	decoding.LimitWindow(l.b, past, int(l.size("context_length")))
	return d
}

// The two halves of a cache, in the order of their outputs in Attention.
var cacheParts = []string{"key", "value"}

func cacheName(prefix string, layer int64, part string) string {
	return fmt.Sprintf("%s.%d.%s", prefix, layer, part)
}

func (d *decoder) cacheDims(rows string) graph.Dims {
	return dims("batch", fmt.Sprint(d.kvHeads), rows, fmt.Sprint(d.head))
}

// positions adds the positions of the tokens: the rows of the past and their own index.
func (d *decoder) positions() {
	rows := d.b.Op("Shape", []string{d.ids}, graph.IntAttr("start", 1), graph.IntAttr("end", 2))
	scalar := d.b.Op("Squeeze", []string{rows, d.b.Ints(0)})
	d.index = d.b.Op("Range", []string{d.b.Int(0), scalar, d.b.Int(1)})
	if d.size("num_layers") > 0 {
		past := d.b.Op("Shape", []string{cacheName("past_key_values", 0, "key")}, graph.IntAttr("start", 2), graph.IntAttr("end", 3))
		d.index = d.b.Op("Add", []string{d.index, past})
	}
}

// embed adds the rows of the token table.
func (d *decoder) embed() string {
	x := d.b.Op("Gather", []string{"tok_embeddings.weight", d.ids})
	return d.b.Name(d.toFloat(x, "tok_embeddings.weight"), "tok_embeddings")
}

// toFloat is what was read of a weight, in float32.
func (d *decoder) toFloat(x, weight string) string {
	if d.weights[weight].Tensor.DType() == tensor.F32 {
		return x
	}
	return d.b.Op("Cast", []string{x}, graph.IntAttr("to", onnxFloat))
}

// attention adds the attention of layer i over x, which is normalised. Its biases are
// left out where their name is empty.
func (d *decoder) attention(i int64, x, qkvBias, outBias string) string {
	p := fmt.Sprintf("blocks.%d.attention.", i)
	qkv := d.b.Name(d.linear(x, p+"w_qkv", qkvBias), p+"qkv")
	parts := d.b.Node("", "Split", []string{qkv, d.b.Ints(d.heads*d.head, d.kvHeads*d.head, d.kvHeads*d.head)}, 3, graph.IntAttr("axis", -1))
	q, k, v := parts[0], parts[1], parts[2]
	if d.rope != nil {
		q, k = d.rope.apply(q, d.heads), d.rope.apply(k, d.kvHeads)
		d.b.Name(d.b.Op("Concat", []string{q, k, v}, graph.IntAttr("axis", -1)), p+"qkv_rope")
	}
	past := []string{cacheName("past_key_values", i, "key"), cacheName("past_key_values", i, "value")}
	y := d.b.Node("", "Attention", []string{q, k, v, "", past[0], past[1]}, 3,
		graph.IntAttr("q_num_heads", d.heads), graph.IntAttr("kv_num_heads", d.kvHeads), graph.IntAttr("is_causal", 1))
	for j, part := range cacheParts {
		d.b.Output(y[1+j], cacheName("present", i, part), graph.TensorOf(tensor.F32, d.cacheDims("past + sequence")))
	}
	context := d.b.Name(y[0], p+"context")
	return d.b.Name(d.linear(context, p+"w_out", outBias), p+"output")
}

// block adds layer i over x: norms and the feed-forward part are those of the kind.
func (d *decoder) block(i int64, x string, norm func(x, name string) string, qkvBias, outBias string, feed func(x, prefix string) string, norms [2]string) string {
	p := fmt.Sprintf("blocks.%d.", i)
	h := d.b.Name(norm(x, p+norms[0]), p+"norm_1")
	x = d.b.Name(d.b.Op("Add", []string{x, d.attention(i, h, qkvBias, outBias)}), p+"residual")
	h = d.b.Name(norm(x, p+norms[1]), p+"norm_2")
	y := d.b.Name(feed(h, p+"feed_forward."), p+"feed_forward.output")
	return d.b.Name(d.b.Op("Add", []string{x, y}), p+"output")
}

// finish adds the logits of x, which is normalised.
func (d *decoder) finish(x string) {
	x = d.b.Name(x, "final_norm")
	d.b.Output(d.linear(x, "lm_head", ""), "logits", graph.TensorOf(tensor.F32, dims("batch", "sequence", fmt.Sprint(d.size("vocab_size")))))
	g := d.b.Graph()
	last := len(g.Outputs) - 1
	g.Outputs = slices.Insert(g.Outputs[:last:last], 0, g.Outputs[last])
}
