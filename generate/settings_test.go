package generate_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
)

// TestSettings reads files beside a model.
func TestSettings(t *testing.T) {
	m := session(t, llama(), nacre.Options{Threads: 1}).Model()
	for _, tt := range []struct {
		name     string
		files    map[string]string
		options  generate.Options
		sampling generate.Sampling
	}{
		{"none", nil, generate.Options{}, generate.Sampling{}},
		{"genai", map[string]string{
			"genai_config.json": `{"model":{"eos_token_id":[2,3],"context_length":64,"decoder":{"inputs":{"input_ids":"input_ids"},"outputs":{"logits":"logits"}}},
				"search":{"do_sample":true,"temperature":0.6,"top_k":20,"top_p":0.9,"repetition_penalty":1.1}}`,
			"config.json": `{"eos_token_id":9,"max_position_embeddings":128}`,
		}, generate.Options{StopIDs: []int32{2, 3}, Window: 64, IDs: "input_ids", Logits: "logits"},
			generate.Sampling{Temperature: 0.6, TopK: 20, TopP: 0.9, RepetitionPenalty: 1.1}},
		{"hugging face", map[string]string{
			"generation_config.json": `{"eos_token_id":7,"do_sample":true,"min_p":0.05}`, "config.json": `{"eos_token_id":9,"max_position_embeddings":128}`,
		}, generate.Options{StopIDs: []int32{7}, Window: 128}, generate.Sampling{Temperature: 1, TopK: 50, MinP: 0.05}},
		{"greedy", map[string]string{
			"generation_config.json": `{"eos_token_id":null,"temperature":0.3,"top_k":5}`, "config.json": `{"text_config":{"eos_token_id":[1],"max_position_embeddings":32}}`,
		}, generate.Options{StopIDs: []int32{1}, Window: 32}, generate.Sampling{}},
		{"gpt2", map[string]string{"config.json": `{"n_positions":1024,"eos_token_id":5}`}, generate.Options{StopIDs: []int32{5}, Window: 1024}, generate.Sampling{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := nacre.Files{}
			for name, text := range tt.files {
				files[name] = []byte(text)
			}
			o, s, err := generate.SettingsOf(m, files)
			if err != nil || !reflect.DeepEqual(o, tt.options) || !reflect.DeepEqual(s, tt.sampling) {
				t.Errorf("%+v and %+v, %v; want %+v and %+v", o, s, err, tt.options, tt.sampling)
			}
		})
	}
	for rope, window := range map[string]int{
		`null`: 64, `{}`: 64, `{"rope_type":"default"}`: 64, `{"type":"linear","factor":4}`: 256, `{"rope_type":"linear","factor":0.5}`: 64,
		`{"rope_type":"dynamic","factor":2}`: 0, `{"type":"dynamic","rope_type":"default","factor":2}`: 0,
		`{"rope_type":"yarn","factor":4}`: 256, `{"rope_type":"yarn","factor":8,"original_max_position_embeddings":16}`: 128,
		`{"rope_type":"yarn","factor":2,"original_max_position_embeddings":16}`: 64, `{"rope_type":"yarn","factor":1e300}`: math.MaxInt32,
		`{"rope_type":"llama3","factor":32,"original_max_position_embeddings":8}`: 64, `{"type":"longrope","short_factor":[1],"long_factor":[2]}`: 64,
		`{"full_attention":{"rope_type":"linear","factor":8},"sliding_attention":{"rope_type":"default"}}`: 512,
	} {
		for _, text := range []string{
			fmt.Sprintf(`{"max_position_embeddings":64,"rope_scaling":%s}`, rope), fmt.Sprintf(`{"max_position_embeddings":64,"rope_parameters":%s}`, rope),
			fmt.Sprintf(`{"text_config":{"max_position_embeddings":64,"rope_scaling":%s}}`, rope),
		} {
			if o, _, err := generate.SettingsOf(m, nacre.Files{"config.json": []byte(text)}); err != nil || o.Window != window {
				t.Errorf("%s: window %d, %v; want %d", text, o.Window, err, window)
			}
		}
	}
	for text, original := range map[string]int{
		`{"original_max_position_embeddings":9}`:                                                                                          0,
		`{"model_type":"phi3","rope_scaling":{"type":"longrope"}}`:                                                                        4096,
		`{"model_type":"phi3","original_max_position_embeddings":9,"rope_scaling":{"type":"su"}}`:                                         9,
		`{"model_type":"phi3","original_max_position_embeddings":9,"rope_scaling":{"type":"yarn"}}`:                                       9,
		`{"model_type":"llama","original_max_position_embeddings":9,"rope_scaling":{"type":"yarn"}}`:                                      0,
		`{"text_config":{"max_position_embeddings":64,"rope_parameters":{"rope_type":"longrope","original_max_position_embeddings":16}}}`: 16,
		`{"max_position_embeddings":64,"rope_parameters":{"rope_type":"longrope"}}`:                                                       64,
	} {
		if o, _, err := generate.SettingsOf(m, nacre.Files{"config.json": []byte(text)}); err != nil || o.Original != original {
			t.Errorf("%s: original window %d, %v; want %d", text, o.Original, err, original)
		}
	}
	for text, kind := range map[string]error{
		`{`: nacre.ErrFormat, `[]`: nacre.ErrFormat, `{"eos_token_id":"x"}`: nacre.ErrFormat, strings.Repeat("[", 100000): nacre.ErrFormat,
		`{"eos_token_id":99999999999}`: nacre.ErrFormat, strings.Repeat(" ", 5<<20) + "{}": nacre.ErrFormat,
		`{"do_sample":true,"top_p":7}`: nacre.ErrOption,
	} {
		if _, _, err := generate.SettingsOf(m, nacre.Files{"generation_config.json": []byte(text)}); !errors.Is(err, kind) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}
