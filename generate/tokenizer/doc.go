// Package tokenizer turns text into the ids of a vocabulary, and ids into text. The package is for
// programs that give a network text, with package generate or without it.
//
// Load reads the common files: a tokenizer.json of Hugging Face, a tokenizer.model of
// SentencePiece, vocab.json with merges.txt of a byte-level BPE, vocab.txt of a WordPiece
// vocabulary, the two JSON schemas of gpt.rs, or a folder with one of them. FromGGUF reads the
// metadata of a GGUF file. A Tokenizer gives the same ids as the package that the file was made for.
//
// The steps of an encoding are a normalizer, a pre-tokenizer that splits text into words, a model
// that splits words into tokens, and a post-processor that adds the special tokens around them.
// Added tokens are matched in the text before all steps. A decoder joins tokens to text.
//
// A file, a text and a template may come from strangers. Each call has a budget of memory and of
// steps, the Limit of Options, and ends with ErrLimit before it takes more. Functions with names
// that end in Context also end with their context. The steps of an encoding follow the size of the
// text, and never its square.
//
// # Why not a tokenizer of others
//
// Ids must be the ones that the model was trained with. Of the Go modules without foreign code that
// read tokenizer.json, github.com/sugarme/tokenizer v0.3.0 was compared with the package tokenizers
// of PyPI on 1,000 texts for each kind of step. Ids agree for 992 texts with GPT-2, for 60 with a
// SentencePiece BPE, and for 445 with BERT. It ends the program at patterns that look ahead, among
// them the patterns of Llama 3 and Qwen, and lacks steps that Gemma and CLIP name.
// github.com/eliben/go-sentencepiece v0.6.0 reads BPE models only. Ours agrees on every text of
// that comparison (oracles/tokenizers/compare.sh). Well-known patterns of splits are scanners.
// Others are programs of package regexp/syntax, run by a search that tries no alternative twice at
// a place; a pattern that looks around is an error. Rejected: package regexp, linear in the text
// for one match but possibly quadratic for all of its matches, and github.com/dlclark/regexp2,
// which a file could make run without end.
//
// A Stream must give the text of Decode, whatever the ids. Decoders are stages that take tokens one
// by one and keep text that later tokens may change; Decode runs the same stages. Rejected:
// decoding the last ids anew for each id, which is wrong if a token has no text of its own or if
// steps look at their neighbours.
//
// Templates were tried with github.com/nikolalohinski/gonja/v2 v2.9.1. It takes list[-1] of a list
// of one as missing, writes the fields of objects in the order of the alphabet, has no bound on
// steps, and brings seven modules. The part of the language that chat templates use is small and
// bounded here, and agrees with the package transformers on every case of
// oracles/tokenizers/chats.py.
//
// EncodeChat must not take what a message spells for a token of the template, though a template gives
// one text. A noncharacter after the first character of each special token in a message breaks the
// token while the template runs; the places of the noncharacters then say which matches are none.
// Rejected: a template of names in place of the contents, because templates trim contents, cut them and
// look into them.
//
// # GGUF
//
// The metadata of a GGUF file names a kind of tokenizer and, for byte pairs, a way to split text.
// llama.cpp fixes the meaning of both: how scores order merges, that a word of BERT may have any
// length and loses all marks, that a piece without a token falls to its characters. Ids follow it,
// with three exceptions, in which llama.cpp departs from the models. Words by case are split by the
// expressions of the models, of which llama.cpp has an approximation for letters beyond ASCII.
// Special tokens are found as the leftmost and longest, not one token after the other. Merges by
// score make no control token.
//
// Characters are classed by the Unicode version of Go. The package tokenizers has tables of several
// older versions, so the steps of BERT may split characters differently that Unicode got or changed
// after version 8. UnicodeScripts knows which characters its table lacks.
package tokenizer
