package tokenizer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// document1 returns a tokenizer.json with a small vocabulary and further parts.
func document1(parts string) string {
	return `{"normalizer":null,"model":{"type":"BPE","vocab":{"a":0,"b":1,"aa":2,"<u>":3},"merges":[["a","a"]]}` + parts + `}`
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat(`{"type":"Sequence","normalizers":[`, 40) + strings.Repeat("]}", 40)
	double := strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aa"},`, 40)
	cases := []struct{ name, file, want string }{
		{"unknown model", `{"decoder":null,"model":{"type":"Neural","vocab":{}}}`, "Neural"},
		{"no model", `{"decoder":null}`, "no model"},
		{"dropout", `{"decoder":null,"model":{"type":"BPE","dropout":0.1,"vocab":{},"merges":[]}}`, "dropout"},
		{"merge of nothing", `{"decoder":null,"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`, "merge 0"},
		{"merge to nothing", `{"decoder":null,"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}}`, "lacks"},
		{"large id", `{"decoder":null,"model":{"type":"BPE","vocab":{"a":2000000000},"merges":[]}}`, "2000000000"},
		{"negative id", `{"decoder":null,"model":{"type":"WordLevel","vocab":{"a":-1},"unk_token":"a"}}`, "-1"},
		{"unknown field", `{"decoder":null,"model":{"type":"BPE","vocab":{"a":0},"merges":[],"odd":1}}`, "odd"},
		{"unknown word", `{"decoder":null,"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"?"}}`, "unknown token"},
		{"unigram without unknown", `{"decoder":null,"model":{"type":"Unigram","unk_id":null,"vocab":[["a",0]]}}`, "unk_id"},
		{"unknown id of unigram", `{"decoder":null,"model":{"type":"Unigram","unk_id":7,"vocab":[["a",0]]}}`, "unk_id is 7"},
		{"large added id", document1(`,"added_tokens":[{"id":1999999999,"content":"x"}]`), "1999999999"},
		{"long added token", document1(`,"added_tokens":[{"id":9,"content":"` + strings.Repeat("x", 5000) + `"}]`), "5000"},
		{"pre-tokenizer", document1(`,"pre_tokenizer":{"type":"Jieba"}`), "Jieba"},
		{"look-ahead", document1(`,"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"a(?=b)"}}`), "not supported"},
		{"possessive", document1(`,"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"a++"}}`), "possessive"},
		{"bound pattern", document1(`,"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"^a"}}`), "bound"},
		{"behavior", document1(`,"pre_tokenizer":{"type":"Split","behavior":"Odd","pattern":{"Regex":"a"}}`), "Odd"},
		{"template", document1(`,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{}}`), `"x"`},
		{"template without text", document1(`,"post_processor":{"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}}`), "lacks the text"},
		{"id around texts", document1(`,"post_processor":{"type":"BertProcessing","sep":["<u>",99],"cls":["<u>",3]}`), "99"},
		{"truncation", document1(`,"truncation":{"direction":"Up","max_length":4,"strategy":"LongestFirst","stride":0}`), "Up"},
		{"truncation to nothing", document1(`,"truncation":{"direction":"Left","max_length":0,"strategy":"LongestFirst","stride":0}`), "max_length is 0"},
		{"strategy", document1(`,"truncation":{"direction":"Left","max_length":4,"strategy":"Odd","stride":0}`), "Odd"},
		{"padding", document1(`,"padding":{"strategy":"Shortest","direction":"Right","pad_id":0,"pad_type_id":0,"pad_token":"x"}`), "Shortest"},
		{"large padding", document1(`,"padding":{"strategy":{"Fixed":99999999999},"direction":"Right","pad_id":0}`), "99999999999"},
		{"decoder", document1(`,"decoder":{"type":"Odd"}`), "Odd"},
		{"deep steps", strings.Replace(document1(""), `"normalizer":null`, `"normalizer":`+deep, 1), "deep"},
		{"growing texts", strings.Replace(document1(""), `"normalizer":null`, `"normalizer":{"type":"Sequence","normalizers":[`+strings.TrimSuffix(double, ",")+`]}`, 1), "longer"},
		{"map of characters", strings.Replace(document1(""), `"normalizer":null`, `"normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="}`, 1), "map of characters"},
		{"not a file of the field", "hello", "SentencePiece"},
		{"gpt.rs without unknown", `{"vocab":{"a":0},"merges":[]}`, "unknown token"},
	}
	for _, c := range cases {
		if _, err := Read([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error %v does not name %s", c.name, err, c.want)
		}
	}
}

// TestLongWords encodes words of a quarter of a million characters. No step may take quadratic
// time.
func TestLongWords(t *testing.T) {
	const n = 1 << 18
	ladder := `{"type":"BPE","vocab":{"a":0,"aa":1,"aaaa":2,"aaaaaaaa":3,"b":4},"merges":["a a","aa aa","aaaa aaaa"]}`
	long := strings.Repeat("a", 512)
	files := map[string]string{
		"bpe":       `{"decoder":null,"model":` + ladder + `}`,
		"unigram":   `{"decoder":null,"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["aaaaaaaa",-2]]}}`,
		"wordpiece": `{"decoder":null,"model":{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":9999999,"vocab":{"?":0,"a":1,"##a":2,"##aa":3,"` + long + `":4}}}`,
		"metaspace": `{"decoder":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁"},"model":` + ladder + `}`,
	}
	for name, file := range files {
		tok, err := Read([]byte(file))
		if err != nil {
			t.Fatal(name, err)
		}
		start := time.Now()
		for _, text := range []string{strings.Repeat("a", n), strings.Repeat("ab", n/2), strings.Repeat(" ", n), strings.Repeat("a ", n/2)} {
			if ids := tok.Encode(text, true); len(ids) == 0 && strings.HasPrefix(text, "a") {
				t.Errorf("%s: no ids", name)
			}
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s takes %s", name, d)
		}
	}
	tok, err := Read([]byte(files["bpe"]))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(tok.Encode(strings.Repeat("a", n), true)); got != n/8 {
		t.Errorf("%d tokens, not %d", got, n/8)
	}
}

func TestInvalidText(t *testing.T) {
	tok, err := Read([]byte(document1(`,"added_tokens":[{"id":4,"content":"\ufffd"}]`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tok.Encode("a\xffb\xe4\xb8", false)); got != "[0 4 1 4]" {
		t.Errorf("ids %s", got)
	}
}
