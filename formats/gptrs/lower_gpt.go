package gptrs

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// gpt makes the nodes of a network with learned positions.
func (l *lowerer) gpt() {
	heads := l.size("num_heads")
	d := newDecoder(l, heads, heads, l.size("head_dim"))
	d.positions()
	x := d.embed()
	at := d.toFloat(l.b.Op("Gather", []string{"pos_embeddings", d.index}), "pos_embeddings")
	x = l.b.Op("Add", []string{x, at})
	for i := range l.size("num_layers") {
		p := fmt.Sprintf("blocks.%d.attention.", i)
		x = d.block(i, x, d.layerNorm, p+"b_qkv", p+"b_out", d.gelu, [2]string{"ln_1", "ln_2"})
	}
	d.finish(d.layerNorm(x, "final_ln"))
}

// layerNorm normalises the last axis with the weights of that prefix.
func (d *decoder) layerNorm(x, name string) string {
	return d.b.Op("LayerNormalization", []string{x, d.weight(name + ".gamma"), d.weight(name + ".beta")}, graph.FloatAttr("epsilon", 1e-5))
}

// gelu is the feed-forward part of gpt.
func (d *decoder) gelu(x, prefix string) string {
	h := d.b.Op("Gelu", []string{d.linear(x, prefix+"w_in", prefix+"b_in")})
	return d.linear(h, prefix+"w_out", prefix+"b_out")
}
