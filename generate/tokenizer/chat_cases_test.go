package tokenizer

import (
	"encoding/json"
	"os"
	"testing"
)

// A chatCase is a chat and its text by the package transformers.
type chatCase struct {
	Name, Template string
	Messages       []map[string]json.RawMessage
	Tools          []json.RawMessage
	Generate       bool
	Vars           map[string]json.RawMessage
	Want           *string // nil: an error
}

func TestChatAnswers(t *testing.T) {
	path := os.Getenv("NACRE_CHATS")
	if path == "" {
		path = "testdata/chats.json"
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []chatCase
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		tok := &Tokenizer{chat: &Chat{templates: map[string]string{"default": c.Template}}}
		got, err := tok.ApplyChat(messagesOf(t, c.Messages), ChatOptions{Generate: c.Generate, Tools: c.Tools, Variables: c.Vars})
		switch {
		case c.Want == nil && err == nil:
			t.Errorf("%s of %s: no error", c.Name, c.Messages)
		case c.Want != nil && err != nil:
			t.Errorf("%s of %s: %v", c.Name, c.Messages, err)
		case c.Want != nil && got != *c.Want:
			t.Errorf("%s of %s:\n got %q\nwant %q", c.Name, c.Messages, got, *c.Want)
		}
	}
}

// messagesOf reads messages.
func messagesOf(t *testing.T, list []map[string]json.RawMessage) []Message {
	t.Helper()
	out := make([]Message, len(list))
	for i, fields := range list {
		for key, to := range map[string]*string{"role": &out[i].Role, "content": &out[i].Content} {
			if err := json.Unmarshal(fields[key], to); err != nil {
				t.Fatal(err)
			}
			delete(fields, key)
		}
		out[i].Fields = fields
	}
	return out
}
