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
//
// # Why not a tokenizer of others
//
// Ids must be those that the model was trained with. Of the Go modules without foreign code that
// read tokenizer.json, github.com/sugarme/tokenizer v0.3.0 was compared with the package
// tokenizers of PyPI on 1,000 texts for each kind of step: GPT-2's ids agree for 992, those of a
// SentencePiece BPE for 60, those of BERT for 445; it ends the program at patterns that look
// ahead, among them those of Llama 3 and Qwen, and lacks steps that Gemma and CLIP name.
// github.com/eliben/go-sentencepiece v0.6.0 reads BPE models only. Ours agrees on every text of
// that comparison (oracles/tokenizers/compare.sh). Patterns of splits are scanners where they are
// well known, and otherwise programs of package regexp/syntax, run by a search that tries no
// alternative twice at a place: a pattern that looks around is an error. Rejected: package regexp,
// whose time is linear for one match and may be the square of a text for all of its matches, and
// github.com/dlclark/regexp2, which a file could make run without end.
//
// A Stream must give the text of Decode, whatever the ids. Decoders are stages that take tokens
// one by one and keep what later tokens may change; Decode runs the same stages. Rejected:
// decoding the last ids anew for each id, which is wrong where a token has no text of its own and
// where steps look at their neighbours.
//
// Templates were tried with github.com/nikolalohinski/gonja/v2 v2.9.1. It takes list[-1] of a list
// of one as missing, writes the fields of objects in the order of the alphabet, has no bound on
// steps, and brings seven modules. The part of the language that templates of chats use is small,
// agrees with the package transformers on every case of oracles/tokenizers/chats.py, and is
// bounded.
//
// Characters are classed by the Unicode version of Go. The package tokenizers has tables of
// several older ones, so characters that Unicode got or changed after version 8 may be split
// elsewhere by the steps of BERT. UnicodeScripts knows which characters theirs lacks.
package tokenizer
