package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// model reads the model of a tokenizer.json.
func (r *reader) model(raw json.RawMessage) (model, error) {
	name, err := r.enter(raw, "model")
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = guessModel(raw)
	}
	var m model
	switch name {
	case "BPE":
		m, err = r.bpe(raw)
	case "Unigram":
		m, err = r.unigram(raw)
	case "WordPiece":
		m, err = r.wordPiece(raw)
	case "WordLevel":
		m, err = r.wordLevel(raw)
	default:
		return nil, fmt.Errorf("model: the type %.60q is not supported", name)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, nil
}

// guessModel returns the type of a model if an old file leaves it out.
func guessModel(raw json.RawMessage) string {
	var part map[string]json.RawMessage
	if json.Unmarshal(raw, &part) != nil {
		return ""
	}
	has := func(name string) bool { _, ok := part[name]; return ok }
	switch {
	case has("merges"):
		return "BPE"
	case has("continuing_subword_prefix") && has("max_input_chars_per_word"):
		return "WordPiece"
	case has("unk_id"):
		return "Unigram"
	}
	return "WordLevel"
}

// unknownToken returns the id of the unknown token.
func (r *reader) unknownToken(token string) (int32, error) {
	id, ok := r.vocab.id(token)
	if !ok {
		return 0, fmt.Errorf("the unknown token %.60q is not in the vocabulary", token)
	}
	return id, nil
}

func (r *reader) bpe(raw json.RawMessage) (model, error) {
	var f struct {
		kind
		Dropout      *float64         `json:"dropout"`
		Unk          *string          `json:"unk_token"`
		Prefix       *string          `json:"continuing_subword_prefix"`
		Suffix       *string          `json:"end_of_word_suffix"`
		FuseUnk      bool             `json:"fuse_unk"`
		ByteFallback bool             `json:"byte_fallback"`
		IgnoreMerges bool             `json:"ignore_merges"`
		Vocab        map[string]int64 `json:"vocab"`
		Merges       mergeList        `json:"merges"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	if f.Dropout != nil && *f.Dropout != 0 {
		return nil, fmt.Errorf("dropout of %g is for training: set it to null", *f.Dropout)
	}
	var err error
	if r.vocab, err = newVocabulary(r.work, f.Vocab); err != nil {
		return nil, err
	}
	for _, affix := range []string{text(f.Prefix), text(f.Suffix)} {
		if len(affix) > maxToken {
			return nil, fmt.Errorf("a prefix or suffix has %d bytes: at most %d are allowed", len(affix), maxToken)
		}
	}
	m := &bpe{vocab: r.vocab, unk: -1, fuseUnk: f.FuseUnk, byteFallback: f.ByteFallback, whole: f.IgnoreMerges,
		prefix: text(f.Prefix), suffix: text(f.Suffix)}
	if unk := text(f.Unk); unk != "" {
		if m.unk, err = r.unknownToken(unk); err != nil {
			return nil, err
		}
	}
	if m.byteFallback {
		m.bytes = byteTokens(r.vocab)
	}
	return m, m.setMerges(f.Merges)
}

// text returns the text of a field that may be null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// A mergeList is a list of pairs. A file writes a pair as a list, or as a text with a blank in
// between.
type mergeList [][2]string

// UnmarshalJSON reads both forms.
func (l *mergeList) UnmarshalJSON(data []byte) error {
	var pairs [][]string
	if json.Unmarshal(data, &pairs) == nil {
		for i, p := range pairs {
			if len(p) != 2 {
				return fmt.Errorf("merge %d has %d tokens", i, len(p))
			}
			*l = append(*l, [2]string{p[0], p[1]})
		}
		return nil
	}
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return fmt.Errorf("merges: %w", err)
	}
	for i, line := range lines {
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("merge %d is %.60q: two tokens with a blank between are needed", i, line)
		}
		*l = append(*l, [2]string{left, right})
	}
	return nil
}

func (r *reader) unigram(raw json.RawMessage) (model, error) {
	var f struct {
		kind
		Unk          *int64       `json:"unk_id"`
		Vocab        []scoredPair `json:"vocab"`
		ByteFallback bool         `json:"byte_fallback"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	tokens, scores := make([]string, len(f.Vocab)), make([]float64, len(f.Vocab))
	for i, p := range f.Vocab {
		tokens[i], scores[i] = p.token, p.score
	}
	if f.Unk == nil {
		return nil, fmt.Errorf("unk_id is null: a text may have characters that the vocabulary lacks")
	}
	if *f.Unk < 0 || *f.Unk >= int64(len(tokens)) {
		return nil, fmt.Errorf("unk_id is %d, and the vocabulary has %d tokens", *f.Unk, len(tokens))
	}
	r.vocab = listVocabulary(tokens)
	return newUnigram(r.work, r.vocab, scores, int32(*f.Unk), f.ByteFallback)
}

// A scoredPair is a token and its score. A file writes it as a list.
type scoredPair struct {
	token string
	score float64
}

// UnmarshalJSON reads the list.
func (p *scoredPair) UnmarshalJSON(data []byte) error {
	list := [2]any{&p.token, &p.score}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if len(raw) != 2 {
		return fmt.Errorf("an entry of the vocabulary has %d values: a token and a score are needed", len(raw))
	}
	for i := range raw {
		if err := json.Unmarshal(raw[i], list[i]); err != nil {
			return err
		}
	}
	return nil
}

// unknownPenalty is the distance from the least score to the score of a character without a token.
const unknownPenalty = 10

func newUnigram(w *work, v *vocabulary, scores []float64, unk int32, fallback bool) (*unigram, error) {
	if v.longest > maxToken {
		return nil, fmt.Errorf("a token has %d bytes: at most %d are allowed", v.longest, maxToken)
	}
	m := &unigram{vocab: v, trie: newTrie(w, v), scores: scores, unk: unk, byteFallback: fallback}
	m.penalty = slices.Min(scores) - unknownPenalty
	if fallback {
		m.bytes = byteTokens(v)
	}
	return m, nil
}

func (r *reader) wordPiece(raw json.RawMessage) (model, error) {
	var f struct {
		kind
		Unk    string           `json:"unk_token"`
		Prefix *string          `json:"continuing_subword_prefix"`
		Most   *int             `json:"max_input_chars_per_word"`
		Vocab  map[string]int64 `json:"vocab"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	var err error
	if r.vocab, err = newVocabulary(r.work, f.Vocab); err != nil {
		return nil, err
	}
	unk, err := r.unknownToken(f.Unk)
	if err != nil {
		return nil, err
	}
	prefix, most := "##", 100
	if f.Prefix != nil {
		prefix = *f.Prefix
	}
	if f.Most != nil {
		most = *f.Most
	}
	return newWordPiece(r.work, r.vocab, unk, prefix, most)
}

func (r *reader) wordLevel(raw json.RawMessage) (model, error) {
	var f struct {
		kind
		Unk   string           `json:"unk_token"`
		Vocab map[string]int64 `json:"vocab"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, err
	}
	var err error
	if r.vocab, err = newVocabulary(r.work, f.Vocab); err != nil {
		return nil, err
	}
	unk, err := r.unknownToken(f.Unk)
	return &wordLevel{r.vocab, unk}, err
}
