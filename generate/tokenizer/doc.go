// Package tokenizer turns text into the ids of a vocabulary, and ids into text.
//
// Load reads the files of the field: a tokenizer.json of Hugging Face, a
// tokenizer.model of SentencePiece, vocab.json with merges.txt of a byte-level BPE,
// vocab.txt of a WordPiece vocabulary, the two JSON schemas of gpt.rs, or a folder
// that holds one of them. A Tokenizer gives the ids that the package of the file's own
// kind gives.
//
// The steps of an encoding are a normalizer, a pre-tokenizer that splits text into
// words, a model that splits words into tokens, and a post-processor that adds the
// special tokens around them. Added tokens are matched in the text before all steps. A
// decoder joins tokens to text.
//
// A file, a text and a template may come from strangers. Each call has a budget of memory and
// of steps, the Limit of Options, and ends with ErrLimit before it takes more; functions whose
// names end in Context end with their context, too. The steps of an encoding follow the size
// of the text, and never its square.
package tokenizer
