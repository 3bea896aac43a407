package generate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// beside are files that a Hugging Face folder has beside its weights, except config.json.
var beside = []struct{ name, text string }{
	{"generation_config.json", `{"do_sample":true,"temperature":0.6,"top_k":5,"top_p":0.9,"eos_token_id":[2,3],"repetition_penalty":1.1}`},
	{"genai_config.json", `{"model":{"eos_token_id":2,"context_length":64,"decoder":{"filename":"model.onnx","inputs":{"input_ids":"input_ids"},"outputs":{"logits":"logits"}}},"search":{"top_k":3}}`},
	{"tokenizer.json", `{"added_tokens":[{"id":1,"content":"<s>","special":true,"lstrip":true}],"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"_"},
"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a+|b"},"behavior":"Isolated","invert":false},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
"decoder":{"type":"Fuse"},"model":{"type":"BPE","vocab":{"a":3,"b":4,"ab":5,"_":6},"merges":["a b"],"unk_token":null}}`},
	{"tokenizer_config.json", `{"bos_token":"<s>","add_bos_token":true,"chat_template":"{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"}`},
	{"chat_template.jinja", `{{ bos_token }}{% for m in messages %}{{ m['content'] | trim }}{% if loop.last %}b{% endif %}{% endfor %}`},
	{"special_tokens_map.json", `{"bos_token":{"content":"<s>","lstrip":false},"eos_token":"b"}`},
	{"model.safetensors.index.json", `{"metadata":{"total_size":100},"weight_map":{"lm_head.weight":"model.safetensors"}}`},
	{"vocab.json", `{"a":3,"b":4}`},
	{"added_tokens.json", `{"<s>":1}`},
}

// families are the decoders for which FuzzFolder has folders.
var families = []string{"llama", "gemma3_text", "phi3_long", "qwen3"}

// FuzzFolder replaces one file of a Hugging Face folder, and generates from the folder. Only
// nacre.ErrInternal is a defect. The upper four bits of which select the family, and the lower four
// the file.
func FuzzFolder(f *testing.F) {
	testenv.Need(f, bindings.Available())
	dirs, configs := make([]string, len(families)), make([][]byte, len(families))
	for i, name := range families {
		text, err := os.ReadFile(filepath.Join("..", "formats", "huggingface", "testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		var answer struct {
			Config  json.RawMessage
			Tensors map[string][]int
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			f.Fatal(err)
		}
		dirs[i], configs[i] = f.TempDir(), answer.Config
		f.Add(uint8(i<<4+len(beside)), configs[i])
		g := &graph.Graph{}
		for name, shape := range answer.Tensors {
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, shape...)})
		}
		if err := formats.Save(filepath.Join(dirs[i], "model.safetensors"), &graph.Model{Graph: g}, formats.Options{}); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dirs[i], "config.json"), configs[i], 0o666); err != nil {
			f.Fatal(err)
		}
	}
	for i, file := range beside {
		f.Add(uint8(i), []byte(file.text))
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		family, file := int(which>>4)%len(families), int(which&15)
		dir := dirs[family]
		path, before := filepath.Join(dir, "config.json"), configs[family]
		if file < len(beside) {
			path, before = filepath.Join(dir, beside[file].name), nil
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if before != nil {
				if err := os.WriteFile(path, before, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := generateFrom(ctx, dir); errors.Is(err, nacre.ErrInternal) {
			t.Error(err)
		}
	})
}

// generateFrom generates three tokens as the files of a folder say.
func generateFrom(ctx context.Context, dir string) error {
	if _, err := generate.DecoderFile(os.DirFS(dir)); err != nil {
		return err
	}
	prompt := []int32{1, 3}
	text, err := tokenizer.Load(dir)
	if err == nil {
		if ids := text.Encode("a ab<s> \n\u00e9", true); len(ids) > 0 && len(ids) < 20 {
			text.Decode(ids)
		}
		_, err = text.ApplyChat([]tokenizer.Message{{Role: "user", Content: "a b"}}, tokenizer.ChatOptions{})
	}
	m, fault := nacre.OpenContext(ctx, dir)
	if fault != nil {
		return errors.Join(err, fault)
	}
	defer m.Close()
	o, sampling, err := generate.SettingsOf(m, os.DirFS(dir))
	if err != nil {
		return err
	}
	s, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1, MemoryLimit: 16 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	g, err := generate.New(context.Background(), s, o)
	if err != nil {
		return err
	}
	sampling.MaxTokens = 3
	q, err := g.Start(ctx, prompt, sampling)
	if err != nil {
		return err
	}
	defer q.Close()
	for _, err := range q.Tokens(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}
