// Package generate continues texts with decoders: networks that take tokens and return, for each,
// the logits of the next token. The package is for programs that generate text.
//
// Open opens a GGUF file, a folder or another model file, with its tokenizer and its settings.
// Generator.Text and Generator.Tokens yield the continuation of a prompt, one piece at a time:
//
//	d, err := generate.Open(ctx, "qwen3.gguf", generate.OpenOptions{})
//	defer d.Close()
//	for piece, err := range d.Text(ctx, "Once upon a time", d.Sampling) {
//		...
//		fmt.Print(piece.Text)
//	}
//
// Open does what these functions do one by one: nacre.Open, SettingsOf, TokenizerOf,
// nacre.Model.NewSession, and New, which finds the inputs and outputs of a session.
//
// # Decoders
//
// A decoder has an input input_ids, int64 [batch,sequence], and an output logits
// [batch,sequence,vocabulary]. Exports of Hugging Face Optimum and of onnxruntime-genai have them,
// and the networks that Nacre makes of gpt.rs, Loom and Hugging Face folders too. Other names are
// found by type, or given in Options. The package makes masks and positions.
//
// A nacre.Stream keeps states, such as caches of keys and values: a token costs the arithmetic of
// one token. A network without states gets all tokens at each step. A prompt is computed in chunks,
// so memory holds the weights, the states and one chunk.
//
// # The window
//
// Options.Window is how many tokens a decoder sees at most. For a longer prompt the error is
// ErrWindow. When the window is full, generation ends, also if Sampling.MaxTokens asked for more: the
// last token has the reason Window. With Options.Slide it goes on with the last tokens alone.
//
// # Chats
//
// Tokenizer.EncodeChat returns the ids of a chat. Start begins the sequence of a chat, and
// Sequence.Follow goes on with the ids of the chat with more messages, of which it computes the new ones
// alone:
//
//	ids, err := d.Tokenizer.EncodeChat(ctx, messages, tokenizer.ChatOptions{Generate: true})
//	err = sequence.Follow(ctx, ids)
//	for piece, err := range sequence.Text(ctx) {
//
// Sequence.Append and Sequence.Truncate are its steps: more tokens, and back to an earlier one. What
// follows is as for a new sequence with all the tokens.
//
// # Choosing tokens
//
// Sampling has the usual choices. Sampling.Adjust is a function that may change the logits of each
// token, and so can make all texts follow a grammar. Sampling.Alternatives asks for log
// probabilities. The last Token or Piece of a text says why it ended.
//
// Logits stay on a nacre.Options.Device if the largest ones choose the token: greedy, or by a TopK that
// is small beside the vocabulary, without Bias, penalties, Adjust and Alternatives. A run then gives
// these few, and gives all only if equal logits or NaN leave the token open. The tokens are the same.
//
// # Several texts at once
//
// Batch and BatchText continue several prompts, Continuations and ContinuationsText one prompt
// several times. Generator.Beams searches for the likeliest continuations, and Generator.LogProbs says
// how likely a given one is. Sequence has the single steps: Start computes a prompt, Next returns a
// token, and Fork copies a sequence without computing it again.
package generate
