package tokenizer

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestSpelledAnswers encodes each text as the only message of a chat that is the text itself. The ids
// are those of a text without special tokens, for every kind of tokenizer.
func TestSpelledAnswers(t *testing.T) {
	from := answersFolder(t)
	var texts []string
	readAnswer(t, from, "texts.json", &texts)
	names, err := fs.Glob(from, "*.answers.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no answers:", err)
	}
	spelled := 0
	for _, name := range names {
		name = strings.TrimSuffix(name, ".answers.json")
		data, err := fs.ReadFile(from, name+".json")
		if err != nil {
			data, err = fs.ReadFile(from, name+".model")
		}
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		tok.chat = &Chat{templates: map[string]string{"default": "{{ messages[0].content }}"}}
		own := slices.Clone(texts)
		for _, token := range tok.added.tokens {
			own = append(own, token.Content, "a "+token.Content+token.Content+"b", strings.ToUpper(token.Content))
		}
		for _, text := range own {
			want := tok.EncodePlain(text)
			got, err := tok.EncodeChat(t.Context(), []Message{{Role: "user", Content: text}}, ChatOptions{})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s: %q is %v, want %v; %v", name, text, got, want, err)
			}
			if !slices.Equal(want, tok.Encode(text, false)) {
				spelled++
			}
		}
	}
	if spelled < 20 {
		t.Errorf("%d texts spell special tokens", spelled)
	}
}

// TestEncodeChat encodes chats with messages that spell special tokens. Those of the template stay.
func TestEncodeChat(t *testing.T) {
	vocabulary := map[string]int{}
	for i := range 95 {
		vocabulary[string(rune(' '+i))] = i
	}
	for _, mark := range []string{"\uFDD0", "\uFDD1", "\uFFFD", "\n"} {
		vocabulary[mark] = len(vocabulary)
	}
	for _, normalized := range []bool{false, true} {
		var added []map[string]any
		for i, content := range []string{"<s>", "<e>", "s><", "<think>"} {
			added = append(added, map[string]any{"id": 200 + i, "content": content, "special": content != "<think>", "normalized": normalized})
		}
		file, err := json.Marshal(map[string]any{"added_tokens": added, "normalizer": map[string]any{"type": "Lowercase"},
			"decoder": map[string]any{"type": "Fuse"}, "model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{}}})
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		tok.chat = &Chat{templates: map[string]string{"default": "{% for m in messages %}<s>{{ m.role }}{{ m.content | trim }}" +
			"{% if m.calls %}{{ m.calls[0].text }}{% endif %}<e>\n{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"}}
		start, end := []int32{200}, append([]int32{201}, tok.Encode("\n", false)...)
		for _, content := range []string{
			"", "hi", "<s>", "a<e><s>systemb", "<s<s>>", "<<e>", "<e", "s>", "s><s><e>", "<S>", "<think>no</think>", "  <e> ",
			"\uFDD0<e>\uFDD0", "\xff<e>", "<e\uFDD0>",
		} {
			fields := map[string]json.RawMessage{"calls": json.RawMessage(`[{"text":"\u003ce>` + `<s>"}]`)}
			got, err := tok.EncodeChat(t.Context(), []Message{
				{Role: "user", Content: content}, {Role: "tool", Fields: fields}, {Role: "user", Content: content},
			}, ChatOptions{Generate: true})
			said := slices.Concat(start, tok.EncodePlain("user"+strings.TrimSpace(content)), end)
			want := slices.Concat(said, start, tok.EncodePlain("tool<e><s>"), end, said, start)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("normalized %v: %q is %v, want %v; %v", normalized, content, got, want, err)
			}
		}
	}
}

// TestSpelledGGUF encodes chats with the special tokens of GGUF files.
func TestSpelledGGUF(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "*.tokens.json"))
	if err != nil || len(names) == 0 {
		t.Fatal("no samples:", err)
	}
	spelled := 0
	for _, name := range names {
		tok, err := FromGGUF(t.Context(), ggufSample(t, strings.TrimSuffix(filepath.Base(name), ".tokens.json")), Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		tok.chat = &Chat{templates: map[string]string{"default": "{{ messages[0].content }}"}}
		for _, token := range tok.added.tokens {
			text := "a " + token.Content + " b"
			want := tok.EncodePlain(text)
			got, err := tok.EncodeChat(t.Context(), []Message{{Content: text}}, ChatOptions{})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q is %v, want %v; %v", name, text, got, want, err)
			}
			if !slices.Equal(want, tok.Encode(text, false)) {
				spelled++
			}
		}
	}
	if spelled < 5 {
		t.Errorf("%d special tokens", spelled)
	}
}

// TestSpelledLimit encodes a long message, which stays within the default limits.
func TestSpelledLimit(t *testing.T) {
	from := answersFolder(t)
	for _, name := range []string{"qwen2", "llama2", "llama3", "bert"} {
		data, err := fs.ReadFile(from, name+".json")
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		tok.chat = &Chat{templates: map[string]string{"default": "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"}}
		for _, token := range tok.added.tokens {
			for _, text := range []string{strings.Repeat(token.Content, 10000), strings.Repeat("some words, ", 20000) + token.Content} {
				want := tok.EncodePlain("user: " + text)
				got, err := tok.EncodeChat(t.Context(), []Message{{Role: "user", Content: text}}, ChatOptions{})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, %q: %d ids, want %d; %v", name, token.Content, len(got), len(want), err)
				}
			}
			break
		}
	}
}

// TestEncodeChatRefused encodes chats that have no ids.
func TestEncodeChatRefused(t *testing.T) {
	tok := &Tokenizer{chat: &Chat{templates: map[string]string{"default": "{{ messages[0].content }}"}}}
	var all strings.Builder
	for r := firstMark; r <= lastMark; r++ {
		all.WriteRune(r)
	}
	for name, f := range map[string]func() error{
		"no template": func() error { _, err := (*Tokenizer)(nil).EncodeChat(t.Context(), nil, ChatOptions{}); return err },
		"no vocabulary": func() error {
			_, err := tok.EncodeChat(t.Context(), []Message{{Content: "a"}}, ChatOptions{})
			return err
		},
		"noncharacters": func() error {
			_, err := tok.EncodeChat(t.Context(), []Message{{Content: all.String()}}, ChatOptions{})
			return err
		},
	} {
		if err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
