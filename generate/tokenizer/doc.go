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
package tokenizer
