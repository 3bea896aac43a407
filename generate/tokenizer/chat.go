package tokenizer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/generate/tokenizer/internal/jinja"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
)

// maxTemplate bounds the bytes of a chat template.
const maxTemplate = 1 << 16

// A Message is one turn of a chat.
type Message struct {
	Role    string // system, user, assistant, tool
	Content string
	Fields  map[string]json.RawMessage // further fields, such as tool_calls
}

// ChatOptions are values that a chat template reads beside the messages.
type ChatOptions struct {
	Generate  bool                       // ends with the beginning of the answer
	Tools     []json.RawMessage          // the functions that the model may call, as JSON objects
	Variables map[string]json.RawMessage // further variables, such as enable_thinking
	Now       time.Time                  // the time for templates that ask for it; zero: the present
}

// A Chat is the Jinja templates of a model's chats.
type Chat struct {
	templates map[string]string // by name: default, tool_use
	tokens    map[string]string // bos_token and such
}

// newChat reads the templates of a folder: from chat_template.jinja, else from
// tokenizer_config.json. If there is none, it returns nil.
func newChat(f *folder, c *settings) (*Chat, error) {
	chat := &Chat{templates: map[string]string{}, tokens: map[string]string{}}
	switch data, err := f.read("chat_template.jinja"); {
	case err == nil:
		chat.templates["default"] = string(data)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		if err := chat.named(c.Template); err != nil {
			return nil, &fileError{f.file("tokenizer_config.json"), fmt.Errorf("chat_template: %w", err)}
		}
	}
	if len(chat.templates) == 0 {
		return nil, nil
	}
	for name, text := range chat.templates {
		if len(text) > maxTemplate {
			return nil, &fileError{f.path, fmt.Errorf("the chat template %.60q has %d bytes: at most %d are allowed", name, len(text), maxTemplate)}
		}
	}
	for name, raw := range map[string]json.RawMessage{"bos_token": c.BOS, "eos_token": c.EOS, "unk_token": c.UNK, "pad_token": c.PAD} {
		if token := tokenText(raw); token != "" {
			chat.tokens[name] = token
		}
	}
	return chat, nil
}

// named reads a template, or a list of templates with names.
func (c *Chat) named(raw json.RawMessage) error {
	if absent(raw) {
		return nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		c.templates["default"] = one
		return nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, t := range list {
		c.templates[t.Name] = t.Template
	}
	return nil
}

// tokenText returns the text of a token, written in a file as text or as an added token.
func tokenText(raw json.RawMessage) string {
	var token AddedToken
	if absent(raw) || json.Unmarshal(raw, &token.Content) == nil {
		return token.Content
	}
	if json.Unmarshal(raw, &token) != nil {
		return ""
	}
	return token.Content
}

// HasChat reports whether the file came with a chat template.
func (t *Tokenizer) HasChat() bool { return t != nil && t.chat != nil }

// ApplyChat is ApplyChatContext without a context.
func (t *Tokenizer) ApplyChat(messages []Message, o ChatOptions) (string, error) {
	return t.ApplyChatContext(context.Background(), messages, o)
}

// ApplyChatContext returns the text of a chat as the model's template writes it. Its special tokens
// are part of the text: encode it without adding others. Without a chat template, which HasChat
// reports, it is an error. If the template takes more memory or more steps than the limits allow,
// the error is ErrLimit.
func (t *Tokenizer) ApplyChatContext(ctx context.Context, messages []Message, o ChatOptions) (text string, err error) {
	defer guard.At("").End(&err)
	return t.applyChat(ctx, messages, o, nil)
}

// applyChat is ApplyChatContext. Change, unless nil, changes the texts of messages before the template
// sees them.
func (t *Tokenizer) applyChat(ctx context.Context, messages []Message, o ChatOptions, change changer) (text string, err error) {
	defer caught(&err)
	if !t.HasChat() {
		return "", fmt.Errorf("the tokenizer has no chat template: chat_template.jinja or tokenizer_config.json beside its file may hold one, and so may a GGUF file")
	}
	name := "default"
	if _, ok := t.chat.templates["tool_use"]; ok && len(o.Tools) > 0 {
		name = "tool_use"
	}
	source, ok := t.chat.templates[name]
	if !ok {
		return "", fmt.Errorf("the chat template has no part named %s", name)
	}
	check(ctx.Err())
	w := t.limit.work(ctx, chatRate, size(messages, o))
	text, err = t.chat.run(w, source, messages, o, change)
	switch {
	case errors.Is(err, budget.ErrBytes), errors.Is(err, budget.ErrSteps):
		err = fmt.Errorf("%w: %w", ErrLimit, err)
	}
	if err != nil {
		return "", fmt.Errorf("chat template: %w", err)
	}
	return text, nil
}

// size returns the bytes of a chat.
func size(messages []Message, o ChatOptions) int {
	n := 0
	for _, m := range messages {
		n += len(m.Role) + len(m.Content)
		for name, raw := range m.Fields {
			n += len(name) + len(raw)
		}
	}
	for _, raw := range o.Tools {
		n += len(raw)
	}
	for name, raw := range o.Variables {
		n += len(name) + len(raw)
	}
	return n
}

// run executes a template.
func (c *Chat) run(w *work, source string, messages []Message, o ChatOptions, change changer) (string, error) {
	vars := map[string]any{"add_generation_prompt": o.Generate, "tools": nil, "documents": nil}
	w.hold(messageBytes * len(messages))
	list := make([]any, len(messages))
	for i, m := range messages {
		v, err := m.value(w, change)
		if err != nil {
			return "", fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = v
	}
	vars["messages"] = jinja.NewList(list)
	if len(o.Tools) > 0 {
		tools := make([]any, len(o.Tools))
		for i, raw := range o.Tools {
			var err error
			if tools[i], err = fromJSON(w, raw); err != nil {
				return "", fmt.Errorf("tool %d: %w", i, err)
			}
		}
		vars["tools"] = jinja.NewList(tools)
	}
	for name, token := range c.tokens {
		vars[name] = token
	}
	for name, raw := range o.Variables {
		v, err := fromJSON(w, raw)
		if err != nil {
			return "", fmt.Errorf("variable %s: %w", name, err)
		}
		vars[name] = v
	}
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	vars["strftime_now"] = jinja.Function(func(args []any) (any, error) { return strftime(now, args) })
	w.steps(len(source))
	w.hold(templateBytes * len(source))
	t, err := jinja.Parse(source)
	if err != nil {
		return "", err
	}
	w.countOpen()
	return t.Render(w.budget, vars)
}

// The memory of a message beside its text, and of a byte of a template's source.
const (
	messageBytes  = 1 << 10
	templateBytes = 1 << 7
)

func fromJSON(w *work, data []byte) (any, error) {
	w.json(data)
	return jinja.FromJSON(data)
}

// A changer changes a text of a message.
type changer func(text string) string

// value returns a message as templates read it: its role, its content, and the further fields by
// their names.
func (m Message) value(w *work, change changer) (any, error) {
	d, content := jinja.NewDict(), m.Content
	if change != nil {
		content = change(content)
	}
	d.Set("role", m.Role)
	d.Set("content", content)
	for _, name := range slices.Sorted(maps.Keys(m.Fields)) {
		v, err := fromJSON(w, m.Fields[name])
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		if change != nil {
			v = jinja.Texts(v, change)
		}
		d.Set(name, v)
	}
	return d, nil
}

// layouts are the letters of strftime, with the layouts of package time.
var layouts = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'b': "Jan", 'B': "January", 'H': "15", 'M': "04", 'S': "05", 'y': "06",
	'a': "Mon", 'A': "Monday", 'p': "PM", 'I': "03", 'j': "002", 'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05",
}

// maxFormat bounds the bytes of a format of strftime.
const maxFormat = 1 << 10

// strftime returns a time in the format that a template asks for.
func strftime(t time.Time, args []any) (string, error) {
	format, ok := "", false
	if len(args) == 1 {
		format, ok = args[0].(string)
	}
	if !ok || len(format) > maxFormat {
		return "", fmt.Errorf("strftime_now takes a text of at most %d bytes", maxFormat)
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := layouts[format[i]]
		switch {
		case format[i] == '%':
			b.WriteByte('%')
		case ok:
			b.WriteString(t.Format(layout))
		default:
			return "", fmt.Errorf("strftime_now: %%%c is not supported", format[i])
		}
	}
	return b.String(), nil
}
