// Package generate continues texts with decoders: networks that take tokens and give, for
// each, the logits of the token that follows.
//
// New finds what a session takes and gives. Generator.Text and Generator.Tokens yield
// what follows a prompt, one piece at a time:
//
//	model, err := nacre.Open("llama/model.onnx")
//	session, err := model.NewSession(nacre.Options{})
//	options, sampling, err := generate.SettingsOf(model, os.DirFS("llama"))
//	options.Tokenizer, err = tokenizer.Load("llama/tokenizer.json")
//	generator, err := generate.New(session, options)
//	for piece, err := range generator.Text(ctx, "Once upon a time", sampling) {
//		...
//		fmt.Print(piece.Text)
//	}
//
// # Decoders
//
// A decoder has an input input_ids, int64 [batch,sequence], and an output logits
// [batch,sequence,vocabulary]. Exports of Hugging Face Optimum and of onnxruntime-genai
// are such, and the networks of gpt.rs, Loom and Hugging Face folders become such. Other
// names are found by type, or given in Options. Masks and positions are made.
//
// States, such as caches of keys and values, are kept in a nacre.Stream: a token costs
// the arithmetic of a token. A network without states is given all tokens at each step.
// A prompt is computed in chunks, so that memory is that of the weights, of the states and
// of a chunk.
//
// # The window
//
// Options.Window is how many tokens a decoder sees at most. A longer prompt is ErrWindow.
// When the window is full, generation ends; it ends with ErrWindow if Sampling.MaxTokens
// asked for more. With Options.Slide it goes on with the last tokens alone.
//
// # Several texts at once
//
// Batch and BatchText continue several prompts, Continuations and ContinuationsText one
// prompt several times. Sequence has the steps by themselves: Start computes a prompt, Next
// gives a token, and Fork copies what is computed.
package generate
