package tokenizer

import (
	"maps"
	"slices"
)

// A ggufRole is a use of a token: the keys with its id, and the texts that tell it if no key does.
type ggufRole struct {
	name  string
	keys  []string // without "_token_id"; the later ones are of older files
	texts []string // the best first
}

var ggufRoles = []ggufRole{
	{"bos", []string{"bos", "cls"}, nil},
	{"eos", []string{"eos"}, nil},
	{"eot", []string{"eot"}, []string{
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]",
		"<｜end▁of▁sentence｜>", "<end_of_utterance>",
	}},
	{"eom", []string{"eom"}, []string{"<|eom_id|>"}},
	{"unknown", []string{"unknown"}, nil},
	{"separator", []string{"seperator"}, nil},
	{"padding", []string{"padding"}, nil},
	{"mask", []string{"mask"}, nil},
	{"fim_prefix", []string{"fim_pre", "prefix"}, []string{
		"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>",
	}},
	{"fim_suffix", []string{"fim_suf", "suffix"}, []string{
		"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>",
	}},
	{"fim_middle", []string{"fim_mid", "middle"}, []string{
		"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>",
	}},
	{"fim_padding", []string{"fim_pad"}, []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
	{"fim_repository", []string{"fim_rep"}, []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
	{"fim_separator", []string{"fim_sep"}, []string{"<|file_sep|>"}},
}

// setRoles finds the token of each role: by its keys, by default, or by its text. A token that is
// found by its text is special, whatever its type.
func (g *gguf) setRoles(byDefault map[string]int32) {
	g.roles = map[string]int32{}
	for _, r := range ggufRoles {
		id, ok := byDefault[r.name]
		if ok = ok && int(id) < len(g.tokens); ok {
			g.roles[r.name] = id
		}
		for _, key := range slices.Backward(r.keys) {
			key += "_token_id"
			switch id, ok := g.integer(key); {
			case !ok:
			case id < 0, id >= int64(len(g.tokens)):
				g.warn("%s%s is %d, and the vocabulary has %d tokens", ggufPrefix, key, id, len(g.tokens))
			default:
				g.roles[r.name] = int32(id)
			}
		}
		for _, text := range r.texts {
			if _, ok := g.roles[r.name]; ok {
				break
			}
			if id, ok := g.t.vocab.id(text); ok {
				g.roles[r.name] = id
				g.kinds[id] = pieceControl
			}
		}
	}
}

// endRoles are the roles of tokens that end a text.
var endRoles = []string{"eos", "eot", "eom", "fim_padding", "fim_repository", "fim_separator"}

// endTexts are tokens that end a text, whatever their types and their roles.
var endTexts = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>",
	"<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
	"<｜end▁of▁sentence｜>", "[e~[",
}

// setEnds sets the ids that end a text. <|end|> and </s> do not in the vocabularies that have
// others for it.
func (g *gguf) setEnds() {
	ends := map[int32]bool{}
	for _, role := range endRoles {
		if id, ok := g.roles[role]; ok {
			ends[id] = true
		}
	}
	for _, text := range endTexts {
		if id, ok := g.t.vocab.id(text); ok {
			ends[id] = true
			g.kinds[id] = pieceControl
		}
	}
	has := func(text string) bool {
		id, ok := g.t.vocab.id(text)
		return ok && ends[id]
	}
	drop := func(text string) {
		if id, ok := g.t.vocab.id(text); ok {
			delete(ends, id)
		}
	}
	if has("<|return|>") && (has("<|call|>") || has("<|calls|>")) || (has("<|call|>") || has("<|calls|>")) && has("<|flush|>") {
		drop("<|end|>")
	}
	if has("<|tool_response>") {
		drop("</s>")
	}
	g.t.ends = slices.Sorted(maps.Keys(ends))
}
