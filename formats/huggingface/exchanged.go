package huggingface

import (
	"encoding/json"
	"slices"

	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/exchange"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// exchangedFamilies are computed as files of GGUF: their tensors are put in the order of such a file
// first, so that matrices of experts are in memory once more.
var exchangedFamilies = []string{
	"mixtral", "qwen2_moe", "qwen3_moe", "granitemoe", "gpt_oss", "gpt2", "phi", "falcon", "lfm2", "olmo3", "bert",
}

// isExchanged reports whether a configuration is of one of these families, or is a stablelm with
// norms of each head or without a norm before the MLP.
func isExchanged(text string) bool {
	var c struct {
		ModelType string `json:"model_type"`
		QKNorm    bool   `json:"qk_layernorm"`
		Parallel  bool   `json:"use_parallel_residual"`
	}
	if json.Unmarshal([]byte(text), &c) != nil {
		return false
	}
	return slices.Contains(exchangedFamilies, c.ModelType) || c.ModelType == "stablelm" && (c.QKNorm || c.Parallel)
}

// exchanged returns the network of such a family.
func exchanged(m *graph.Model, o container.Lowering) (*graph.Model, error) {
	file, err := exchange.ToGGUF(m, o)
	if err == nil && len(file.Warnings) > 0 {
		err = &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: file.Warnings[0]}
	}
	if err != nil {
		return nil, err
	}
	n, err := gguf.LowerUnsaid(file, exchange.Unsaid(m), o)
	if err != nil {
		return nil, err
	}
	n.Format, n.Meta, n.File = m.Format, m.Meta, m.File
	return n, nil
}
