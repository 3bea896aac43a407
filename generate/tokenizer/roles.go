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
