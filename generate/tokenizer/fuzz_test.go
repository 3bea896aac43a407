package tokenizer

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/guard"
)

// FuzzRead reads files of any bytes, and encodes and decodes with those that are accepted.
func FuzzRead(f *testing.F) {
	f.Add(knownFile(f, "sp_bpe.model")[:4<<10], "Hello, wörld 中 <s>")
	for _, document := range stepDocuments() {
		f.Add([]byte(document), "aab \u0301A")
	}
	f.Add([]byte(document1("")), "aab")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := ReadContext(t.Context(), data, Options{Limit: Limit{Bytes: 64 << 20, Steps: 1 << 22}})
		if err != nil {
			return
		}
		o := Options{Limit: Limit{Bytes: 64 << 20, Steps: 1 << 22}}
		if meta, err := ToGGUF(t.Context(), folderOf(map[string][]byte{"tokenizer.json": data}), 0, o); err == nil {
			if _, err := FromGGUF(t.Context(), meta, o); err != nil && !errors.Is(err, ErrLimit) {
				t.Errorf("metadata of a file are refused: %v", err)
			}
		}
		ids, err := tok.EncodeContext(t.Context(), text, true)
		if err != nil && !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.Vocabulary() {
				t.Fatalf("the id %d is beyond the vocabulary of %d", id, tok.Vocabulary())
			}
		}
		if err == nil {
			encoded(t, tok, text, ids)
		}
		ids = append(ids, 0, 1, -1, 1<<30, 2, 3, 3)
		for _, special := range []bool{false, true} {
			streamed(t, tok, ids, special)
		}
	})
}

// encoded compares an encoding with the ids of Encode, and encodes a pair as the file says.
func encoded(t *testing.T, tok *Tokenizer, text string, ids []int32) {
	t.Helper()
	e, err := tok.EncodeInput(t.Context(), Input{Text: text}, EncodingOptions{Truncation: &Truncation{}, Padding: &Padding{}})
	if err != nil {
		if !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
		return
	}
	if !slices.Equal(e.IDs, ids) {
		t.Fatalf("%q has the ids %v, and in an encoding %v", text, ids, e.IDs)
	}
	for i, o := range e.Offsets {
		if o.Start < 0 || o.Start > o.End || o.End > len(text) {
			t.Fatalf("%q: token %d of %q is at %v", text, i, tok.names(ids), o)
		}
	}
	in := []Input{{Text: text, Second: text, Pair: true}, {Text: text}}
	list, err := tok.EncodeInputs(t.Context(), in, EncodingOptions{Overflow: true})
	for _, e := range list {
		if n := len(e.IDs); len(e.TypeIDs) != n || len(e.Mask) != n || len(e.Offsets) != n || len(e.Specials) != n {
			t.Fatalf("%q: %d ids in %v", text, n, e)
		}
	}
	if errors.Is(err, guard.ErrInternal) {
		t.Fatal(err)
	}
}

// streamed compares the text of a stream with the text of Decode.
func streamed(t *testing.T, tok *Tokenizer, ids []int32, special bool) {
	t.Helper()
	want, err := tok.DecodeContext(t.Context(), ids, special)
	s := tok.Stream(special)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	failed := s.Err()
	b.WriteString(s.Flush())
	if err == nil && failed == nil && tok.partial == nil && b.String() != want {
		t.Fatalf("%v are %q and stream as %q", tok.names(ids), want, b.String())
	}
}

// FuzzChat runs templates of any bytes on a chat of any text. They end within their steps and their
// memory.
func FuzzChat(f *testing.F) {
	data, err := os.ReadFile("testdata/chats.json")
	if err != nil {
		f.Fatal(err)
	}
	var cases []chatCase
	if err := json.Unmarshal(data, &cases); err != nil {
		f.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if !seen[c.Template] {
			seen[c.Template] = true
			f.Add(c.Template, "Hi <|im_end|>\n", `{"name":"f","parameters":{"type":"object","x":[1,2.5,null,true]}}`)
		}
	}
	for _, source := range []string{
		"{% set s = 'aB' * 5000000 %}{% for i in range(9999) %}{% if s is upper or s < s ~ 'x' or 'q' in s %}{% endif %}{% endfor %}",
		"{{ ('a' * 999999).strip(messages[0].content * 999) }}{{ strftime_now('%d %b %Y' * 99) }}", "{% raw %}{%}{% endraw %}",
		"{% for c in messages[0].content * 9999 %}{{ loop.index }}{% break %}{% endfor %}{{ (messages | tojson(indent=4)) | indent(9) }}",
		"{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "{{ tools | map(attribute='parameters') | list | sort | unique | join('-') }}",
	} {
		f.Add(source, "Hi", `{}`)
	}
	f.Fuzz(func(t *testing.T, source, content, tool string) {
		tok := &Tokenizer{chat: &Chat{templates: map[string]string{"default": source}}, limit: Limit{Bytes: 16 << 20, Steps: 1 << 19}}
		if len(source) > maxTemplate {
			return
		}
		messages := []Message{{Role: "user", Content: content}, {Role: "assistant", Content: "ok", Fields: map[string]json.RawMessage{"tool_calls": json.RawMessage(tool)}}}
		text, err := tok.ApplyChatContext(t.Context(), messages, ChatOptions{Generate: true, Tools: []json.RawMessage{json.RawMessage(tool)}, Now: time.Unix(0, 0)})
		if err == nil && len(text) > 16<<20 {
			t.Fatalf("a text of %d bytes", len(text))
		}
	})
}

// FuzzEncode encodes texts of any bytes. Byte-level vocabularies decode the ids to the text.
func FuzzEncode(f *testing.F) {
	f.Add("Hello, wörld 中 \x00 'S")
	gpt2, o200k := known(f, "gpt2_pattern.json"), known(f, "o200k.json")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range []*Tokenizer{gpt2, o200k} {
			if got, want := tok.DecodeSpecial(tok.Encode(text, false)), lossy([]byte(text)); got != want {
				t.Fatalf("%q became %q", want, got)
			}
		}
	})
}

// FuzzGGUF makes tokenizers of metadata of any texts and numbers. Texts are split at zero bytes to
// lists. Those that are accepted encode and decode.
func FuzzGGUF(f *testing.F) {
	const marks = "\x00"
	for _, kind := range [][]any{smallPieces, smallPairs, smallWords, smallScores, smallBytes, smallRaw} {
		var tokens, merges []string
		var types, scores []byte
		model, pre := "", "default"
		for i := 0; i < len(kind); i += 2 {
			switch v := kind[i+1].(type) {
			case string:
				if kind[i] == ".model" {
					model = v
				}
			case []string:
				if kind[i] == ".tokens" {
					tokens = v
				} else {
					merges = v
				}
			case []int32:
				for _, x := range v {
					types = append(types, byte(x))
				}
			case []float32:
				for _, x := range v {
					scores = append(scores, byte(int(x)))
				}
			}
		}
		f.Add(model, pre, strings.Join(tokens, marks), types, scores, strings.Join(merges, marks), loopedMap(), byte(0), "ab a<x>\u0301é 12\n")
	}
	f.Fuzz(func(t *testing.T, model, pre, tokens string, types, scores []byte, merges string, charsmap []byte, ids byte, text string) {
		list := strings.Split(tokens, marks)
		kinds, points := make([]int32, len(types)), make([]float32, len(scores))
		for i, x := range types {
			kinds[i] = int32(int8(x))
		}
		for i, x := range scores {
			points[i] = float32(int8(x))
		}
		meta := ggufMetadata(".model", model, ".pre", pre, ".tokens", list, ".token_type", kinds, ".scores", points, ".merges", strings.Split(merges, marks),
			".precompiled_charsmap", charsmap, ".bos_token_id", int(ids&7), ".unknown_token_id", int(ids>>2&7), ".seperator_token_id", int(ids>>4&7),
			".add_space_prefix", ids&1 != 0, ".add_bos_token", ids&2 != 0, ".remove_extra_whitespaces", ids&4 != 0)
		tok, err := FromGGUF(t.Context(), meta, Options{Limit: Limit{Bytes: 64 << 20, Steps: 1 << 22}})
		if err != nil {
			return
		}
		o := Options{Limit: Limit{Bytes: 64 << 20, Steps: 1 << 22}}
		if files, err := ToFolder(t.Context(), meta, o); err == nil {
			if _, err := ReadContext(t.Context(), files["tokenizer.json"], o); err != nil && !errors.Is(err, ErrLimit) {
				t.Errorf("files of metadata are refused: %v", err)
			}
		}
		for _, plain := range []bool{false, true} {
			got, err := tok.encodeContext(t.Context(), text, !plain, plain)
			if err != nil && !errors.Is(err, ErrLimit) {
				t.Fatal(err)
			}
			for _, id := range got {
				if id < 0 || int(id) >= len(list) {
					t.Fatalf("the id %d is beyond the vocabulary of %d", id, len(list))
				}
			}
			streamed(t, tok, append(got, 0, 1, -1, 1<<30, 2, 3, 3), plain)
		}
	})
}
