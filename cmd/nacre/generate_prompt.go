package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/printable"
)

// encoded returns the tokenizer, nil if there is none, and the ids of the prompt. A prompt of tokens
// does without the tokenizer of a GGUF file that cannot be read, and warns.
func (f *generateFlags) encoded(ctx context.Context, m *nacre.Model, folder string, stderr io.Writer) (*tokenizer.Tokenizer, []int32, error) {
	text, err := f.text()
	if err != nil {
		return nil, nil, err
	}
	t, err := f.loadTokenizer(ctx, m, folder)
	if err != nil && ctx.Err() == nil && f.tokens != "" && f.tokenizer == "" && m.Source().Format == gguf.Name {
		printable.Fprintln(stderr, "warning:", err)
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	if f.tokens != "" {
		if t == nil && len(f.sampling.Stop) > 0 {
			return nil, nil, usagef("--stop needs a tokenizer; --tokenizer names its file")
		}
		list, err := f.ids()
		return t, list, err
	}
	if t == nil {
		return nil, nil, fmt.Errorf("%s: no tokenizer; --tokenizer names its file, and --tokens takes numbers", folder)
	}
	messages, err := f.turns(text)
	if err != nil {
		return nil, nil, err
	}
	if messages == nil {
		return encodedBy(ctx, t, text, true)
	}
	if text, err = t.ApplyChatContext(ctx, messages, tokenizer.ChatOptions{Generate: true}); err != nil {
		return nil, nil, err
	}
	return encodedBy(ctx, t, text, false)
}

// encodedBy returns t and the ids of a text.
func encodedBy(
	ctx context.Context, t *tokenizer.Tokenizer, text string, special bool,
) (*tokenizer.Tokenizer, []int32, error) {
	ids, err := t.EncodeContext(ctx, text, special)
	return t, ids, err
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

// loadTokenizer loads the tokenizer of --tokenizer, else the one in the metadata of a GGUF file, or
// the one in the folder of any other. It returns nil if there is none.
func (f *decoderFlags) loadTokenizer(ctx context.Context, m *nacre.Model, folder string) (*tokenizer.Tokenizer, error) {
	if f.tokenizer != "" {
		return tokenizerFor(ctx, m, f.tokenizer)
	}
	var t *tokenizer.Tokenizer
	var err error
	if source := m.Source(); source.Format == gguf.Name {
		if t, err = tokenizer.FromGGUF(ctx, source.Meta, tokenizer.Options{}); err != nil {
			err = fmt.Errorf("%s: %w", source.File, err)
		}
	} else {
		t, err = tokenizer.LoadContext(ctx, folder, tokenizer.Options{})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return t, err
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
