package tokenizer

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// readSample reads a JSON file of the samples.
func readSample(t testing.TB, name string, to any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), name))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(name, err)
	}
}

// TestGGUF compares ids and texts with the answers of llama.cpp.
func TestGGUF(t *testing.T) {
	const suffix = ".tokens.json"
	names, err := filepath.Glob(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "*"+suffix))
	if err != nil || len(names) == 0 {
		t.Fatal("no answers:", err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), suffix)
		t.Run(name, func(t *testing.T) {
			var want struct {
				Tokens int     `json:"n_tokens"`
				BOS    int32   `json:"bos"`
				EOS    int32   `json:"eos"`
				EOT    int32   `json:"eot"`
				Ends   []int32 `json:"end_of_generation"`
				Cases  []struct {
					Text   string  `json:"text"`
					IDs    []int32 `json:"ids"`
					Plain  []int32 `json:"ids_plain"`
					Pieces string  `json:"pieces_plain_hex"`
				} `json:"cases"`
			}
			readSample(t, name+suffix, &want)
			tok, err := FromGGUF(t.Context(), ggufSample(t, name), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Vocabulary(); got != want.Tokens {
				t.Errorf("the vocabulary has %d ids, not %d", got, want.Tokens)
			}
			if got := tok.EndIDs(); !slices.Equal(got, want.Ends) {
				t.Errorf("texts end with %d, not %d", got, want.Ends)
			}
			for role, id := range map[string]int32{"bos": want.BOS, "eos": want.EOS, "eot": want.EOT} {
				got, ok := tok.Role(role)
				if !ok {
					got = -1
				}
				if got != id {
					t.Errorf("the token of the role %s is %d, not %d", role, got, id)
				}
			}
			c := &counter{T: t}
			for _, w := range want.Cases {
				got := tok.Encode(w.Text, true)
				c.check(slices.Equal(got, w.IDs), "ids with special tokens of %q:\n got %q\nwant %q", w.Text, tok.names(got), tok.names(w.IDs))
				got = tok.EncodePlain(w.Text)
				c.check(slices.Equal(got, w.Plain), "ids of %q:\n got %q\nwant %q", w.Text, tok.names(got), tok.names(w.Plain))
				pieces, err := hex.DecodeString(w.Pieces)
				if err != nil {
					t.Fatal(err)
				}
				text, decoded := string(pieces), tok.DecodeSpecial(w.Plain)
				if slices.ContainsFunc(tok.decoder, func(d decoder) bool { return d == decoder(decodeStrip{' ', 1, 0}) }) {
					text = strings.TrimPrefix(text, " ")
				}
				c.check(decoded == text, "text of %q:\n got %q\nwant %q", tok.names(w.Plain), decoded, text)
				streamed(t, tok, w.IDs, true)
			}
			if t.Logf("%d of %d comparisons agree", c.all-c.wrong, c.all); c.wrong > 0 || c.all == 0 {
				t.Errorf("%d of %d comparisons differ", c.wrong, c.all)
			}
		})
	}
}

// TestGGUFChats compares chats with the answers of Jinja.
func TestGGUFChats(t *testing.T) {
	var manifest struct {
		Files map[string]struct {
			Chat []struct {
				Messages []struct{ Role, Content string }
				Generate bool `json:"add_generation_prompt"`
				Text     string
			}
		}
	}
	readSample(t, "manifest.json", &manifest)
	n := 0
	for name, file := range manifest.Files {
		if len(file.Chat) == 0 {
			continue
		}
		tok, err := FromGGUF(t.Context(), ggufSample(t, name), Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		for _, c := range file.Chat {
			var messages []Message
			for _, m := range c.Messages {
				messages = append(messages, Message{Role: m.Role, Content: m.Content})
			}
			if got, err := tok.ApplyChat(messages, ChatOptions{Generate: c.Generate}); err != nil || got != c.Text {
				t.Errorf("%s: a chat is\n%q, not\n%q (%v)", name, got, c.Text, err)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("no chats")
	}
}

// The smallest metadata of each kind.
var (
	smallPieces = []any{
		".model", "llama", ".tokens", []string{"<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "▁ab"}, ".token_type", []int32{2, 3, 3, 1, 1, 1, 1, 1},
		".scores", []float32{0, 0, 0, -1, -2, -3, 0, 1},
	}
	smallPairs = []any{".model", "gpt2", ".pre", "gpt-2", ".tokens", []string{"a", "b", "ab", "Ġ", "<x>"}, ".token_type", []int32{1, 1, 1, 1, 3}, ".merges", []string{"a b"}}
	smallWords = []any{
		".model", "bert", ".tokens", []string{"[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁b"}, ".token_type", []int32{2, 3, 3, 1, 1, 1},
		".unknown_token_id", 0, ".bos_token_id", 1, ".seperator_token_id", 2,
	}
	smallScores = []any{
		".model", "t5", ".tokens", []string{"<pad>", "</s>", "<unk>", "▁", "a", "▁a"}, ".token_type", []int32{3, 3, 2, 1, 1, 1},
		".scores", []float32{0, 0, 0, -1, -2, -2}, ".add_space_prefix", true, ".remove_extra_whitespaces", true,
	}
	smallBytes = []any{".model", "rwkv", ".tokens", []string{"<s>", "a", `\n`, `\xe4\xb8`, `a\n`, `\\`}, ".token_type", []int32{3, 1, 1, 1, 1, 1}}
	smallRaw   = []any{
		".model", "gemma4", ".tokens", []string{"<bos>", "a", "▁", "▁a", "\n", "\n\n", "<0xC3>", "<0xA9>"}, ".token_type", []int32{3, 1, 1, 1, 1, 1, 6, 6},
		".merges", []string{"▁ a"}, ".bos_token_id", 0, ".add_bos_token", false,
	}
)

// TestGGUFSmall encodes, and decodes again, with rules that the samples lack.
func TestGGUFSmall(t *testing.T) {
	cases := []struct {
		name string
		base []any
		more []any
		text string
		want string // ids with special tokens
		back string
	}{
		{"pieces", smallPieces, nil, "ab</s>ab?", "[1 7 2 7 0]", "ab ab"},
		{"pieces without a blank", smallPieces, []any{".add_space_prefix", false, ".add_eos_token", true}, "ab ab", "[1 6 7 2]", "ab ab"},
		{"types that are missing", smallPieces, []any{".token_type", nil, ".add_bos_token", false}, "ab", "[7]", "ab"},
		{"ids of any integer", smallPieces, []any{".bos_token_id", int(2)}, "ab", "[2 7]", "ab"},
		{"an id that is out of range", smallPieces, []any{".bos_token_id", 99}, "ab", "[1 7]", "ab"},
		{"empty tokens", smallPieces, []any{".tokens", []string{"<unk>", "<s>", "</s>", "▁", "a", "b", "", "▁ab"}}, "[EMPTY_6]", "[1 3 0 0 0 0 0 0 0 0 0]", ""},
		{"phi-3", smallPieces, []any{"general.name", "My Phi3 mini"}, "<s> ab</s> \n ab", "[1 1 3 7 2 7]", " ab ab"},
		{"pairs", smallPairs, nil, "ab ab<x>", "[2 3 2 4]", "ab ab"},
		{"an end that the texts tell", smallPairs, []any{".tokens", []string{"a", "b", "ab", "Ġ", "<|im_end|>"}, ".token_type", []int32{1, 1, 1, 1, 1}}, "ab<|im_end|>", "[2 4]", "ab"},
		{"a beginning", smallPairs, []any{".add_bos_token", true, ".bos_token_id", 4}, "ab", "[4 2]", "ab"},
		{"merges outside the vocabulary", smallPairs, []any{".tokens", []string{"a", "b", "abab", "Ġ", "<x>"}, ".merges", []string{"a b", "ab ab"}}, "ab abab", "[0 1 3 2]", "ab abab"},
		{"a character without a token", smallPairs, []any{".tokens", []string{"a", "b", "ab", "Ġ", "<x>"}}, "acb ab", "[0 1 3 2]", "ab ab"},
		{"equal merges", smallPairs, []any{".tokens", []string{"a", "b", "ab", "Ġ", "<x>", "bb"}, ".token_type", []int32{1, 1, 1, 1, 3, 1}, ".merges", []string{"b b", "a b", "b b"}}, "abb", "[0 5]", "abb"},
		{"a blank before a mask", smallPairs, []any{".pre", "jina-v2-code", ".tokens", []string{"a", "b", "ab", "Ġ", "<mask>"}}, "ab <mask>", "[2 4]", "ab"},
		{"words", smallWords, nil, "Ab É aé[SEP]", "[1 3 4 0 0 2 2]", "ab"},
		{"words as they are", smallWords, []any{".normalizer.lowercase", false}, "A b", "[1 0 5 2]", "b"},
		{"scores", smallScores, nil, " a  a b", "[5 5 3 2 1]", "a a "},
		{"bytes", smallBytes, []any{".bos_token_id", 0, ".add_bos_token", true}, "a\na\\", "[0 4 1 5]", "a\na\\"},
		{"raw pairs", smallRaw, nil, "a a\n\né", "[0 1 3 5 6 7]", "a a\n\né"},
	}
	for _, c := range cases {
		tok, err := FromGGUF(t.Context(), ggufMetadata(slices.Concat(c.base, c.more)...), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		ids := tok.Encode(c.text, true)
		if got := fmt.Sprint(ids); got != c.want {
			t.Errorf("%s: the ids of %q are %s, not %s", c.name, c.text, got, c.want)
		}
		if got := tok.Decode(ids); got != c.back {
			t.Errorf("%s: the text of %d is %q, not %q", c.name, ids, got, c.back)
		}
	}
}

// TestGGUFPlain checks that texts make no special tokens unless asked.
func TestGGUFPlain(t *testing.T) {
	tokens := []string{"<unk>", "<s>", "</s>", "▁", "<", "s", ">", "<s", "/", "</", "</s", "[A]"}
	scores := make([]float32, len(tokens))
	tok, err := FromGGUF(t.Context(), ggufMetadata(".model", "llama", ".tokens", tokens, ".scores", scores,
		".token_type", []int32{2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4}, ".add_space_prefix", false), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"<s>": "[7 6]", "</s>[A]": "[10 6 11]"} {
		if got := fmt.Sprint(tok.EncodePlain(text)); got != want {
			t.Errorf("the ids of %q are %s, not %s", text, got, want)
		}
	}
	if got := fmt.Sprint(tok.Encode("</s>[A]", false)); got != "[2 11]" {
		t.Error("special tokens are not matched:", got)
	}
}

func TestGGUFRoles(t *testing.T) {
	tokens := []string{"a", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|end|>", "<|return|>", "<|call|>", "<|endoftext|>", "<|fim_pad|>", "</s>"}
	tok, err := FromGGUF(t.Context(), ggufMetadata(".model", "gpt2", ".tokens", tokens, ".merges", []string{}, ".eos_token_id", 7,
		".prefix_token_id", 9, ".suppress_tokens", []int32{3, 1, 99}, "tokenizer.chat_template", "{{ eos_token }}{{ bos_token }}",
		"tokenizer.chat_template.tool_use", "tools"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]int32{"eos": 7, "eot": 4, "fim_prefix": 9, "fim_suffix": 2, "fim_middle": 3, "fim_padding": 8, "bos": -1, "mask": -1} {
		got, ok := tok.Role(role)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("the role %s has the id %d, not %d", role, got, want)
		}
	}
	if got := fmt.Sprint(tok.EndIDs()); got != "[5 6 7 8 9]" {
		t.Error("texts end with", got)
	}
	if got := fmt.Sprint(tok.SuppressedIDs()); got != "[3 1]" {
		t.Error("suppressed are", got)
	}
	for _, word := range []string{"pre is missing", "no id 99"} {
		if !slices.ContainsFunc(tok.Warnings(), func(err error) bool { return strings.Contains(err.Error(), word) }) {
			t.Errorf("no warning has %q: %v", word, tok.Warnings())
		}
	}
	for tools, want := range map[string]string{"": "<|endoftext|>", `{}`: "tools"} {
		o := ChatOptions{}
		if tools != "" {
			o.Tools = []json.RawMessage{json.RawMessage(tools)}
		}
		if got, err := tok.ApplyChat(nil, o); err != nil || got != want {
			t.Errorf("a chat is %q, not %q (%v)", got, want, err)
		}
	}
}

// TestGGUFSplits makes every way to split text.
func TestGGUFSplits(t *testing.T) {
	n := 0
	for name := range ggufSplits() {
		tok, err := FromGGUF(t.Context(), ggufMetadata(slices.Concat(smallPairs, []any{".pre", name, ".add_bos_token", false, ".bos_token_id", 4})...), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, got := "I'LL say:  GrößeÜB 12345 中文, かな\n\n \u0939\u093f½ <sentinel:3>", ""
		tok.split.split(unlimited(), piece{text: text, first: true}, func(p piece) { got += p.text })
		if got != text {
			t.Errorf("%s: the parts make %q", name, got)
		}
		n++
	}
	if n < 80 {
		t.Errorf("%d names", n)
	}
}

// TestGGUFWords compares words with the ones that the expressions of the models give.
func TestGGUFWords(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"tiny_aya", "x 1234567 12345ab", "x| |1|234|567| |123|45|ab"},
		{"afmoe", "1234567a12", "1|234|567|a|12"},
		{"superbpe", "a 1234567b 12½", "a |1|234|567|b |12½"},
		{"deepseek-v3", "Hi,there 12345漢字です!?\n x", "Hi|,there| |123|45|漢字です|!?\n| x"},
		{"deepseek-coder", "a, b  12\r\nc", "a|,| b|  |1|2|\r|\n|c"},
		{"qwen35", "\u0939\u093f\u0928 a12", "\u0939\u093f\u0928| a|1|2"},
		{"bloom", "a b, c", "a| b|,| c"},
		{"viking", "a12 b", "a|1|2| b"},
		{"gpt-4o", "HelloWorld's ÜBUNGstart/\n", "Hello|World's| ÜBUNGstart|/\n"},
		{"llama-bpe", "I'M 1234 a\n\n b", "I|'M| |123|4| a|\n\n| b"},
		{"starcoder", "a12 b's", "a|1|2| b|'s"},
		{"default", "a1234.b", "a|123|4|.|b"},
		{"seed-coder", "a.\nb", "a|.|\n|b"},
		{"laguna", "a \nb", "a| |\n|b"},
		{"chameleon", "IMGIMGABZa.", "IMGIMGABZ|a|."},
	} {
		tok, err := FromGGUF(t.Context(), ggufMetadata(slices.Concat(smallPairs, []any{".pre", c.name, ".add_bos_token", false})...), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		tok.split.split(unlimited(), piece{text: c.text, first: true}, func(p piece) { got = append(got, p.text) })
		if got := strings.Join(got, "|"); got != c.want {
			t.Errorf("%s: the words of %q are\n%q, not\n%q", c.name, c.text, got, c.want)
		}
	}
}

func TestGGUFRefused(t *testing.T) {
	nan := float32(math.NaN())
	cases := []struct {
		name string
		base []any
		more []any
		want string
	}{
		{"kind", smallPieces, []any{".model", "plamo2"}, `"plamo2"`},
		{"no tokens", smallPieces, []any{".tokens", nil}, "tokens is missing"},
		{"an empty vocabulary", smallPieces, []any{".tokens", []string{}}, "no tokens"},
		{"tokens of numbers", smallPieces, []any{".tokens", []int32{1}}, "array of i32"},
		{"twice a token", smallPieces, []any{".tokens", []string{"a", "b", "", "c", "[EMPTY_2]", "d", "e", "f"}}, "tokens 2 and 4"},
		{"a long token", smallPieces, []any{".tokens", []string{strings.Repeat("a", 5000)}}, "5000"},
		{"a token of wrong bytes", smallPieces, []any{".tokens", []string{"\xff"}}, "UTF-8"},
		{"few types", smallPieces, []any{".token_type", []int32{1}}, "1 elements"},
		{"an unknown type", smallPieces, []any{".token_type", []int32{1, 2, 3, 4, 5, 6, 7, 1}}, "is 7"},
		{"many scores", smallPieces, []any{".scores", make([]float32, 9)}, "9 elements"},
		{"no scores", smallPieces, []any{".scores", nil}, "scores is missing"},
		{"a score that is no number", smallPieces, []any{".scores", []float32{0, 0, 0, 0, nan, 0, 0, 0}}, "score of token 4"},
		{"an id that is a text", smallPieces, []any{".bos_token_id", "1"}, "bos_token_id"},
		{"a beginning without an id", smallPairs, []any{".add_bos_token", true}, "id of the token is missing"},
		{"a flag that is a number", smallPairs, []any{".add_bos_token", 1}, "not bool"},
		{"no merges", smallPairs, []any{".merges", nil}, "merges is missing"},
		{"a merge of one", smallPairs, []any{".merges", []string{"a b", "ab"}}, "merge 1"},
		{"a merge of nothing", smallPairs, []any{".merges", []string{"a "}}, "merge 0"},
		{"a long merge", smallPairs, []any{".merges", []string{"a " + strings.Repeat("b", 5000)}}, "5001"},
		{"a way to split", smallPairs, []any{".pre", "odd-bpe"}, `"odd-bpe"`},
		{"words without an unknown token", smallWords, []any{".unknown_token_id", nil}, "unknown token"},
		{"words without ends", smallWords, []any{".seperator_token_id", nil}, "between two tokens"},
		{"a map of characters", smallScores, []any{".precompiled_charsmap", []byte{255, 255, 255, 255, 0}}, "map of characters"},
		{"a map of texts", smallScores, []any{".precompiled_charsmap", "x"}, "not array of u8"},
		{"an escape", smallBytes, []any{".tokens", []string{"<s>", "a", "b", "c", "d", `\x9`}}, "two digits"},
		{"an escape of nothing", smallBytes, []any{".tokens", []string{"<s>", "a", "b", "c", "d", `\`}}, "backslash"},
		{"escapes of one text", smallBytes, []any{".tokens", []string{"<s>", "a", `\x61`, "c", "d", "e"}}, "tokens 1 and 2"},
		{"a long template", smallPairs, []any{"tokenizer.chat_template", strings.Repeat("x", maxTemplate+1)}, "chat_template"},
		{"a template of numbers", smallPairs, []any{"tokenizer.chat_template", 1}, "not string"},
		{"suppressed texts", smallPairs, []any{".suppress_tokens", []string{"a"}}, "suppress_tokens"},
		{"suppressed ids", smallPairs, []any{".suppress_tokens", slices.Repeat([]int32{-1}, 99)}, "lacks"},
	}
	for _, c := range cases {
		if _, err := FromGGUF(t.Context(), ggufMetadata(slices.Concat(c.base, c.more)...), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error %v does not name %s", c.name, err, c.want)
		}
	}
	twice := append(ggufMetadata(smallPairs...), ggufPair(ggufPrefix+"model", "gpt2"))
	if _, err := FromGGUF(t.Context(), twice, Options{}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error("a key that comes twice:", err)
	}
	for _, list := range [][]any{{"general.name", "x"}, {".model", "no_vocab"}} {
		if _, err := FromGGUF(t.Context(), ggufMetadata(list...), Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Error("no tokenizer:", err)
		}
	}
	if tok, err := FromGGUF(t.Context(), ggufMetadata("tokenizer.huggingface.json", document1("")), Options{}); err != nil || fmt.Sprint(tok.Encode("aab", true)) != "[2 1]" {
		t.Error("a whole tokenizer.json:", err)
	}
}

// TestGGUFLimits reads metadata past its limits.
func TestGGUFLimits(t *testing.T) {
	tokens, merges := make([]string, 20000), make([]string, 20000)
	for i := range tokens {
		tokens[i], merges[i] = fmt.Sprint("t", i), fmt.Sprint("m ", i)
	}
	for name, more := range map[string][]any{
		"tokens": {".tokens", tokens, ".token_type", nil}, "merges": {".merges", merges}, "added": {".tokens", tokens, ".token_type", slices.Repeat([]int32{3}, len(tokens))},
	} {
		meta := ggufMetadata(slices.Concat(smallPairs, more)...)
		if _, err := FromGGUF(t.Context(), meta, Options{Limit: Limit{Bytes: 1 << 20}}); !errors.Is(err, ErrLimit) {
			t.Errorf("20000 %s within 1 MiB: %v", name, err)
		}
		if _, err := FromGGUF(t.Context(), meta, Options{Limit: Limit{Steps: 1 << 12}}); !errors.Is(err, ErrLimit) {
			t.Errorf("20000 %s within 4096 steps: %v", name, err)
		}
		if _, err := FromGGUF(t.Context(), meta, Options{}); err != nil {
			t.Errorf("20000 %s: %v", name, err)
		}
	}
}
