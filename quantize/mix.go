package quantize

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mix gives weights their types of blocks by their parts in a decoder.
type mix struct {
	pure    bool
	weighed bool // there is importance
	tied    bool // no weight is the output's, so that the table of embeddings is
	layers  int
	shared  int // heads for each head of keys and values
	experts int
	falcon  bool
}

var layerNumber = regexp.MustCompile(`(?:^|\.)(?:blk|layers|h)\.([0-9]+)\.`)

// newMix reads the facts that a mix depends on from the metadata of a model.
func newMix(m *graph.Model, o *Options) *mix {
	x := &mix{pure: o.Pure, weighed: o.Importance != nil, tied: true, shared: 1}
	arch := text(m, "general.architecture")
	x.falcon = arch == "falcon"
	x.layers = number(m, arch+".block_count")
	if heads, kv := number(m, arch+".attention.head_count"), number(m, arch+".attention.head_count_kv"); kv > 0 {
		x.shared = heads / kv
	}
	x.experts = number(m, arch+".expert_count")
	for _, t := range m.Graph.Initializers {
		if part(t.Name) == "output" {
			x.tied = false
		}
		if match := layerNumber.FindStringSubmatch(t.Name); match != nil {
			if n, err := strconv.Atoi(match[1]); err == nil && n < 1<<20 {
				x.layers = max(x.layers, n+1)
			}
		}
	}
	return x
}

// text returns the text of a pair of metadata.
func text(m *graph.Model, key string) string {
	for _, p := range m.Meta {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// number returns the largest number of a pair of metadata, 0 if there is none.
func number(m *graph.Model, key string) (most int) {
	for _, p := range m.Meta {
		if p.Key != key || p.Data == nil || !p.Data.DType().IsInteger() {
			continue
		}
		at := tensor.Numbers(p.Data)
		for i := range p.Data.Len() {
			most = max(most, int(min(at(i), 1<<30)))
		}
	}
	return most
}

// parts are the names that weights have in other formats, each with the name of GGUF.
var parts = [][2]string{
	{"lm_head", "output"}, {"embed_tokens", "token_embd"}, {"self_attn.q_proj", "attn_q"}, {"self_attn.k_proj", "attn_k"},
	{"self_attn.v_proj", "attn_v"}, {"self_attn.o_proj", "attn_output"}, {"mlp.down_proj", "ffn_down"},
	{"mlp.gate_proj", "ffn_gate"}, {"mlp.up_proj", "ffn_up"}, {"c_attn", "attn_qkv"},
}

// part returns the part of a weight, such as attn_v.
func part(name string) string {
	for _, p := range parts {
		if strings.Contains(name, p[0]+".weight") {
			return p[1]
		}
	}
	name = strings.TrimSuffix(name, ".weight")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimSuffix(name, "_exps")
}

// of returns the type of a weight in blocks. The note says why it is not the type that the mix gives.
func (m *mix) of(x *graph.Initializer, t Type) (Type, string) {
	b := t.blocks
	if !m.pure {
		layer := 0
		if match := layerNumber.FindStringSubmatch(x.Name); match != nil {
			layer, _ = strconv.Atoi(match[1])
		}
		if named := m.choose(part(x.Name), layer, t); named != nil {
			b = named
		}
	}
	shape := x.Tensor.Shape()
	if b == packed.MXFP4 && len(shape) == 2 && !m.pure {
		b = packed.Q8_0 // only experts
	}
	k := shape[len(shape)-1]
	if k%b.Elements == 0 {
		return blockType(b), ""
	}
	note := "rows of " + strconv.Itoa(k) + " elements are no multiple of the " + strconv.Itoa(b.Elements) + " of a block of " + b.Name
	other := packed.IQ4_NL
	switch b {
	case packed.Q4_K:
		other = packed.Q5_0
	case packed.Q5_K:
		other = packed.Q5_1
	case packed.Q6_K:
		other = packed.Q8_0
	case packed.Q2_K, packed.Q3_K, packed.TQ1_0, packed.TQ2_0, packed.Q1_0, packed.Q2_0, packed.NVFP4:
		other = packed.Q4_0
	}
	if k%other.Elements == 0 {
		return blockType(other), note
	}
	return Keep, note
}

func blockType(b *packed.Blocks) Type {
	return Type{name: b.Name, blocks: b, number: fileTypes[b.Name]}
}

// more reports whether a layer is one of those that get more bits: the first and the last eighth, and
// every third between.
func (m *mix) more(layer int) bool {
	eighth := m.layers / 8
	return layer < eighth || layer >= 7*m.layers/8 || (layer-eighth)%3 == 2
}

// choose returns the type of blocks for a part, or nil for the mix's own.
func (m *mix) choose(part string, layer int, t Type) *packed.Blocks {
	first := layer < m.layers/8
	few := t.blocks.Elements == 256 && strings.HasPrefix(t.blocks.Name, "iq") &&
		t.blocks != packed.IQ4_XS && t.blocks != packed.IQ3_S // at most 3.1 bits
	lowest := few && t.blocks != packed.IQ3_XXS
	switch {
	case part == "output" || part == "token_embd" && m.tied:
		switch {
		case t.blocks == packed.Q8_0 || t.blocks == packed.MXFP4:
			return packed.Q8_0
		case few:
			return packed.Q5_K
		}
		return packed.Q6_K
	case part == "token_embd":
		switch t.blocks {
		case packed.IQ2_XXS, packed.IQ2_XS, packed.IQ1_S, packed.IQ1_M:
			return packed.Q2_K
		case packed.IQ2_S, packed.IQ3_XXS:
			return packed.IQ3_S
		case packed.TQ1_0, packed.TQ2_0:
			return packed.Q4_K
		case packed.MXFP4:
			return packed.Q8_0
		}
		return nil
	case lowest:
		return m.lowest(part, first, t.blocks)
	case m.experts == 8 && (part == "attn_v" || part == "attn_k"):
		return packed.Q8_0
	case m.experts == 8 && part == "attn_output" && t.blocks.Elements == 256 && t.blocks != packed.Q5_K && t.blocks != packed.Q6_K:
		return packed.Q5_K
	}
	switch part {
	case "attn_v":
		return m.values(layer, t)
	case "ffn_down":
		return m.down(layer, first, t)
	case "attn_q", "attn_k":
		if t.blocks == packed.IQ3_XXS {
			return packed.IQ2_S
		}
	case "attn_output":
		switch {
		case t.mix == "q3_k_l" && m.falcon:
			return packed.Q4_K
		case m.falcon:
		case t.mix == "q2_k", t.mix == "q2_k_s":
			return packed.Q3_K
		case t.blocks == packed.IQ3_XXS:
			return packed.IQ3_S
		case t.mix == "q3_k_m":
			return packed.Q4_K
		case t.mix == "q3_k_l":
			return packed.Q5_K
		}
	case "attn_qkv":
		switch t.mix {
		case "q3_k_m", "q3_k_l":
			return packed.Q4_K
		case "q4_k_m":
			return packed.Q5_K
		case "q5_k_m":
			return packed.Q6_K
		}
	}
	return nil
}

// lowest is choose for types of fewer than 3 bits.
func (m *mix) lowest(part string, first bool, b *packed.Blocks) *packed.Blocks {
	better := packed.Q2_K
	if b == packed.IQ2_S {
		better = packed.IQ3_S
	}
	switch {
	case part == "attn_v" && (m.shared >= 4 || m.experts >= 4), part == "attn_k" && m.experts == 8:
		return packed.Q4_K
	case part == "attn_v", part == "ffn_down" && first:
		return better
	case part == "attn_output" && m.experts == 8:
		return packed.Q5_K
	case part == "attn_output" && (b == packed.IQ1_S || b == packed.IQ1_M):
		return packed.IQ2_XXS
	case part == "attn_output" && b == packed.IQ2_S:
		return packed.IQ3_S
	}
	return nil
}

// values is choose for the weights of values.
func (m *mix) values(layer int, t Type) *packed.Blocks {
	shared := m.shared >= 4
	switch {
	case t.mix == "q2_k" && !shared:
		return packed.Q3_K
	case t.mix == "q2_k", t.mix == "q2_k_s" && shared, t.blocks == packed.IQ3_XXS && shared, t.blocks == packed.IQ3_S && shared:
		return packed.Q4_K
	case t.blocks == packed.IQ3_XXS && !m.weighed:
		return packed.IQ3_S
	case t.mix == "q3_k_m" && layer < 2, t.mix == "q3_k_l", t.mix == "q4_k_s" && layer < 4,
		(t.blocks == packed.IQ4_NL || t.blocks == packed.IQ4_XS) && shared:
		return packed.Q5_K
	case t.mix == "q3_k_m":
		return packed.Q4_K
	case (t.mix == "q4_k_m" || t.mix == "q5_k_m") && m.more(layer):
		return packed.Q6_K
	}
	return nil
}

// down is choose for the last weights of a layer.
func (m *mix) down(layer int, first bool, t Type) *packed.Blocks {
	switch {
	case t.mix == "q2_k":
		return packed.Q3_K
	case t.mix == "q2_k_s" && first:
		return packed.Q4_K
	case t.blocks == packed.IQ3_XXS && !m.weighed && first:
		return packed.Q4_K
	case t.blocks == packed.IQ3_XXS && !m.weighed:
		return packed.Q3_K
	case t.mix == "q3_k_m" && layer < m.layers/16, t.mix == "q3_k_l" && !m.falcon, t.mix == "q4_k_s" && !m.falcon && first,
		(t.blocks == packed.IQ4_NL || t.blocks == packed.IQ4_XS) && !m.weighed && first:
		return packed.Q5_K
	case t.mix == "q3_k_m" && (!m.falcon || m.more(layer)), t.mix == "q3_k_l":
		return packed.Q4_K
	case t.mix == "q4_k_m" && m.falcon:
		switch {
		case layer < m.layers/16:
			return packed.Q6_K
		case m.more(layer):
			return packed.Q5_K
		}
	case (t.mix == "q4_k_m" || t.mix == "q5_k_m") && m.more(layer):
		return packed.Q6_K
	case t.blocks == packed.Q4_0 && m.weighed && first:
		return packed.Q4_1
	case t.blocks == packed.Q5_0 && m.weighed && first:
		return packed.Q5_1
	}
	return nil
}

// metadata returns the pairs with those that say how tensors are quantised.
func (j *job) metadata(list []graph.Pair, changed int) []graph.Pair {
	if changed == 0 {
		return list
	}
	set := func(key string, v uint32) {
		t := tensor.New(tensor.U32)
		tensor.View[uint32](t)[0] = v
		p := graph.Pair{Key: key, Kind: "u32", Data: t}
		for i := range list {
			if list[i].Key == key {
				list[i] = p
				return
			}
		}
		list = append(list, p)
	}
	list = append([]graph.Pair(nil), list...)
	set("general.quantization_version", 2)
	if j.Type.number != noNumber {
		set("general.file_type", j.Type.number)
	}
	return list
}
