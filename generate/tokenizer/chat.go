package tokenizer

// A Chat is the template of a model's chats.
type Chat struct{}
