package tokenizer

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// folderOf returns files as a folder.
func folderOf(files map[string][]byte) fs.FS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: data}
	}
	return m
}

// TestExchange makes files of the tokenizers in samples, and metadata of the files. All give the
// ids of llama.cpp.
func TestExchange(t *testing.T) {
	const suffix = ".tokens.json"
	names, err := filepath.Glob(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "*"+suffix))
	if err != nil || len(names) == 0 {
		t.Fatal("no answers:", err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), suffix)
		t.Run(name, func(t *testing.T) {
			var want struct {
				Cases []struct {
					Text  string  `json:"text"`
					IDs   []int32 `json:"ids"`
					Plain []int32 `json:"ids_plain"`
				} `json:"cases"`
			}
			readSample(t, name+suffix, &want)
			meta := ggufSample(t, name)
			first, err := FromGGUF(t.Context(), meta, Options{})
			if err != nil {
				t.Fatal(err)
			}
			files, err := ToFolder(t.Context(), meta, Options{})
			if err != nil {
				t.Fatal(err)
			}
			read, err := ReadContext(t.Context(), files["tokenizer.json"], Options{})
			if err != nil {
				t.Fatal(err)
			}
			pairs, err := ToGGUF(t.Context(), folderOf(files), first.Vocabulary()+3, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range meta { // the name has a part in tokens
				if p.Key == "general.name" {
					pairs = append(pairs, p)
				}
			}
			back, err := FromGGUF(t.Context(), pairs, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := back.Vocabulary(); got != first.Vocabulary()+3 {
				t.Errorf("%d tokens, want 3 more than %d", got, first.Vocabulary())
			}
			for what, tok := range map[string]*Tokenizer{"tokenizer.json": read, "metadata": back} {
				c := &counter{T: t}
				for _, w := range want.Cases {
					if name == "tokenizer.wordpiece.gguf" && strings.ContainsAny(w.Text, "안न") && what == "tokenizer.json" {
						continue // letters after the first one of a decomposition
					}
					got := tok.Encode(w.Text, true)
					c.check(slices.Equal(got, w.IDs), "%s: ids with special tokens of %q:\n got %q\nwant %q", what, w.Text, tok.names(got), tok.names(w.IDs))
					if name == "tokenizer.unigram.gguf" && (strings.Contains(w.Text, "</s>") || strings.Contains(w.Text, "<unk>")) {
						continue // tokens of the model, too
					}
					got = tok.EncodePlain(w.Text)
					c.check(slices.Equal(got, w.Plain), "%s: ids of %q:\n got %q\nwant %q", what, w.Text, tok.names(got), tok.names(w.Plain))
					if a, b := tok.DecodeSpecial(w.Plain), first.DecodeSpecial(w.Plain); a != b && first.model != nil {
						c.check(strings.HasPrefix(name, "tokenizer.wordpiece") || strings.HasPrefix(name, "tokenizer.unigram"), "%s: text of %q:\n got %q\nwant %q", what, tok.names(w.Plain), a, b)
					}
				}
				if c.wrong > 0 || c.all == 0 {
					t.Errorf("%s: %d of %d comparisons differ", what, c.wrong, c.all)
				}
			}
			for _, role := range []string{"bos", "eos", "unknown", "padding"} {
				a, ok := first.Role(role)
				if b, ok2 := back.Role(role); ok && (a != b || !ok2) {
					t.Errorf("the role %s has the id %d, want %d", role, b, a)
				}
			}
			if (first.chat == nil) != (back.chat == nil) || first.chat != nil && back.chat.templates["default"] != first.chat.templates["default"] {
				t.Errorf("templates are %v, want %v", back.chat, first.chat)
			}
		})
	}
}

// TestExchangeRefused has tokenizers that the other side cannot say.
func TestExchangeRefused(t *testing.T) {
	if _, err := ToFolder(t.Context(), ggufMetadata(smallBytes...), Options{}); err == nil || !strings.Contains(err.Error(), `"rwkv"`) {
		t.Error(err)
	}
	if _, err := ToFolder(t.Context(), nil, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ToGGUF(t.Context(), folderOf(nil), 0, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	bpe := func(parts string) string {
		return `{"normalizer":null,"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]` + parts + `}`
	}
	for text, want := range map[string]string{
		bpe(`}`): "neither the steps of bytes",
		bpe(`},"pre_tokenizer":{"type":"ByteLevel"}`): "add_prefix_space",
		bpe(`},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"x"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}`): "have no name in GGUF",
		bpe(`,"ignore_merges":true},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}`):                                                                                                                  "have no name in GGUF",
		bpe(`},"pre_tokenizer":{"type":"Whitespace"}`):                                     "Whitespace has no place",
		`{"normalizer":null,"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0}}}`: "WordLevel has no counterpart",
		`{"normalizer":null,"model":{"type":"WordPiece","unk_token":"a","vocab":{"a":0}}}`: "BertNormalizer",
		`{"normalizer":null,"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0]]}}`:      "Metaspace",
		`{"normalizer":null`: "JSON",
	} {
		if _, err := ToGGUF(t.Context(), folderOf(map[string][]byte{"tokenizer.json": []byte(text)}), 0, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	text := bpe(`},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}`)
	if _, err := ToGGUF(t.Context(), folderOf(map[string][]byte{"tokenizer.json": []byte(text)}), 2, Options{}); err == nil || !strings.Contains(err.Error(), "2 rows") {
		t.Error(err)
	}
	if _, err := ToGGUF(t.Context(), folderOf(map[string][]byte{"tokenizer.json": []byte(text), "tokenizer_config.json": []byte(`{"chat_template":1}`)}), 0, Options{}); err == nil || !strings.Contains(err.Error(), "chat_template") {
		t.Error(err)
	}
	if _, err := ToGGUF(t.Context(), folderOf(map[string][]byte{"tokenizer.json": []byte(text)}), 0, Options{Limit: Limit{Bytes: 64}}); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
}

// near has the samples whose ids differ for some texts, and why.
var near = map[string]string{
	"bert":  "letters after the first one of a decomposition",
	"qwen2": "NFC", "neox": "NFC",
	"llama2_metaspace": "a blank before texts that begin with one", "llama2_unfused": "a blank before texts that begin with one",
	"unigram_map": "the map is used on characters, not on clusters of them",
}

// TestExchangeAnswers makes metadata of the samples of tokenizer.json that GGUF has words for. The
// ids are those of the package tokenizers.
func TestExchangeAnswers(t *testing.T) {
	from := answersFolder(t)
	var texts []string
	readAnswer(t, from, "texts.json", &texts)
	names, err := fs.Glob(from, "*.answers.json")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, name := range names {
		name = strings.TrimSuffix(name, ".answers.json")
		file := "tokenizer.json"
		data, err := fs.ReadFile(from, name+".json")
		if err != nil {
			file = "tokenizer.model"
			if data, err = fs.ReadFile(from, name+".model"); err != nil {
				t.Fatal(err)
			}
		}
		pairs, err := ToGGUF(t.Context(), folderOf(map[string][]byte{file: data}), 0, Options{})
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		tok, err := FromGGUF(t.Context(), pairs, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		taken++
		var a answers
		readAnswer(t, from, name+".answers.json", &a)
		c := &counter{T: t}
		for i, text := range texts {
			want := a.Special[i]
			if want == nil {
				want = a.Plain[i]
			}
			if want == nil {
				continue
			}
			got := tok.Encode(text, true)
			if c.all++; slices.Equal(got, want) {
				continue
			}
			if c.wrong++; near[name] == "" {
				t.Errorf("%s: ids of %q:\n got %q\nwant %q", name, text, tok.names(got), tok.names(want))
			}
		}
		if t.Logf("%s: %d of %d agree", name, c.all-c.wrong, c.all); c.wrong > c.all/4 {
			t.Errorf("%s: %d of %d differ", name, c.wrong, c.all)
		}
	}
	if taken < 3 {
		t.Errorf("%d samples are taken", taken)
	}
}

// TestExchangeRoles finds roles in config.json where tokenizer_config.json lacks them.
func TestExchangeRoles(t *testing.T) {
	files, err := ToFolder(t.Context(), ggufMetadata(smallPairs...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	files["tokenizer_config.json"] = []byte(`{"pad_token":{"content":"a"}}`)
	files["config.json"] = []byte(`{"bos_token_id":1,"eos_token_id":[2,3],"pad_token_id":4}`)
	pairs, err := ToGGUF(t.Context(), folderOf(files), 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromGGUF(t.Context(), pairs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := tok.ID("a")
	for role, want := range map[string]int32{"bos": 1, "eos": 2, "padding": a} {
		if got, ok := tok.Role(role); !ok || got != want {
			t.Errorf("the role %s has the id %d, want %d", role, got, want)
		}
	}
}
