package tokenizer

// A Chat is the template of a model's chats.
type Chat struct{}

func newChat(folder string, c *config) (*Chat, error) { return nil, nil }
