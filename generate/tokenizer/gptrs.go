package tokenizer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nacre-ml/nacre/internal/guard"
)

// LoadGPTRS reads a file by the rules of gpt.rs, whichever steps it names: words like GPT-2's with
// rules of its own for white space, a model of byte pairs, no special tokens.
func LoadGPTRS(path string) (*Tokenizer, error) {
	return LoadGPTRSContext(context.Background(), path, Options{})
}

// LoadGPTRSContext is LoadGPTRS with a context and limits. If the file is past the limits of o, the
// error is ErrLimit.
func LoadGPTRSContext(ctx context.Context, path string, o Options) (t *Tokenizer, err error) {
	defer guard.At(path).End(&err)
	return load(ctx, path, o, func(f *folder, data []byte) (*Tokenizer, error) { return readGPTRS(f.work, data) })
}

// A gptrsFile has one of two schemas: the tables at the top, or in the model as in a
// tokenizer.json.
type gptrsFile struct {
	gptrsTables
	Model *gptrsTables `json:"model"`
	Added []AddedToken `json:"added_tokens"`
}

type gptrsTables struct {
	Vocab  map[string]int64 `json:"vocab"`
	Merges mergeList        `json:"merges"`
	Unk    *string          `json:"unk_token"`
}

func readGPTRS(w *work, data []byte) (*Tokenizer, error) {
	w.json(data)
	var f gptrsFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	tables, unk := f.gptrsTables, "<unk>"
	if tables.Vocab == nil && f.Model != nil {
		tables = *f.Model
		unk = gptrsUnknown(tables, f.Added)
	}
	if len(tables.Vocab) == 0 {
		return nil, fmt.Errorf("the file has no vocabulary")
	}
	if tables.Unk != nil {
		unk = *tables.Unk
	}
	v, err := newVocabulary(w, tables.Vocab)
	if err != nil {
		return nil, err
	}
	m, err := newTextBPE(w, v, tables.Merges, unk)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{vocab: v, model: m, bytes: true, added: added{largest: -1}}
	t.split = &byteLevel{words: &scanner{contractions: true, whole: true, classes: classes()}}
	t.decoder, t.partial = []decoder{decodeBytes{strict: true}}, []decoder{decodeBytes{}}
	t.unknown = func(int32) (string, bool) { return unk, true }
	return t, nil
}

// gptrsUnknown returns the unknown token of the second schema if the model names none: <unk> of the
// added tokens, else the token with the id 0.
func gptrsUnknown(tables gptrsTables, list []AddedToken) string {
	for _, token := range list {
		if token.Content == "<unk>" {
			return token.Content
		}
	}
	for token, id := range tables.Vocab {
		if id == 0 {
			return token
		}
	}
	return "<unk>"
}

// A textBPE is a model of byte pair encoding with merges that may make tokens outside the
// vocabulary. Any of these left at the end is unknown.
type textBPE struct {
	bpe
	ids []int32 // from the tokens of merges to the ids of the vocabulary
}

// textMergeBytes is the memory of the three tokens of a merge, beside their texts.
const textMergeBytes = 256

func newTextBPE(w *work, v *vocabulary, merges mergeList, unk string) (*textBPE, error) {
	id, ok := v.id(unk)
	if !ok {
		return nil, fmt.Errorf("the unknown token %.60q is not in the vocabulary", unk)
	}
	m := &textBPE{}
	known := map[string]int32{}
	var list []string
	add := func(token string) {
		if _, ok := known[token]; ok {
			return
		}
		known[token] = int32(len(list))
		list = append(list, token)
		to, ok := v.id(token)
		if !ok {
			to = id
		}
		m.ids = append(m.ids, to)
	}
	for _, r := range byteCharacter {
		add(string(r))
	}
	for i, p := range merges {
		if len(p[0])+len(p[1]) > maxToken {
			return nil, fmt.Errorf("merge %d makes a token of %d bytes: at most %d are allowed", i, len(p[0])+len(p[1]), maxToken)
		}
		w.hold(textMergeBytes + 2*(len(p[0])+len(p[1])))
		add(p[0])
		add(p[1])
		add(p[0] + p[1])
	}
	m.bpe = bpe{vocab: listVocabulary(list), unk: -1}
	return m, m.setMerges(merges)
}

func (m *textBPE) tokens(s *scratch, ids []int32, word string) []int32 {
	from := len(ids)
	ids = m.bpe.tokens(s, ids, word)
	for i := from; i < len(ids); i++ {
		ids[i] = m.ids[ids[i]]
	}
	return ids
}
