package tokenizer

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

// all returns the tokenizers of the folder of answers by name.
func all(t testing.TB) map[string]*Tokenizer {
	from, out := answersFolder(t), map[string]*Tokenizer{}
	for _, pattern := range []string{"*.json", "*.model"} {
		names, err := fs.Glob(from, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".answers.json") || name == "texts.json" {
				continue
			}
			out[name] = known(t, name)
		}
	}
	return out
}

// stepDocuments returns documents for each kind of step that the fixtures lack, or have in one form
// only.
func stepDocuments() map[string]string {
	long := strings.Repeat("a", maxToken)
	out := map[string]string{}
	for i, s := range []string{
		`{"type":"Replace","pattern":{"Regex":"a[^b]*b|a"},"content":"b"}`, `{"type":"Replace","pattern":{"Regex":"(a*)*b"},"content":"bb"}`,
		`{"type":"Replace","pattern":{"Regex":"(?:a|aa)+$|(?:a?){20}c|\\s+$"},"content":""}`, `{"type":"Replace","pattern":{"Regex":"x*"},"content":"-"}`,
		`{"type":"Replace","pattern":{"String":"aa"},"content":"a"}`, `{"type":"Strip","strip_left":true,"strip_right":true}`, `{"type":"Prepend","prepend":"▁"}`,
		`{"type":"NFC"}`, `{"type":"NFD"}`, `{"type":"NFKC"}`, `{"type":"NFKD"}`, `{"type":"Lowercase"}`, `{"type":"StripAccents"}`, `{"type":"Nmt"}`, `{"type":"ByteLevel"}`,
		`{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":true,"lowercase":true}`,
		`{"type":"Precompiled","precompiled_charsmap":"` + base64.StdEncoding.EncodeToString(loopedMap()) + `"}`,
	} {
		out[fmt.Sprint("normalizer ", i)] = strings.Replace(document1(""), `"normalizer":null`, `"normalizer":`+s, 1)
	}
	for i, s := range []string{
		`{"type":"Split","behavior":"Isolated","pattern":{"Regex":"a[^b]*b|a"}}`, `{"type":"Split","behavior":"Removed","invert":true,"pattern":{"Regex":"(?:a*b)?"}}`,
		`{"type":"Split","behavior":"MergedWithNext","pattern":{"Regex":"a+?c|\\s+x|."}}`, `{"type":"Split","behavior":"Contiguous","pattern":{"String":"aa"}}`,
		`{"type":"Split","behavior":"MergedWithPrevious","pattern":{"Regex":"[a-c]+d|e|\\s+(?!\\S)|\\s+"}}`,
		`{"type":"ByteLevel"}`, `{"type":"Metaspace","replacement":"▁"}`, `{"type":"Whitespace"}`, `{"type":"WhitespaceSplit"}`, `{"type":"BertPreTokenizer"}`,
		`{"type":"UnicodeScripts"}`, `{"type":"Punctuation"}`, `{"type":"Digits","individual_digits":true}`, `{"type":"CharDelimiterSplit","delimiter":"a"}`, `{"type":"FixedLength"}`,
	} {
		out[fmt.Sprint("pre_tokenizer ", i)] = document1(`,"pre_tokenizer":` + s)
	}
	for i, s := range []string{`"content":" ","lstrip":true`, `"content":" ","rstrip":true`, `"content":" ","lstrip":true,"rstrip":true`, `"content":"a","single_word":true`,
		`"content":"` + long + `"`, `"content":"\u0301","normalized":true,"lstrip":true`} {
		out[fmt.Sprint("added ", i)] = document1(`,"added_tokens":[{"id":4,` + s + `},{"id":5,"content":"` + strings.Repeat("ab", 20) + `","special":true}]`)
	}
	out["unigram"] = `{"decoder":null,"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["?",0],["a",-1],["` + long[:64] + `",-2]]}}`
	out["wordpiece"] = `{"decoder":null,"model":{"type":"WordPiece","unk_token":"?","max_input_chars_per_word":99999999,"vocab":{"?":0,"a":1,"##a":2,"##` + long[:64] + `b":3}}}`
	out["wordlevel"] = `{"decoder":null,"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1}}}`
	out["bpe"] = `{"decoder":null,"model":{"type":"BPE","fuse_unk":true,"unk_token":"?","end_of_word_suffix":"</w>","continuing_subword_prefix":"##","vocab":{"?":0,"a":1,"##a":2,"a</w>":3,"aa":4},"merges":["a ##a"]}}`
	out["gpt.rs"] = `{"vocab":{"<unk>":0,"a":1,"Ġ":2,"ĠĠ":3,"aa":4},"merges":[["Ġ","Ġ"],["a","a"],["aa","aa"]]}`
	return out
}

// ggufDocuments returns metadata of each kind, and of the ways to split text that are most work.
func ggufDocuments() map[string][]any {
	out := map[string][]any{"llama": smallPieces, "bert": smallWords, "t5": smallScores, "rwkv": smallBytes, "gemma4": smallRaw}
	for _, name := range []string{"default", "deepseek-llm", "deepseek-v3", "tiny_aya", "afmoe", "exaone-moe", "chameleon"} {
		out["gpt2 "+name] = slices.Concat(smallPairs, []any{".pre", name, ".bos_token_id", 4, ".merges", []string{"a b", "a a", "aa aa", "aaaa b"}})
	}
	return out
}

// loopedMap returns a map of characters with an array that leads from a node to itself for a
// letter.
func loopedMap() []byte {
	units := make([]uint32, 512)
	for i := range units {
		units[i] = 'a' | uint32('a')<<10 // the child for an a is the node itself
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		data = binary.LittleEndian.AppendUint32(data, u)
	}
	return append(data, 'x', 0)
}

// units are repeated to make texts that may take long.
var units = []string{"a", " ", "ab", "a ", "\u0301", "é", "A", "1", ".", "\n", "\t\u3000", "中", "👩‍", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "'s", "ʰA", "\x00", "ﷺ", "<", "▁"}

// TestLinear encodes texts of a size, and of twice and four times the size. The steps grow no
// faster than the text, but for a logarithm.
func TestLinear(t *testing.T) {
	tokenizers := all(t)
	for name, document := range stepDocuments() {
		tok, err := Read([]byte(document))
		if err != nil {
			t.Fatal(name, err)
		}
		tokenizers[name] = tok
	}
	for name, meta := range ggufDocuments() {
		tok, err := FromGGUF(t.Context(), ggufMetadata(meta...), Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		tokenizers[name] = tok
	}
	for name, tok := range tokenizers {
		for _, unit := range units {
			const n = 1 << 12
			var counts [3]int
			for i := range counts {
				text := strings.Repeat(unit, n<<i/len(unit)+1) + "b"
				w := unlimited()
				tok.encode(w, text, true, false)
				counts[i] = w.counted
			}
			if allowed := 2.4*float64(counts[0]) + 4096; float64(counts[1]) > allowed || float64(counts[2]) > 2.4*float64(counts[1])+4096 {
				t.Errorf("%s: texts of %.20q take %d steps", name, unit, counts)
			}
			if most := float64(n) * 4 * 4500; float64(counts[2]) > most {
				t.Errorf("%s: texts of %.20q take %d steps", name, unit, counts)
			}
		}
	}
}

// TestLimits asks for more than limits allow. The error is ErrLimit or the context's.
func TestLimits(t *testing.T) {
	grow := strings.Replace(document1(""), `"normalizer":null`, `"normalizer":{"type":"Replace","pattern":{"String":"a"},"content":"`+strings.Repeat("b", 16000)+`"}`, 1)
	tok, err := Read([]byte(grow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.EncodeContext(t.Context(), strings.Repeat("a", 20000), true); !errors.Is(err, ErrLimit) {
		t.Error("a text that grows:", err)
	}
	if tok.Encode(strings.Repeat("a", 20000), true) != nil || tok.Encode("a", true) == nil {
		t.Error("Encode gives ids past the limit, or none within it")
	}
	many := fmt.Sprintf(`,"post_processor":{"type":"TemplateProcessing","single":[%s{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"x":{"id":"x","ids":[%s0],"tokens":[]}}}`,
		strings.Repeat(`{"SpecialToken":{"id":"x","type_id":0}},`, 300), strings.Repeat("0,", 10000))
	if _, err := Read([]byte(document1(many))); err == nil || !strings.Contains(err.Error(), "ids are put around") {
		t.Error("ids around a text:", err)
	}
	var vocab strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&vocab, `,"t%d":%d`, i, 4+i)
	}
	large := []byte(strings.Replace(document1(""), `"<u>":3`, `"<u>":3`+vocab.String(), 1))
	if _, err := Read(large); err != nil {
		t.Error(err)
	}
	if _, err := ReadContext(t.Context(), large, Options{Limit: Limit{Bytes: 1 << 20}}); !errors.Is(err, ErrLimit) {
		t.Error("a vocabulary of 20000 within 1 MiB:", err)
	}
	small, err := ReadContext(t.Context(), []byte(document1("")), Options{Limit: Limit{Bytes: 1 << 20, Steps: 1 << 14}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.EncodeContext(t.Context(), strings.Repeat("ab", 1<<14), true); !errors.Is(err, ErrLimit) {
		t.Error("a long text:", err)
	}
	if _, err := small.DecodeContext(t.Context(), make([]int32, 1<<14), true); !errors.Is(err, ErrLimit) {
		t.Error("many ids:", err)
	}
	small.chat = &Chat{templates: map[string]string{"default": "{% for i in range(99999) %}{% endfor %}"}}
	if _, err := small.ApplyChat(nil, ChatOptions{}); !errors.Is(err, ErrLimit) {
		t.Error("a template:", err)
	}
	ended, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err1 := small.EncodeContext(ended, "a", true)
	_, err2 := small.DecodeContext(ended, []int32{1}, true)
	_, err3 := small.ApplyChatContext(ended, nil, ChatOptions{})
	_, err4 := ReadContext(ended, []byte(document1("")), Options{})
	_, err5 := LoadContext(ended, t.TempDir(), Options{})
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call %d after the deadline: %v", i, err)
		}
	}
}
