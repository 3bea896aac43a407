package tokenizer

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Expressions for blanks that SentencePiece removes.
const (
	blanksAtEnds = `\A +| +\z`
	blankRuns    = ` {2,}`
)

// object is a part of a file of JSON.
type object map[string]any

// ToFolder returns the files of the tokenizer in the metadata of a GGUF file, by name:
// tokenizer.json and tokenizer_config.json, as the package transformers reads them. Ids of texts
// are the ones of FromGGUF, but WordPiece without accents keeps the letters after the first one of
// a canonical decomposition, as transformers does. If the metadata has no tokenizer, the error is
// fs.ErrNotExist. If tokenizer.json cannot say what the metadata say, the error names it.
func ToFolder(ctx context.Context, meta []graph.Pair, o Options) (files map[string][]byte, err error) {
	defer guard.At("").End(&err)
	defer caught(&err)
	check(ctx.Err())
	w := o.Limit.work(ctx, readRate, footprint(meta))
	m := newGGUFMeta(w, meta)
	t, err := m.tokenizer()
	if err != nil {
		return nil, err
	}
	whole, has := m.text("tokenizer.huggingface.json")
	files = map[string][]byte{"tokenizer.json": []byte(whole)}
	if !has {
		d, err := m.made.document()
		if err != nil {
			return nil, err
		}
		if files["tokenizer.json"], err = json.Marshal(d); err != nil {
			return nil, err
		}
	}
	c, err := json.MarshalIndent(m.settings(t), "", "  ")
	files["tokenizer_config.json"] = append(c, '\n')
	return files, err
}

// settings returns the contents of tokenizer_config.json.
func (m *ggufMeta) settings(t *Tokenizer) object {
	c := object{"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false}
	for key, role := range map[string]string{"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding",
		"sep_token": "separator", "mask_token": "mask"} {
		if id, ok := t.roles[role]; ok {
			c[key], _ = t.Token(id)
		}
	}
	if t.chat == nil {
		return c
	}
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(t.chat.templates)) {
		list = append(list, object{"name": name, "template": t.chat.templates[name]})
	}
	c["chat_template"] = list
	if len(list) == 1 && list[0]["name"] == "default" {
		c["chat_template"] = list[0]["template"]
	}
	return c
}

// document returns the contents of tokenizer.json.
func (g *gguf) document() (object, error) {
	var list []AddedToken
	for _, id := range slices.Sorted(maps.Keys(g.t.added.tokens)) {
		list = append(list, g.t.added.tokens[id])
	}
	d := object{"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": list, "normalizer": nil, "pre_tokenizer": nil,
		"post_processor": g.around(), "decoder": nil}
	var err error
	switch kind := g.kind.name; kind {
	case "gpt2":
		err = g.bytePairDocument(d)
	case "llama":
		err = g.pieceDocument(d)
	case "bert":
		err = g.wordDocument(d)
	case "t5":
		g.unigramDocument(d)
	default:
		err = fmt.Errorf("%smodel is %q, which a tokenizer.json cannot say", ggufPrefix, kind)
	}
	return d, err
}

// around returns the post-processor, or nil if no ids are around a text.
func (g *gguf) around() any {
	special, before, after := object{}, []object{}, []object{}
	for i, ids := range [][]int32{g.t.post[0].before, g.t.post[0].after} {
		for _, id := range ids {
			text, _ := g.t.Token(id)
			special[text] = object{"id": text, "ids": []int32{id}, "tokens": []string{text}}
			part := object{"SpecialToken": object{"id": text, "type_id": 0}}
			if i == 0 {
				before = append(before, part)
			} else {
				after = append(after, part)
			}
		}
	}
	if len(special) == 0 {
		return nil
	}
	text := func(name string) object { return object{"Sequence": object{"id": name, "type_id": 0}} }
	return object{"type": "TemplateProcessing", "special_tokens": special, "single": slices.Concat(before, []object{text("A")}, after),
		"pair": slices.Concat(before, []object{text("A")}, after, before, []object{text("B")}, after)}
}

// vocab returns ids by token.
func (g *gguf) vocab() map[string]int {
	list := make(map[string]int, len(g.tokens))
	for i, text := range g.tokens {
		list[text] = i
	}
	return list
}

// bytePairDocument adds the steps of byte pair encoding on bytes.
func (g *gguf) bytePairDocument(d object) error {
	s := g.split()
	if g.err != nil {
		return g.err
	}
	vocab := g.vocab()
	list, _ := g.texts("merges")
	merges := make([][2]string, len(list))
	for i, text := range list {
		at := 1 + strings.IndexByte(text[1:], ' ')
		left, right := text[:at], text[at+1:]
		for _, token := range []string{left, right, left + right} {
			if _, ok := vocab[token]; !ok {
				return fmt.Errorf("merge %d is %.60q, and the vocabulary lacks %.60q, which a tokenizer.json cannot say", i, text, token)
			}
		}
		merges[i] = [2]string{left, right}
	}
	var steps []object
	for _, text := range s.by {
		steps = append(steps, object{"type": splitStep, "pattern": object{"Regex": text}, "behavior": "Isolated", "invert": false})
	}
	steps = append(steps, object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false})
	d["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": steps}
	d["decoder"] = object{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}
	d["model"] = object{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil, "fuse_unk": false,
		"byte_fallback": false, "ignore_merges": s.whole, "vocab": vocab, "merges": merges}
	return nil
}

// blankSteps returns the decoder of tokens with marks for blanks.
func blankSteps(dummy bool) object {
	steps := []object{{"type": "Replace", "pattern": object{"String": blankMark}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}}
	if dummy {
		steps = append(steps, object{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	return object{"type": "Sequence", "decoders": steps}
}

// pieceDocument adds the steps of SentencePiece's byte pair encoding. Its scores become the order
// of merges.
func (g *gguf) pieceDocument(d object) error {
	merges, err := g.scoredMerges()
	if err != nil {
		return err
	}
	dummy := g.flag("add_space_prefix", true)
	var steps []object
	if dummy {
		steps = append(steps, object{"type": "Prepend", "prepend": blankMark})
	}
	steps = append(steps, object{"type": "Replace", "pattern": object{"String": " "}, "content": blankMark})
	d["normalizer"] = object{"type": "Sequence", "normalizers": steps}
	d["decoder"] = blankSteps(dummy)
	d["model"] = object{"type": "BPE", "dropout": nil, "unk_token": g.tokens[g.unknown()], "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
		"fuse_unk": true, "byte_fallback": true, "ignore_merges": false, "vocab": g.vocab(), "merges": merges}
	return nil
}

// scoredMerges returns the pairs of tokens that make a token, the highest score first.
func (g *gguf) scoredMerges() ([][2]string, error) {
	type merge struct {
		token, left int // left is a number of bytes
	}
	plain := func(text string) bool {
		id, ok := g.t.vocab.id(text)
		return ok && (g.kinds[id] == pieceNormal || g.kinds[id] == pieceUnused)
	}
	var list []merge
	for i, text := range g.tokens {
		g.work.steps(1 + len(text))
		if g.kinds[i] != pieceNormal && g.kinds[i] != pieceUnused {
			continue
		}
		for at := range text {
			if at == 0 {
				continue
			}
			g.work.steps(len(text))
			g.work.hold(ggufMergeBytes)
			left, right := plain(text[:at]), plain(text[at:])
			if left && right {
				list = append(list, merge{i, at})
				continue
			}
			if (left || utf8.RuneCountInString(text[:at]) == 1) && (right || utf8.RuneCountInString(text[at:]) == 1) {
				return nil, fmt.Errorf("token %d is %.60q, whose characters %.60q and %.60q are not both tokens, which a tokenizer.json cannot say", i, text, text[:at], text[at:])
			}
		}
	}
	slices.SortStableFunc(list, func(a, b merge) int {
		return cmp.Or(cmp.Compare(g.scores[b.token], g.scores[a.token]), cmp.Compare(a.token, b.token))
	})
	merges := make([][2]string, len(list))
	for i, m := range list {
		text := g.tokens[m.token]
		merges[i] = [2]string{text[:m.left], text[m.left:]}
	}
	return merges, nil
}

// wordDocument adds the steps of WordPiece. Tokens within a word get the prefix ##, and tokens that
// begin a word lose the mark of a blank.
func (g *gguf) wordDocument(d object) error {
	const prefix = "##"
	vocab, unknown := make(map[string]int, len(g.tokens)), ""
	for i, text := range g.tokens {
		switch word, begins := strings.CutPrefix(text, blankMark); {
		case g.kinds[i] != pieceNormal:
		case begins:
			text = word
		default:
			text = prefix + text
		}
		if int32(i) == g.unknown() {
			unknown = text
		}
		if j, twice := vocab[text]; twice {
			return fmt.Errorf("the tokens %d and %d are both %.60q in a tokenizer.json", j, i, text)
		}
		vocab[text] = i
	}
	lower := g.flag("normalizer.lowercase", true)
	d["normalizer"] = object{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
		"strip_accents": g.flag("normalizer.strip_accents", lower), "lowercase": lower}
	d["pre_tokenizer"] = object{"type": "BertPreTokenizer"}
	d["decoder"] = object{"type": "WordPiece", "prefix": prefix, "cleanup": false}
	d["model"] = object{"type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": prefix,
		"max_input_chars_per_word": 1 << 30, "vocab": vocab}
	return nil
}

// unigramDocument adds the steps of the model of scores.
func (g *gguf) unigramDocument(d object) {
	var steps []object
	if data := g.charsmap(); len(data) > 0 {
		steps = append(steps, object{"type": "Precompiled", "precompiled_charsmap": base64.StdEncoding.EncodeToString(data)})
	}
	if g.flag("remove_extra_whitespaces", false) {
		steps = append(steps, object{"type": "Replace", "pattern": object{"Regex": blanksAtEnds}, "content": ""},
			object{"type": "Replace", "pattern": object{"Regex": blankRuns}, "content": " "})
	}
	if len(steps) > 0 {
		d["normalizer"] = object{"type": "Sequence", "normalizers": steps}
	}
	scheme := "never"
	if g.flag("add_space_prefix", false) {
		scheme = "always"
	}
	d["pre_tokenizer"] = object{"type": "Metaspace", "replacement": blankMark, "prepend_scheme": scheme, "split": true}
	d["decoder"] = object{"type": "Metaspace", "replacement": blankMark, "prepend_scheme": scheme, "split": true}
	vocab := make([][2]any, len(g.tokens))
	for i, text := range g.tokens {
		score := float64(g.scores[i])
		if g.kinds[i] == pieceUserDefined {
			score = 0
		}
		vocab[i] = [2]any{text, score}
	}
	d["model"] = object{"type": "Unigram", "unk_id": g.unknown(), "vocab": vocab, "byte_fallback": false}
}
