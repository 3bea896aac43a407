package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
)

// decoderFolder makes a folder with a small decoder of bytes as tokens and the given files, by
// name.
func decoderFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	m := topologies.Llama(topologies.LlamaSize{Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 16, Words: 256})
	if err := formats.Save(filepath.Join(dir, "model.onnx"), m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	return dir
}

// byteTokenizer returns a tokenizer.json with bytes as tokens.
func byteTokenizer(t *testing.T) string {
	t.Helper()
	vocab := map[string]int{}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r, next = next, next+1
		}
		vocab[string(r)] = int(b)
	}
	text, err := json.Marshal(map[string]any{
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"decoder":       map[string]any{"type": "ByteLevel"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGenerateCommand continues prompts of text and of tokens.
func TestGenerateCommand(t *testing.T) {
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t), "config.json": `{"max_position_embeddings":40}`})
	bare := decoderFolder(t, nil)
	code, ids, stderr := call("generate", bare, "--tokens", "72,105", "--max-tokens", "12")
	if code != exitDone || strings.Count(ids, ",") != 11 || !strings.Contains(stderr, "prompt: 2 tokens in ") ||
		!strings.Contains(stderr, "generated: 12 tokens in ") ||
		!strings.Contains(stderr, "ended by max tokens") {
		t.Fatalf("exit %d: %q, %q", code, ids, stderr)
	}
	var raw []byte
	for _, word := range strings.Split(strings.TrimSpace(ids), ",") {
		var id int
		if _, err := fmt.Sscan(word, &id); err != nil {
			t.Fatal(err)
		}
		raw = append(raw, byte(id))
	}
	want := strings.ToValidUTF8(string(raw), "\uFFFD")
	prompt := write(t, filepath.Join(t.TempDir(), "prompt.txt"), []byte("Hi"))
	for _, args := range [][]string{
		{dir, "--prompt", "Hi"}, {dir, "--prompt-file", prompt, "--greedy"}, {filepath.Join(dir, "model.onnx"), "--tokens", "72,105", "--no-cache"},
		{bare, "--prompt", "Hi", "--tokenizer", filepath.Join(dir, "tokenizer.json"), "--threads", "1"},
	} {
		code, text, stderr := call(append([]string{"generate", "--max-tokens", "12"}, args...)...)
		if got := strings.TrimSuffix(text, "\n"); code != exitDone || collapse(got) != collapse(want) {
			t.Errorf("%q: exit %d, %q, want %q; %s", args, code, got, want, stderr)
		}
	}
	code, text, stderr := call("generate", dir, "--tokens", "72,105")
	if code != exitDone || !strings.Contains(stderr, "generated: 39 tokens") {
		t.Errorf("up to the window: exit %d, %q, %q", code, text, stderr)
	}
	code, beyond, stderr := call("generate", dir, "--tokens", "72,105", "--max-tokens", "50")
	if code != exitDone || beyond != text || !strings.Contains(stderr, "ended by window full") {
		t.Errorf("beyond the window: exit %d, %q, want %q; %q", code, beyond, text, stderr)
	}
}

// TestGenerateChat compares chats with prompts in the form of the folder's chat template.
func TestGenerateChat(t *testing.T) {
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t), "tokenizer_config.json": `{
		"chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"}`})
	messages := write(t, filepath.Join(t.TempDir(), "chat.json"), []byte(`[{"role":"system","content":"be brief"},{"role":"user","content":"Hi"}]`))
	for _, tt := range []struct {
		args []string
		text string
	}{
		{[]string{"--chat", "--prompt", "Hi"}, "<user>Hi<assistant>"},
		{[]string{"--messages", messages}, "<system>be brief<user>Hi<assistant>"},
	} {
		_, want, _ := call("generate", dir, "--max-tokens", "12", "--prompt", tt.text)
		code, got, stderr := call(append([]string{"generate", dir, "--max-tokens", "12"}, tt.args...)...)
		if code != exitDone || got != want || len(got) < 3 {
			t.Errorf("%q: exit %d, %q, want %q; %s", tt.args, code, got, want, stderr)
		}
	}
	none := write(t, filepath.Join(t.TempDir(), "none.json"), []byte(`[]`))
	if code, _, stderr := call("generate", dir, "--messages", none); code != exitFailed ||
		!strings.Contains(stderr, "no messages") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// collapse replaces adjacent U+FFFD by one. Tokenizers differ in how many stand for invalid bytes.
func collapse(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

// TestGenerateSampling prints continuations as JSON. The same seed gives the same ones.
func TestGenerateSampling(t *testing.T) {
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t), "generation_config.json": `{"eos_token_id":[1,2,3,4,5,6,7,8,9]}`})
	args := []string{"generate", dir, "--prompt", "ab", "--count", "3", "--temperature", "2", "--max-tokens", "9",
		"--json", "--seed", "4"}
	code, first, stderr := call(args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(first), "\n")
	seen := map[string]bool{}
	for i, line := range lines {
		var c continuation
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.Index != i || c.Text == nil || len(c.Tokens) > 9 ||
			c.Reason == "" {
			t.Errorf("line %q: %v", line, err)
		}
		seen[fmt.Sprint(c.Tokens)] = true
	}
	if len(lines) != 3 || len(seen) != 3 {
		t.Errorf("continuations %q", lines)
	}
	if _, again, _ := call(args...); again != first {
		t.Errorf("the same seed gives %q, then %q", first, again)
	}
	_, one, _ := call(append(args, "--count", "1")...)
	if strings.TrimSpace(one) != lines[0] {
		t.Errorf("alone the first continuation is %q, not %q", one, lines[0])
	}
}

// TestGenerateLogProbs prints the probabilities of tokens and of alternatives, with a tokenizer and
// without.
func TestGenerateLogProbs(t *testing.T) {
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t)})
	for _, with := range []string{dir, filepath.Join(dir, "model.onnx"), decoderFolder(t, nil)} {
		args := []string{"generate", with, "--tokens", "97,98", "--max-tokens", "30", "--json"}
		_, plain, _ := call(args...)
		code, out, stderr := call(append(args, "--logprobs", "3", "--count", "2")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var c continuation
		if err := json.Unmarshal([]byte(lines[0]), &c); err != nil || code != exitDone || len(lines) != 2 {
			t.Fatalf("exit %d: %q, %v; %s", code, out, err, stderr)
		}
		if len(c.LogProbs) != 30 || len(c.Tokens) != 30 {
			t.Fatalf("%d tokens and %d probabilities", len(c.Tokens), len(c.LogProbs))
		}
		for i, p := range c.LogProbs {
			a := p.Alternatives
			if p.ID != c.Tokens[i] || len(a) != 3 || a[0].ID != p.ID || a[0].LogProb != p.LogProb || !(p.LogProb < 0) ||
				a[1].LogProb > a[0].LogProb || a[2].LogProb > a[1].LogProb || (p.Token == "") != (c.Text == nil) {
				t.Errorf("token %d is %+v", i, p)
			}
		}
		c.LogProbs = nil
		if text, err := json.Marshal(c); err != nil || collapse(string(text)) != collapse(strings.TrimSpace(plain)) {
			t.Errorf("%s, want %s; %v", text, plain, err)
		}
	}
}

// TestGenerateStop ends text at a stop.
func TestGenerateStop(t *testing.T) {
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t)})
	_, text, _ := call("generate", dir, "--prompt", "ab", "--max-tokens", "60", "--temperature", "3")
	text = strings.TrimSuffix(text, "\n")
	at := strings.IndexFunc(text, func(r rune) bool { return r > ' ' && r <= '~' && strings.IndexRune(text, r) > 3 })
	if at < 0 {
		t.Fatalf("no letter in %q", text)
	}
	code, got, stderr := call("generate", dir, "--prompt", "ab", "--max-tokens", "60", "--temperature", "3", "--stop",
		text[at:at+1], "--stop", "never there")
	if strings.TrimSuffix(got, "\n") != text[:at] || code != exitDone || !strings.Contains(stderr, "ended by stop text") {
		t.Errorf("exit %d, %q, want %q of %q; %s", code, got, text[:at], text, stderr)
	}
}

// TestGenerateBeams searches, and compares the results with the package's.
func TestGenerateBeams(t *testing.T) {
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t)})
	d, err := generate.Open(t.Context(), dir, generate.OpenOptions{})
	testenv.Need(t, err)
	defer d.Close()
	const prompt = "Hé"
	want, err := d.Beams(t.Context(), d.Tokenizer.Encode(prompt, true), generate.BeamSearch{Width: 3, LengthPenalty: 1}, generate.Sampling{MaxTokens: 6})
	testenv.Need(t, err)
	args := []string{"generate", dir, "--prompt", prompt, "--beams", "3", "--count", "2", "--max-tokens", "6"}
	code, out, stderr := call(append(args, "--json")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitDone || len(lines) != 2 || !strings.Contains(stderr, "continuation 1: log probability ") {
		t.Fatalf("exit %d: %q, %q", code, out, stderr)
	}
	plain := ""
	for i, line := range lines {
		var got continuation
		testenv.Need(t, json.Unmarshal([]byte(line), &got))
		if got.Index != i || !slices.Equal(got.Tokens, want[i].IDs) || *got.LogProb != want[i].LogProb || got.Reason != "max tokens" ||
			*got.Text != d.Tokenizer.Decode(want[i].IDs) {
			t.Errorf("%s, want %+v", line, want[i])
		}
		plain += *got.Text + "\n"
	}
	if code, out, stderr := call(args...); code != exitDone || out != plain {
		t.Errorf("exit %d: %q, want %q; %q", code, out, plain, stderr)
	}
	bare := []string{"generate", dir, "--tokens", "72,105", "--beams", "1", "--length-penalty", "0", "--max-tokens", "4"}
	if code, out, stderr := call(bare...); code != exitDone || len(out) < 2 {
		t.Errorf("exit %d: %q, %q", code, out, stderr)
	}
}

// TestGenerateRefused calls the command with wrong arguments.
func TestGenerateRefused(t *testing.T) {
	dir := decoderFolder(t, nil)
	other := decoderFolder(t, map[string]string{"genai_config.json": `{"model":{"decoder":{"filename":"../model.onnx"}}}`})
	for _, tt := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{dir}, exitUsage, "prompt"},
		{[]string{dir, "--prompt", "a", "--tokens", "1"}, exitUsage, "prompt tokens"},
		{[]string{dir, "--tokens", "1,x"}, exitUsage, `"x" is no number of a token`},
		{[]string{dir, "--tokens", "1", "--count", "0"}, exitUsage, "--count 0"},
		{[]string{dir, "--tokens", "1", "--top-p", "2"}, exitUsage, "TopP is 2"},
		{[]string{dir, "--tokens", "1", "--beams", "0"}, exitUsage, "--beams 0"},
		{[]string{dir, "--tokens", "1", "--beams", "2", "--count", "3"}, exitUsage, "--beams 2 finds 2 at most"},
		{[]string{dir, "--tokens", "1", "--beams", "2", "--temperature", "1"}, exitUsage, "beams temperature"},
		{[]string{dir, "--tokens", "1", "--length-penalty", "2"}, exitUsage, "--length-penalty needs --beams"},
		{[]string{dir, "--tokens", "1", "--logprobs", "2"}, exitUsage, "--json prints the log probabilities"},
		{[]string{dir, "--tokens", "1", "--logprobs", "-2", "--json"}, exitUsage, "--logprobs -2"},
		{[]string{dir, "--tokens", "1", "--window", "-1"}, exitUsage, "--window -1"},
		{[]string{dir, "--tokens", "1", "--greedy", "--temperature", "1"}, exitUsage, "greedy temperature"},
		{[]string{dir, "--tokens", "1", "--stop", "x"}, exitUsage, "--stop needs a tokenizer"},
		{[]string{dir, "--prompt", "a"}, exitFailed, "no tokenizer; --tokenizer names its file"},
		{[]string{dir, "--tokens", "1,256"}, exitFailed, "token 1 of the prompt is 256; the vocabulary has tokens 0 to 255"},
		{[]string{dir, "--tokens", "1,1,1", "--window", "2"}, exitFailed, "the prompt has 3 tokens, and the window 2"},
		{[]string{dir, "--tokens", "1", "--max-tokens", "0"}, exitFailed, "generation has no end"},
		{[]string{digits, "--tokens", "1"}, exitFailed, "this is no decoder of tokens"},
		{[]string{other, "--tokens", "1"}, exitFailed, "no path within the folder"},
		{[]string{filepath.Join(dir, "none"), "--tokens", "1"}, exitFailed, "no such file"},
		{[]string{dir, "--prompt-file", filepath.Join(dir, "none")}, exitFailed, "no such file"},
		{[]string{dir, "--tokens", "1", "--timeout", "1ns"}, exitFailed, "timeout"},
	} {
		code, stdout, stderr := call(append([]string{"generate"}, tt.args...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.text) {
			t.Errorf("%q: exit %d, %q, %q; want %d and %q", tt.args[1:], code, stdout, stderr, tt.code, tt.text)
		}
	}
}

// TestGenerateEnd ends text at a stop token of the files beside the model, in a chat too. The first
// file with a list decides.
func TestGenerateEnd(t *testing.T) {
	template := `{"chat_template":"{% for m in messages %}<{{ m.content }}>{% endfor %}"}`
	_, text, _ := call("generate", decoderFolder(t, nil), "--tokens", "60,72,62", "--max-tokens", "20", "--temperature",
		"2", "--seed", "3")
	ids := strings.Split(strings.TrimSpace(text), ",")
	at := 1
	for slices.Contains(ids[:at], ids[at]) {
		at++
	}
	end := "[999999," + ids[at] + "]"
	for _, files := range []map[string]string{
		{"generation_config.json": `{"eos_token_id":` + end + `}`, "config.json": `{"eos_token_id":` + ids[0] + `}`},
		{"config.json": `{"eos_token_id":` + end + `}`, "generation_config.json": `{}`},
		{"genai_config.json": `{"model":{"eos_token_id":` + end + `}}`, "generation_config.json": `{"eos_token_id":` + ids[0] + `}`},
		{"config.json": `{"text_config":{"eos_token_id":` + ids[at] + `}}`},
	} {
		files["tokenizer.json"], files["tokenizer_config.json"] = byteTokenizer(t), template
		dir := decoderFolder(t, files)
		for _, prompt := range [][]string{{"--tokens", "60,72,62"}, {"--chat", "--prompt", "H"}} {
			code, out, stderr := call(append([]string{"generate", dir, "--max-tokens", "20", "--temperature", "2", "--seed",
				"3", "--json"}, prompt...)...)
			var c continuation
			if err := json.Unmarshal([]byte(out), &c); err != nil || code != exitDone {
				t.Fatalf("exit %d, %q, %v; %s", code, out, err, stderr)
			}
			if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Tokens), " ", ","), "[]"); got != strings.Join(ids[:at], ",") || c.Reason != "stop token" {
				t.Errorf("%v %q: %s ended by %s; want %q", files, prompt, got, c.Reason, ids[:at])
			}
		}
	}
}

func TestSpeed(t *testing.T) {
	for want, s := range map[string]string{
		"0 tokens":                             speed(0, time.Second),
		"20 tokens in 1ms, 2e+04 tokens/s":     speed(20, time.Millisecond),
		"1 token in less than the clock tells": speed(1, 0),
	} {
		if s != want {
			t.Errorf("%q, not %q", s, want)
		}
	}
}
