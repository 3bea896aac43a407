package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/printable"
)

// opened opens the decoder. A prompt of tokens does without the tokenizer of a file that cannot be read,
// and warns.
func (f *generateFlags) opened(ctx context.Context, path string, stderr io.Writer) (*generate.Decoder, error) {
	d, err := f.open(ctx, path, stderr)
	if err == nil || ctx.Err() != nil || f.tokens == "" || f.tokenizer != "" {
		return d, err
	}
	o, without := f.openOptions()
	if without != nil {
		return nil, without
	}
	o.NoTokenizer = true
	if d, without = generate.Open(ctx, path, o); without != nil {
		return nil, without
	}
	printable.Fprintln(stderr, "warning:", err)
	return d, nil
}

// encoded returns the ids of the prompt. The tokenizer is nil if there is none.
func (f *generateFlags) encoded(ctx context.Context, t *tokenizer.Tokenizer, path, text string) ([]int32, error) {
	if f.tokens != "" {
		if t == nil && len(f.sampling.Stop) > 0 {
			return nil, usagef("--stop needs a tokenizer; --tokenizer names its file")
		}
		return f.ids()
	}
	if t == nil {
		return nil, fmt.Errorf("%s: no tokenizer; --tokenizer names its file, and --tokens takes numbers", path)
	}
	messages, err := f.turns(text)
	if err != nil {
		return nil, err
	}
	if messages == nil {
		return t.EncodeContext(ctx, text, true)
	}
	return t.EncodeChat(ctx, messages, tokenizer.ChatOptions{Generate: true})
}

// text returns the contents of the file that --prompt-file or --messages names, else the text of
// --prompt.
func (f *generateFlags) text() (string, error) {
	path := f.promptFile + f.messages // at most one is set
	if path == "" {
		return f.prompt, nil
	}
	data, err := readBounded(path)
	return string(data), err
}

// turns returns the messages of a chat, or nil without a chat.
func (f *generateFlags) turns(text string) ([]tokenizer.Message, error) {
	if f.chat {
		return []tokenizer.Message{{Role: "user", Content: text}}, nil
	}
	if f.messages == "" {
		return nil, nil
	}
	return messagesOf([]byte(text), f.messages)
}

// message is a message of a chat in a file.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// messagesOf returns the messages in the data of a file.
func messagesOf(data []byte, file string) ([]tokenizer.Message, error) {
	var list []message
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no messages; a chat has one at least", file)
	}
	messages := make([]tokenizer.Message, len(list))
	for i, m := range list {
		messages[i] = tokenizer.Message{Role: m.Role, Content: m.Content}
	}
	return messages, nil
}

// maxPrompt is the most bytes of a prompt file.
const maxPrompt = 64 << 20

// readBounded reads a prompt file of at most maxPrompt bytes.
func readBounded(path string) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) > maxPrompt {
		return nil, fmt.Errorf("%s: more than %d bytes, which is no prompt", path, maxPrompt)
	}
	return data, nil
}
