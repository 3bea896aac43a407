package huggingface_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
)

// unsaid holds the answers whose settings a file of GGUF does not have, with a part of the error or
// the warning.
var unsaid = map[string]string{
	"gemma2": scalar, "gemma2_all_slide": `hidden_activation is "sigmoid"`, "gemma2_caps": scalar, "gemma2_head_dim": scalar,
	"gemma3_text": scalar, "gemma3_text_pattern": `hidden_activation is "tanh"`, "gemma3_text_scaled": scalar,
	"gemma_attention_bias": `hidden_act is "gelu"`, "granite_llama3": "hidden_act", "llama_no_bias_yarn": "hidden_act", "phi3_heads": "hidden_act", "qwen2_no_windows": "hidden_act",
	"qwen3_yarn": "hidden_act", "mistral_yarn": "hidden_act", "llama_dynamic": `type "dynamic"`, "olmo2_dynamic": `type "dynamic"`, "qwen2_dynamic": `type "dynamic"`,
	"llama_yarn_scales": "truncate", "mistral": "sliding_window 5 is left out", "starcoder2": "sliding_window 4 is left out", "phi3_long": "sliding_window",
	"qwen2_windows": "use_sliding_window", "qwen3_windows": "use_sliding_window", "smollm3_layers": "no_rope_layers", "smollm3_windows": "no_rope_layers", "smollm3_types": "layer_types",
}

// otherwise holds the answers with settings for which files of GGUF have no words: a file computes
// its architecture's form of GELU and of yarn, and a folder made of a file says the family's own.
var otherwise = map[string]struct{ file, back bool }{
	"gpt_oss": {file: true}, "falcon": {file: true}, "falcon_grouped": {file: true},
	"gpt_oss_truncated": {back: true}, "falcon_one_norm": {back: true},
}

// scalar is a setting of Gemma that files have for one value only.
const scalar = "query_pre_attn_scalar"

// TestExchange converts the folders to files of GGUF and back. Both compute the answers.
func TestExchange(t *testing.T) {
	for name, a := range answers(t) {
		t.Run(name, func(t *testing.T) {
			if want := unsaid[name]; want == scalar || a.Config[scalar] != nil { // with the usual scale, the folder's own logits are the answer
				a.Config[scalar] = 8
				if a.Config["head_dim"] != nil {
					a.Config[scalar] = a.Config["head_dim"]
				}
				_, st := session(t, a.folder(t, nil), nacre.Options{Threads: 1})
				a.Logits, a.Chunked, a.Steps = run(t, st, a.Prompt), nil, nil
				a.Next = greedy(t, st, a.Logits, a.vocab(), len(a.Next))
				if want == scalar {
					delete(unsaid, name)
				}
			}
			m, err := formats.Load(a.folder(t, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			g, err := formats.ToGGUF(m)
			if err == nil && len(g.Warnings) > 0 {
				err = g.Warnings[0]
			}
			if want, ok := unsaid[name]; ok || err != nil {
				if err == nil || !ok || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
				return
			}
			file := filepath.Join(t.TempDir(), "model.gguf")
			if err := formats.Save(file, g, formats.Options{}); err != nil {
				t.Fatal(err)
			}
			if !otherwise[name].file {
				_, st := session(t, file, nacre.Options{Threads: 1})
				a.check(t, st)
			}
			back, err := formats.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			f, err := formats.ToFolder(back, formats.Options{})
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), "folder")
			if err := formats.SaveFolder(folder, f, nil, formats.Options{}); err != nil {
				t.Fatal(err)
			}
			if !otherwise[name].back {
				_, st := session(t, folder, nacre.Options{Threads: 1})
				a.check(t, st)
			}
		})
	}
}
