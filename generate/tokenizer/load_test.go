package tokenizer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// knownFile returns a file of the folder of answers.
func knownFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(answersFolder(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// write makes a folder of files.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	merges := "#version: 0.2\na b\nab c\n"
	vocab := `{"a":0,"b":1,"c":2,"ab":3,"abc":4,"Ġ":5,"<|endoftext|>":6}`
	pieces := "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n##s\nworld\n"
	cases := []struct {
		name  string
		files map[string]string
		text  string
		want  string
	}{
		{"json", map[string]string{"tokenizer.json": document1("")}, "aab", "[2 1]"},
		{"pairs", map[string]string{"vocab.json": vocab, "merges.txt": merges}, "abc ab<|endoftext|>", "[4 5 3 6]"},
		{"pieces", map[string]string{"vocab.txt": pieces}, "Hellos, WORLD[SEP]", "[2 4 5 1 6 3 3]"},
		{"cased pieces", map[string]string{"vocab.txt": pieces, "tokenizer_config.json": `{"do_lower_case":false}`}, "hello World", "[2 4 1 3]"},
		{"sentencepiece", map[string]string{"tokenizer.model": string(knownFile(t, "sp_bpe.model"))}, "</s>", "[1 2]"},
		{"ends", map[string]string{"tokenizer.model": string(knownFile(t, "sp_bpe.model")), "tokenizer_config.json": `{"add_bos_token":false,"add_eos_token":true}`}, "</s>", "[2 2]"},
		{"gpt.rs", map[string]string{"tokenizer.json": `{"vocab":{"<unk>":0,"a":1,"Ġ":2,"ĠĠ":3},"merges":[["Ġ","Ġ"]]}`}, "a  a<", "[1 3 1 0]"},
	}
	for _, c := range cases {
		dir := write(t, c.files)
		tok, err := Load(dir)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := fmt.Sprint(tok.Encode(c.text, true)); got != c.want {
			t.Errorf("%s: the ids of %q are %s, not %s", c.name, c.text, got, c.want)
		}
	}
	if _, err := Load(t.TempDir()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Error("an empty folder:", err)
	}
	if _, err := Load(write(t, map[string]string{"vocab.json": vocab})); err == nil || !strings.Contains(err.Error(), "merges.txt") {
		t.Error("a vocabulary without merges:", err)
	}
}

func TestTokens(t *testing.T) {
	tok, err := Read([]byte(document1(`,"added_tokens":[{"id":3,"content":"<u>","special":true},{"id":7,"content":"<x>"}]`)))
	if err != nil {
		t.Fatal(err)
	}
	if n := tok.Vocabulary(); n != 8 {
		t.Errorf("%d ids", n)
	}
	for token, want := range map[string]int32{"aa": 2, "<u>": 3, "<x>": 7} {
		id, ok := tok.ID(token)
		back, ok2 := tok.Token(want)
		if !ok || !ok2 || id != want || back != token {
			t.Errorf("%q has the id %d and %d the token %q", token, id, want, back)
		}
	}
	for _, id := range []int32{-1, 5, 8, 1 << 30} {
		if token, ok := tok.Token(id); ok {
			t.Errorf("%d has the token %q", id, token)
		}
	}
	if tok.Special(7) || !tok.Special(3) {
		t.Error("special tokens are mixed up")
	}
	if got := tok.Decode([]int32{2, 3, 99, 7}); got != "aa <x>" {
		t.Errorf("text %q", got)
	}
	if got := tok.DecodeSpecial([]int32{2, 3, 99, 7}); got != "aa <u> <x>" {
		t.Errorf("whole text %q", got)
	}
}

// TestSeveral encodes with one tokenizer in several goroutines.
func TestSeveral(t *testing.T) {
	tok := known(t, "llama3.json")
	text := "The quick brown fox, 1234 times; naïve café."
	want := tok.Encode(text, true)
	done := make(chan bool)
	for range 4 {
		go func() {
			same := true
			for range 200 {
				same = same && slices.Equal(tok.Encode(text, true), want)
			}
			done <- same
		}()
	}
	for range 4 {
		if !<-done {
			t.Error("ids differ")
		}
	}
}

func TestChatFiles(t *testing.T) {
	messages := []Message{{Role: "user", Content: "hi"}}
	cases := []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"tokenizer_config.json": `{"chat_template":"{{ bos_token }}{{ messages[-1].content }}","bos_token":{"content":"<s>"}}`}, "<s>hi"},
		{map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d{{ eos_token }}"}],"eos_token":"</s>"}`}, "d</s>"},
		{map[string]string{"chat_template.jinja": "{{ strftime_now('%d %b %Y') }}\n", "tokenizer_config.json": `{"chat_template":"no"}`}, "02 Jan 2024"},
	}
	for _, c := range cases {
		c.files["tokenizer.json"] = document1("")
		tok, err := Load(write(t, c.files))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tok.ApplyChat(messages, ChatOptions{Now: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)})
		if err != nil || got != c.want || !tok.HasChat() {
			t.Errorf("%q, not %q: %v", got, c.want, err)
		}
	}
	tok, err := Load(write(t, map[string]string{"tokenizer.json": document1("")}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.ApplyChat(messages, ChatOptions{}); err == nil || tok.HasChat() {
		t.Error("a chat without a template has no error")
	}
}

// unlimited returns a work without bounds.
func unlimited() *work { return Limit{}.work(context.Background(), rate{}, 0) }
