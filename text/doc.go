// Package text reads texts with encoders: it embeds, classifies and ranks them. The package is for
// programs that search, sort or label texts.
//
// A model is a folder as it is published: tokenizer.json, config.json, and the network as model.onnx
// or onnx/model.onnx, or as safetensors files of a family that package formats lowers. Each task
// opens a folder, and answers for any number of texts:
//
//	e, err := text.OpenEmbedder("all-MiniLM-L6-v2", text.Options{})
//	defer e.Close()
//	vectors, err := e.Embed(ctx, "a cat", "a dog")
//
// Classifier labels whole texts, TokenClassifier names in them, ZeroShot gives texts labels that the
// model has never seen, and Reranker orders documents by a query.
//
// Results are those of the packages transformers and sentence-transformers. Texts of one call are
// sorted by length and run in batches, with padding that networks do not see. Results do not depend
// on the other texts of a call, but for the last digits of floats. Texts with more tokens than the
// network takes are cut at their end.
//
// Files are not trusted: sizes, names and numbers are checked before they are used, and all files
// are opened in the model's folder only. Errors name the file and the field.
//
// The types hold memory outside Go's heap, which Close frees. Their methods may be called from many
// goroutines at once.
package text
