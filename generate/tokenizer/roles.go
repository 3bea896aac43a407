package tokenizer

import "slices"

// Role returns the id of the token with a role that the metadata of a GGUF file gives: bos, eos,
// eot and eom for the beginning of a text and the end of a text, a turn and a message; unknown,
// separator, padding, mask; and fim_prefix, fim_suffix, fim_middle, fim_padding, fim_repository and
// fim_separator for texts to fill in. Tokenizers of other files have no roles.
func (t *Tokenizer) Role(name string) (id int32, ok bool) {
	if t == nil {
		return 0, false
	}
	id, ok = t.roles[name]
	return id, ok
}

// Unknown returns the id of the token for text that the vocabulary lacks.
func (t *Tokenizer) Unknown() (id int32, ok bool) {
	if !t.made() {
		return 0, false
	}
	id = -1
	switch m := t.model.(type) {
	case *wordPiece:
		id = m.unk
	case *wordLevel:
		id = m.unk
	case *unigram:
		id = m.unk
	case *spBPE:
		id = m.unk
	case *bpe:
		id = m.unk
	}
	return max(id, 0), id >= 0
}

// InnerPrefix returns the text that begins tokens inside a word, such as ##; "" if there is none.
func (t *Tokenizer) InnerPrefix() string {
	if !t.made() {
		return ""
	}
	switch m := t.model.(type) {
	case *wordPiece:
		return m.prefix
	case *bpe:
		return m.prefix
	}
	return ""
}

// EndIDs returns the ids that end a generated text, in ascending order. Only the metadata of a GGUF
// file tells them.
func (t *Tokenizer) EndIDs() []int32 {
	if t == nil {
		return nil
	}
	return slices.Clone(t.ends)
}

// SuppressedIDs returns the ids that a generated text must not have. Only the metadata of a GGUF
// file tells them.
func (t *Tokenizer) SuppressedIDs() []int32 {
	if t == nil {
		return nil
	}
	return slices.Clone(t.suppressed)
}

// Warnings returns what the file leaves out or gets wrong, so that ids may not be the ones that a
// model was trained with.
func (t *Tokenizer) Warnings() []error {
	if t == nil {
		return nil
	}
	return slices.Clone(t.warnings)
}
