package text

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre"
)

// models returns a folder with the folders of oracles/text/answers.py, and the texts.
func models(t *testing.T) (string, []string) {
	t.Helper()
	root := t.TempDir()
	z, err := zip.OpenReader("testdata/models.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	read(t, filepath.Join(root, "texts.json"), &texts)
	return root, texts
}

func read(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(path, err)
	}
}

// A scored is a label with a score, in files a list.
type scored struct {
	Label string
	Score float32
}

func (s *scored) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&s.Label, &s.Score})
}

// A part is an entity in characters, in files a list.
type part struct {
	Label      string
	Score      float32
	Start, End int
}

func (p *part) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.Label, &p.Score, &p.Start, &p.End})
}

// near reports whether a number is as exact as sums of another order are.
func near(a, b float32) bool { return math.Abs(float64(a-b)) <= 2e-5*(1+math.Abs(float64(b))) }

// A task answers for all texts with the model of a folder, and says how answers differ.
type task struct {
	folder string
	answer func(ctx context.Context, dir string, o Options, texts []string) (any, error)
	differ func(t *testing.T, dir string, texts []string, got any) error
}

// TestAnswers compares all tasks with transformers, in batches of several sizes.
func TestAnswers(t *testing.T) {
	root, texts := models(t)
	for _, c := range tasks {
		for _, o := range []Options{{}, {Batch: 1}, {Batch: 7}, {File: "model.safetensors"}, {File: "model.safetensors", Batch: 7}} {
			t.Run(fmt.Sprint(c.folder, o.File, o.Batch), func(t *testing.T) {
				dir := filepath.Join(root, c.folder)
				got, err := c.answer(t.Context(), dir, o, texts)
				if err == nil {
					err = c.differ(t, dir, texts, got)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

var tasks = []task{
	{"mean", embed, vectors}, {"pooled", embed, vectors},
	{"single", classify, labels}, {"several", classify, labels}, {"number", classify, labels}, {"distil", classify, labels},
	{"words", find, entities}, {"bytes", find, entities},
	{"nli", zeroShot, labelsTwice}, {"rank", score, numbers},
}

func embed(ctx context.Context, dir string, o Options, texts []string) (any, error) {
	e, err := OpenEmbedder(dir, o)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.Embed(ctx, texts...)
}

func vectors(t *testing.T, dir string, texts []string, got any) error {
	var want [][]float32
	read(t, filepath.Join(dir, "answers.json"), &want)
	for i, v := range got.([][]float32) {
		if !slices.EqualFunc(v, want[i], near) {
			return fmt.Errorf("%q: %v, want %v", texts[i], v, want[i])
		}
	}
	return nil
}

func classify(ctx context.Context, dir string, o Options, texts []string) (any, error) {
	c, err := OpenClassifier(dir, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Classify(ctx, texts...)
}

func labels(t *testing.T, dir string, texts []string, got any) error {
	var want [][]scored
	read(t, filepath.Join(dir, "answers.json"), &want)
	for i, list := range got.([][]Label) {
		if err := sameLabels(list, want[i]); err != nil {
			return fmt.Errorf("%q: %w", texts[i], err)
		}
	}
	return nil
}

func sameLabels(got []Label, want []scored) error {
	if !slices.EqualFunc(got, want, func(a Label, b scored) bool { return a.Name == b.Label && near(a.Score, b.Score) }) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	return nil
}

func find(ctx context.Context, dir string, o Options, texts []string) (any, error) {
	c, err := OpenTokenClassifier(dir, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var all [4][][]Entity
	for by := range all {
		if all[by], err = c.Find(ctx, Aggregation(by), texts...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func entities(t *testing.T, dir string, texts []string, got any) error {
	var want [][4][]part
	read(t, filepath.Join(dir, "answers.json"), &want)
	for by, lists := range got.([4][][]Entity) {
		for i, list := range lists {
			text := texts[i]
			same := func(a Entity, b part) bool {
				start, end := len([]rune(text[:a.Start])), len([]rune(text[:a.End]))
				return a.Label == b.Label && near(a.Score, b.Score) && start == b.Start && end == b.End && a.Text == text[a.Start:a.End]
			}
			if !slices.EqualFunc(list, want[i][by], same) {
				return fmt.Errorf("aggregation %d of %q:\n%v, want\n%v", by, text, list, want[i][by])
			}
		}
	}
	return nil
}

// candidates are the labels of the oracle.
var candidates = []string{"sports", "the weather", "code"}

func zeroShot(ctx context.Context, dir string, o Options, texts []string) (any, error) {
	z, err := OpenZeroShot(dir, o)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	all := make([][2][]Label, len(texts))
	for i, text := range texts {
		for k := range all[i] {
			if all[i][k], err = z.Classify(ctx, text, candidates, ZeroShotOptions{"This is {}.", k == 1}); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func labelsTwice(t *testing.T, dir string, texts []string, got any) error {
	var want [][2][]scored
	read(t, filepath.Join(dir, "answers.json"), &want)
	for i, both := range got.([][2][]Label) {
		for k := range both {
			if err := sameLabels(both[k], want[i][k]); err != nil {
				return fmt.Errorf("%q: %w", texts[i], err)
			}
		}
	}
	return nil
}

func score(ctx context.Context, dir string, o Options, texts []string) (any, error) {
	r, err := OpenReranker(dir, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	pairs := make([]Pair, len(texts))
	for i, text := range texts {
		pairs[i] = Pair{texts[(7*i+1)%len(texts)], text}
	}
	scores, err := r.Score(ctx, pairs...)
	if err != nil {
		return nil, err
	}
	ranks, err := r.Rank(ctx, pairs[3].First, pairs[3].Second, "another")
	if err == nil && (len(ranks) != 2 || ranks[0].Score < ranks[1].Score || !near(ranks[slices.IndexFunc(ranks, func(x Rank) bool { return x.Index == 0 })].Score, scores[3])) {
		err = fmt.Errorf("ranks %v, and the score of the first is %v", ranks, scores[3])
	}
	return scores, err
}

func numbers(t *testing.T, dir string, _ []string, got any) error {
	var want []float32
	read(t, filepath.Join(dir, "answers.json"), &want)
	if !slices.EqualFunc(got.([]float32), want, near) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	return nil
}

// TestTogether runs an embedder from many goroutines.
func TestTogether(t *testing.T) {
	root, texts := models(t)
	e, err := OpenEmbedder(filepath.Join(root, "mean"), Options{Batch: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var want [][]float32
	read(t, filepath.Join(root, "mean", "answers.json"), &want)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			got, err := e.Embed(t.Context(), texts[i:]...)
			for k, v := range got {
				if !slices.EqualFunc(v, want[i+k], near) {
					t.Errorf("%q: %v, want %v", texts[i+k], v, want[i+k])
				}
			}
			if err != nil || len(got) != len(texts)-i {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, texts...); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRefused has folders with one file changed. Errors name the file and the field.
func TestRefused(t *testing.T) {
	root, _ := models(t)
	embedder := func(dir string, o Options) error { return closed(OpenEmbedder(dir, o)) }
	folders := func(dir string, o Options) error {
		o.File = shard
		return closed(OpenClassifier(dir, o))
	}
	for _, c := range []struct {
		folder, file, from, to string
		open                   func(dir string, o Options) error
		kind                   error
		want                   string
	}{
		{"mean", "config.json", "", "", embedder, os.ErrNotExist, "config.json: the file is missing"},
		{"mean", "config.json", "{", "[", embedder, nacre.ErrFormat, "config.json"},
		{"mean", "config.json", `"pad_token_id": 3`, `"pad_token_id": "x"`, embedder, nacre.ErrFormat, "pad_token_id"},
		{"mean", "config.json", `"max_position_embeddings": 64`, `"max_position_embeddings": -4`, embedder, nacre.ErrFormat, "max_position_embeddings is -4"},
		{"mean", "sentence_bert_config.json", "20", "0", embedder, nacre.ErrFormat, "max_seq_length is 0"},
		{"mean", "modules.json", "Normalize", "Odd", embedder, nacre.ErrUnsupported, "models.Odd"},
		{"mean", "modules.json", `"1_Pooling"`, `"../1_Pooling"`, embedder, nacre.ErrFormat, "leads out"},
		{"mean", "1_Pooling/config.json", "true", "false", embedder, nacre.ErrFormat, "no way of pooling"},
		{"mean", "onnx/model.onnx", "", "", embedder, os.ErrNotExist, "model.onnx"},
		{"pooled", "2_Dense/config.json", "activation.Tanh", "activation.Odd", embedder, nacre.ErrUnsupported, "activation_function"},
		{"pooled", "2_Dense/config.json", `"out_features": 5`, `"out_features": 6`, embedder, nacre.ErrFormat, "linear.weight"},
		{"pooled", "2_Dense/model.safetensors", "", "", embedder, os.ErrNotExist, "save the model with safetensors"},
		{"single", "config.json", "bad", "worse", embedder, nacre.ErrUnsupported, "a vector for each token"},
		{"single", "config.json", "bad", "worse", embedder, nacre.ErrUnsupported, "logits float32[batch,3]"},
		{"single", "config.json", `"2": "good"`, `"7": "good"`, func(dir string, o Options) error { return closed(OpenClassifier(dir, o)) }, nacre.ErrFormat, "id2label has the number"},
		{"single", "config.json", "single_label", "odd_label", func(dir string, o Options) error { return closed(OpenClassifier(dir, o)) }, nacre.ErrUnsupported, "problem_type"},
		{"single", "config.json", "bad", "worse", func(dir string, o Options) error { return closed(OpenZeroShot(dir, o)) }, nacre.ErrUnsupported, "begins with entail"},
		{"single", "config.json", "bad", "worse", func(dir string, o Options) error { return closed(OpenTokenClassifier(dir, o)) }, nacre.ErrUnsupported, "for each label of a token"},
		{"single", "config.json", `"hidden_size": 8`, `"hidden_size": 16`, folders, nacre.ErrFormat, "do not fit config.json"},
		{"single", "config.json", `"hidden_size": 8`, `"hidden_size": 9`, folders, nacre.ErrFormat, "no multiple of num_attention_heads"},
		{"single", "config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 2000`, folders, nacre.ErrFormat, "num_hidden_layers is 2000"},
		{"single", "config.json", `"hidden_act": "gelu"`, `"hidden_act": "odd"`, folders, nacre.ErrUnsupported, `hidden_act is "odd"`},
		{"single", "config.json", `"layer_norm_eps": 1e-12`, `"is_decoder": true`, folders, nacre.ErrUnsupported, "is_decoder"},
		{"single", "config.json", `"layer_norm_eps": 1e-12`, `"layer_norm_eps": -1`, folders, nacre.ErrFormat, "layer_norm_eps"},
		{"single", "config.json", `"layer_norm_eps": 1e-12`, `"position_embedding_type": "relative_key"`, folders, nacre.ErrUnsupported, "position_embedding_type"},
		{"several", "config.json", `"pad_token_id": 1`, `"pad_token_id": 63`, folders, nacre.ErrFormat, "is 63"},
		{"distil", "config.json", "ForSequenceClassification", "ForQuestionAnswering", folders, nacre.ErrUnsupported, "architectures is"},
		{"mean", "config.json", "bad", "worse", func(dir string, o Options) error { o.MaxTokens = -1; return closed(OpenEmbedder(dir, o)) }, nacre.ErrOption, "MaxTokens"},
		{"mean", "config.json", "bad", "worse", func(dir string, o Options) error { o.MaxTokens = 65; return closed(OpenEmbedder(dir, o)) }, nacre.ErrOption, "MaxTokens is 65; the network has positions for 64 tokens"},
		{"several", "config.json", "bad", "worse", func(dir string, o Options) error { o.MaxTokens = 4000; return closed(OpenClassifier(dir, o)) }, nacre.ErrOption, "MaxTokens is 4000"},
		{"mean", "config.json", "bad", "worse", func(dir string, o Options) error { o.File = "../x"; return closed(OpenEmbedder(dir, o)) }, nacre.ErrOption, "option File"},
		{"mean", "config.json", "bad", "worse", func(dir string, o Options) error { o.Prompt = "query"; return closed(OpenEmbedder(dir, o)) }, nacre.ErrOption, "query"},
	} {
		dir, path := filepath.Join(t.TempDir(), "m"), filepath.FromSlash(c.file)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, c.folder))); err != nil {
			t.Fatal(err)
		}
		if c.from == "" {
			if err := os.Remove(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(c.file, ".onnx") {
				_ = os.Remove(filepath.Join(dir, "model.safetensors"))
			}
		} else {
			data, err := os.ReadFile(filepath.Join(dir, path))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, path), []byte(strings.ReplaceAll(string(data), c.from, c.to)), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := c.open(dir, Options{}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s/%s: the error %v does not say %q", c.folder, c.file, err, c.want)
		}
	}
}

// closed closes what was opened.
func closed[T io.Closer](x T, err error) error {
	if err == nil {
		return x.Close()
	}
	return err
}

// TestPrompts embeds with a prompt of the folder, and without its tokens.
func TestPrompts(t *testing.T) {
	root, texts := models(t)
	dir := filepath.Join(root, "mean")
	write := func(name, from, to string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		data, _ := os.ReadFile(path)
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	embedded := func(o Options, text string) []float32 {
		t.Helper()
		got, err := embed(t.Context(), dir, o, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return got.([][]float32)[0]
	}
	write("config_sentence_transformers.json", "", `{"prompts": {"query": "find a "}, "default_prompt_name": null}`)
	want := embedded(Options{}, "find a fox")
	if got := embedded(Options{Prompt: "query"}, "fox"); !slices.EqualFunc(got, want, near) {
		t.Errorf("%v with a prompt, want %v", got, want)
	}
	write("config_sentence_transformers.json", "null", `"query"`)
	if got := embedded(Options{}, "fox"); !slices.EqualFunc(got, want, near) {
		t.Errorf("%v with the default prompt, want %v", got, want)
	}
	write("1_Pooling/config.json", "{", `{"include_prompt": false, `)
	if got := embedded(Options{}, "fox"); slices.EqualFunc(got, want, near) {
		t.Error("the vector has the tokens of the prompt")
	}
	long := strings.Repeat(texts[3]+" ", 40)
	if a, b := embedded(Options{MaxTokens: 12}, long), embedded(Options{MaxTokens: 12}, long+" more"); !slices.EqualFunc(a, b, near) {
		t.Errorf("%v and %v of texts that are cut", a, b)
	}
}
