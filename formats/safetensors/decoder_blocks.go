package safetensors

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// allBlocks describes the blocks, up to the first that is not sound.
func (d *describer) allBlocks() {
	for i := 0; i < d.layers && d.err == nil; i++ {
		d.Blocks = append(d.Blocks, d.block(i))
	}
}

// role is the use of a tensor in a block.
type role struct {
	matrix *Matrix
	norm   **graph.Initializer
}

// roleOf finds it by the name within the block.
func (b *Block) roleOf(name string) role {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(name, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("inner_attn_ln", "attn_sub_norm"):
		return role{norm: &b.AttnNorm}
	case has("ffn_layernorm", "ffn_sub_norm"):
		return role{norm: &b.MLPNorm}
	case has("input_layernorm", "ln_1"):
		return role{norm: &b.Norm1}
	case has("attn"):
		switch {
		case has("q_proj"):
			return role{matrix: &b.Q}
		case has("k_proj"):
			return role{matrix: &b.K}
		case has("v_proj"):
			return role{matrix: &b.V}
		case has("o_proj"):
			return role{matrix: &b.O}
		case has("q_norm"):
			return role{norm: &b.QNorm}
		case has("k_norm"):
			return role{norm: &b.KNorm}
		}
	case has("post_attention_layernorm", "ln_2"):
		return role{norm: &b.Norm2}
	case has("mlp"):
		switch {
		case has("gate_proj", "w1"):
			return role{matrix: &b.Gate}
		case has("up_proj", "w3"):
			return role{matrix: &b.Up}
		case has("down_proj", "w2"):
			return role{matrix: &b.Down}
		}
	}
	return role{}
}

// block describes one block.
func (d *describer) block(n int) Block {
	var b Block
	for _, m := range d.blocks[n] {
		name, t := m.name, m.t
		r := b.roleOf(name)
		place := r.norm
		switch {
		case r.matrix != nil && strings.Contains(name, "weight_scale"):
			place = &r.matrix.Scale
		case r.matrix != nil && strings.HasSuffix(name, "bias"):
			place = &r.matrix.Bias
		case r.matrix != nil:
			place = &r.matrix.Weight
		case r.norm != nil && strings.HasSuffix(name, "bias"):
			d.fail(graph.ErrUnsupported, "tensor %q is the bias of a norm, which these decoders do not have", t.Name)
			continue
		case strings.HasSuffix(name, "inv_freq"):
			continue // follows from the dimensions
		}
		if place == nil {
			d.fail(graph.ErrFormat, "tensor %q has no part in a block of a Llama-style decoder", t.Name)
			continue
		}
		if *place != nil {
			d.fail(graph.ErrFormat, "tensors %q and %q have the same part in block %d", (*place).Name, t.Name, n)
		}
		*place = t
	}
	if b.Norm1 == nil {
		d.fail(graph.ErrFormat, "block %d has no input_layernorm", n)
	}
	if b.Norm2 == nil {
		d.fail(graph.ErrFormat, "block %d has no post_attention_layernorm", n)
	}
	d.vector(b.Norm1, d.Hidden)
	d.vector(b.Norm2, d.Hidden)
	d.vector(b.QNorm, d.HeadDim)
	d.vector(b.KNorm, d.HeadDim)
	d.vector(b.AttnNorm, d.QueryDim)
	d.vector(b.MLPNorm, d.Intermediate)
	d.matrix(&b.Q, n, "q_proj", d.QueryDim, d.Hidden)
	d.matrix(&b.K, n, "k_proj", d.KVDim, d.Hidden)
	d.matrix(&b.V, n, "v_proj", d.KVDim, d.Hidden)
	d.matrix(&b.O, n, "o_proj", d.Hidden, d.QueryDim)
	d.matrix(&b.Gate, n, "gate_proj", d.Intermediate, d.Hidden)
	d.matrix(&b.Up, n, "up_proj", d.Intermediate, d.Hidden)
	d.matrix(&b.Down, n, "down_proj", d.Hidden, d.Intermediate)
	return b
}

// matrix checks the tensors of a matrix.
func (d *describer) matrix(m *Matrix, block int, name string, rows, cols int) {
	m.Rows, m.Cols = rows, cols
	if m.Weight == nil {
		d.fail(graph.ErrFormat, "block %d has no %s", block, name)
		return
	}
	d.vector(m.Bias, rows)
	t := m.Weight.Tensor
	if m.Packed = t.DType() == tensor.U8 && rows%4 == 0 && t.Shape().Equal(tensor.Shape{rows / 4, cols}); !m.Packed {
		d.vector(m.Weight, rows, cols)
		if m.Scale != nil {
			d.fail(graph.ErrUnsupported, "tensor %q scales weights that are not packed, %v", m.Scale.Name, t)
		}
		return
	}
	if m.Scale == nil {
		d.fail(graph.ErrFormat, "tensor %q is packed, and there is no weight_scale", m.Weight.Name)
	} else if s := m.Scale.Tensor; !s.DType().IsFloat() || s.Len() != 1 {
		d.fail(graph.ErrFormat, "tensor %q is %v where one floating-point number is wanted", m.Scale.Name, s)
	}
}
