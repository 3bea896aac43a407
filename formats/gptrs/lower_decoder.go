package gptrs

import (
	"fmt"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// gpt makes the nodes of a network with learned positions.
func (l *lowerer) gpt() {
	c := l.decoder("num_heads")
	c.LayerNorm, c.Epsilon, c.Activation = true, 1e-5, decoder.GELU
	c.Positions, c.Final = l.weights["pos_embeddings"], l.norm("final_ln")
	for i := range c.Layers {
		p := fmt.Sprintf("blocks.%d.", i)
		a, f := p+"attention.", p+"feed_forward."
		c.Layers[i] = decoder.Layer{
			BeforeAttention: l.norm(p + "ln_1"), QKV: l.matrix(a+"w_qkv", a+"b_qkv"), O: l.matrix(a+"w_out", a+"b_out"),
			BeforeMLP: l.norm(p + "ln_2"), Up: l.matrix(f+"w_in", f+"b_in"), Down: l.matrix(f+"w_out", f+"b_out"),
		}
	}
	l.build(c)
}

// ministral makes the nodes of a network with rotary positions and fewer heads of keys than of
// queries.
func (l *lowerer) ministral() {
	c := l.decoder("num_kv_heads")
	c.Epsilon, c.Final = l.number("rms_norm_eps"), l.norm("final_norm")
	var rope *decoder.Rope
	if rotary := int(l.size("rotary_dim")); rotary > 0 && len(c.Layers) > 0 && l.b.Take(anglesRate*rotary) {
		rope = angles(l.config, rotary, l.number("rope_theta"), l.size("context_length"))
	}
	for i := range c.Layers {
		p := fmt.Sprintf("blocks.%d.", i)
		a, f := p+"attention.", p+"feed_forward."
		c.Layers[i] = decoder.Layer{
			BeforeAttention: l.norm(p + "norm_1"), QKV: l.matrix(a+"w_qkv", ""), O: l.matrix(a+"w_out", ""), Rope: rope,
			BeforeMLP: l.norm(p + "norm_2"), Gate: l.matrix(f+"w_gate", ""), Up: l.matrix(f+"w_up", ""), Down: l.matrix(f+"w_down", ""),
		}
	}
	l.build(c)
}

// decoder returns the settings shared by the causal networks. kvHeads names the extent that holds
// the number of heads of keys.
func (l *lowerer) decoder(kvHeads string) *decoder.Config {
	size := func(name string) int { return int(l.size(name)) }
	return &decoder.Config{
		Hidden: size("embed_dim"), Vocab: size("vocab_size"), Heads: size("num_heads"), KVHeads: size(kvHeads), HeadDim: size("head_dim"),
		Embedding: l.weights["tok_embeddings.weight"], Head: l.matrix("lm_head", ""), Layers: make([]decoder.Layer, size("num_layers")), Trace: l.trace(),
	}
}

func (l *lowerer) norm(name string) decoder.Norm {
	return decoder.Norm{Weight: l.weights[name+".gamma"], Bias: l.weights[name+".beta"]}
}

// matrix returns a linear map. If bias is "", it has no bias.
func (l *lowerer) matrix(weight, bias string) decoder.Matrix {
	return decoder.Matrix{Weight: l.weights[weight], Bias: l.weights[bias], InOut: true}
}

// build adds the nodes and limits the window.
func (l *lowerer) build(c *decoder.Config) {
	decoder.Build(l.b, c)
	past := ""
	if len(c.Layers) > 0 {
		past = decoder.PastExtent
	}
	decoder.LimitWindow(l.b, past, int(l.size("context_length")))
}

// traced maps roles to gpt.rs's names for values of blocks and for values outside.
var traced = map[string]string{
	"embeddings": "tok_embeddings", "norm_1": "norm_1", "qkv": "attention.qkv", "context": "attention.context", "attention": "attention.output",
	"residual": "residual", "norm_2": "norm_2", "feed_forward": "feed_forward.output", "output": "output", "final_norm": "final_norm",
}

// trace returns a function that names values as gpt.rs does.
func (l *lowerer) trace() func(layer int, role, value string) string {
	var rotated []string
	return func(layer int, role, value string) string {
		prefix := ""
		if layer >= 0 {
			prefix = fmt.Sprintf("blocks.%d.", layer)
		}
		switch role {
		case "query", "key":
			rotated = append(rotated, value)
		case "value":
			if l.size("rotary_dim") > 0 {
				l.b.Name(l.b.Op("Concat", append(rotated, value), graph.IntAttr("axis", -1)), prefix+"attention.qkv_rope")
			}
			rotated = nil
		}
		if name := traced[role]; name != "" {
			return l.b.Name(value, prefix+name)
		}
		return value
	}
}
