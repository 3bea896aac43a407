package exchange

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The files of sentence-transformers with the pooling of an encoder.
const (
	PoolingFile = "1_Pooling/config.json"
	modulesFile = "modules.json"
)

// poolings are the settings of PoolingFile by pooling_type; "" for none.
var poolings = []string{"", "pooling_mode_mean_tokens", "pooling_mode_cls_token", "pooling_mode_lasttoken"}

var bertRules = []rule{
	{gguf: "token_embd", folder: "embeddings.word_embeddings"},
	{gguf: "position_embd", folder: "embeddings.position_embeddings", wide: true},
	{gguf: "token_types", folder: "embeddings.token_type_embeddings", wide: true},
	{gguf: "token_embd_norm", folder: "embeddings.LayerNorm"},
	{gguf: "blk.N.attn_q", folder: "encoder.layer.N.attention.self.query"},
	{gguf: "blk.N.attn_k", folder: "encoder.layer.N.attention.self.key"},
	{gguf: "blk.N.attn_v", folder: "encoder.layer.N.attention.self.value"},
	{gguf: "blk.N.attn_output", folder: "encoder.layer.N.attention.output.dense"},
	{gguf: "blk.N.attn_output_norm", folder: "encoder.layer.N.attention.output.LayerNorm"},
	{gguf: "blk.N.ffn_up", folder: "encoder.layer.N.intermediate.dense"},
	{gguf: "blk.N.ffn_down", folder: "encoder.layer.N.output.dense"},
	{gguf: "blk.N.layer_output_norm", folder: "encoder.layer.N.output.LayerNorm"},
}

// bertFamily is encoders. Files mean the tanh form of GELU, whatever the folder says, as in
// llama.cpp.
var bertFamily = family{architecture: "bert", model: "bert", class: "BertModel", rules: bertRules, still: true, settings: []setting{
	{"context_length", "max_position_embeddings", size, required, 512},
	{"embedding_length", "hidden_size", size, required, 768},
	{"block_count", "num_hidden_layers", size, required, 12},
	{"feed_forward_length", "intermediate_size", size, required, 3072},
	{"attention.head_count", "num_attention_heads", size, required, 12},
	{"attention.layer_norm_epsilon", "layer_norm_eps", float, required, 1e-12},
}, act: activation{"hidden_act", append([]string{"gelu"}, geluTanh.names...)}, fixed: []fixed{{"position_embedding_type", "absolute"}, {"is_decoder", false}},
	outward: (*outward).bert, inward: (*inward).bert}

func (o *outward) bert() {
	if x := o.from["token_types.weight"]; x != nil && len(x.Tensor.Shape()) == 2 {
		o.config["type_vocab_size"] = x.Tensor.Shape()[0]
	}
	kind := int(o.number("pooling_type", 0))
	if kind < 1 || kind >= len(poolings) {
		return
	}
	settings := map[string]any{"word_embedding_dimension": o.hidden}
	for i, name := range poolings {
		if name != "" {
			settings[name] = i == kind
		}
	}
	o.document(PoolingFile, settings)
	o.document(modulesFile, []map[string]any{
		{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
	})
}

// document adds a file of JSON to the folder.
func (o *outward) document(name string, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // numbers, booleans and texts
	}
	o.files = append(o.files, graph.Pair{Key: name, Kind: "json", Value: string(text) + "\n"})
}

// oldNorms are the names of the parameters of norms in old folders.
var oldNorms = strings.NewReplacer(".LayerNorm.gamma", ".LayerNorm.weight", ".LayerNorm.beta", ".LayerNorm.bias")

// bert names the encoder without the model around it, and leaves out what follows the encoder.
func (i *inward) bert() {
	for _, name := range slices.Collect(maps.Keys(i.from)) {
		x := i.taken(name)
		name = oldNorms.Replace(strings.TrimPrefix(name, "bert."))
		if !strings.HasPrefix(name, "pooler.") && !strings.HasPrefix(name, "cls.") && name != "embeddings.position_ids" {
			i.from[name] = x
		}
	}
	i.truthful("attention.causal", false)
	if i.pooling == "" {
		return
	}
	p, err := configOf(i.pooling)
	if err != nil {
		i.fail(graph.Errorf(graph.ErrFormat, "%s: %w", PoolingFile, err))
		return
	}
	found := 0
	for kind, name := range poolings {
		if name != "" && p.truth(name, false) {
			if found != 0 {
				i.fail(graph.Errorf(graph.ErrUnsupported, "%s has several ways of pooling, and a file has one", PoolingFile))
			}
			found = kind
		}
	}
	if found == 0 {
		i.fail(graph.Errorf(graph.ErrUnsupported, "%s has none of %s, which files have", PoolingFile, strings.Join(poolings[1:], ", ")))
		return
	}
	i.meta = append(i.meta, scalar(i.family.architecture+".pooling_type", "u32", tensor.U32, uint32(found)))
}
