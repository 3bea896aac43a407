package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// readPairs reads vocab.json and merges.txt of a byte-level BPE like GPT-2's.
func readPairs(f *folder, vocab, pairs []byte, c *settings) (*Tokenizer, error) {
	w := f.work
	w.json(vocab)
	var ids map[string]int64
	if err := json.Unmarshal(vocab, &ids); err != nil {
		return nil, &fileError{f.file("vocab.json"), err}
	}
	v, err := newVocabulary(w, ids)
	if err != nil {
		return nil, &fileError{f.file("vocab.json"), err}
	}
	m := &bpe{vocab: v, unk: -1}
	merges, err := mergeLines(w, string(pairs))
	if err == nil {
		err = m.setMerges(merges)
	}
	if err != nil {
		return nil, &fileError{f.file("merges.txt"), err}
	}
	t := &Tokenizer{vocab: v, model: m, bytes: true, decoder: []decoder{decodeBytes{}}}
	words, err := pattern(w, gpt2)
	if err != nil {
		return nil, err
	}
	t.split = &byteLevel{prefix: c.PrefixSpace, words: words}
	list, err := c.specials(v, "<|endoftext|>")
	if err != nil {
		return nil, err
	}
	t.added, err = newAdded(w, v, list, nil)
	return t, err
}

// The memory of a merge, and of a token on a line of its own.
const (
	mergeBytes = 128
	lineBytes  = 128
)

// mergeLines reads the lines of merges.txt. The first line may give a version.
func mergeLines(w *work, text string) (mergeList, error) {
	lines := strings.Count(text, "\n") + 1
	w.hold(2*len(text) + mergeBytes*lines)
	list := make(mergeList, 0, lines)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || i == 0 && strings.HasPrefix(line, "#version") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("line %d is %.60q: two tokens with a blank between are needed", i+1, line)
		}
		list = append(list, [2]string{left, right})
	}
	return list, nil
}

// readWordPieces reads vocab.txt of BERT: a token on each line.
func readWordPieces(w *work, data []byte, c *settings) (*Tokenizer, error) {
	w.hold(2*len(data) + lineBytes*bytes.Count(data, []byte("\n")))
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	v := listVocabulary(lines)
	unk, ok := v.id("[UNK]")
	if !ok {
		return nil, fmt.Errorf("the vocabulary lacks the token [UNK]")
	}
	m, err := newWordPiece(w, v, unk, "##", 100)
	if err != nil {
		return nil, err
	}
	lower := c.LowerCase == nil || *c.LowerCase
	t := &Tokenizer{vocab: v, model: m, decoder: []decoder{decodeWordPiece{"##", true}}}
	t.normal = bert{true, true, lower, lower}
	r := &reader{work: w}
	if t.split, err = r.onePretokenizer("BertPreTokenizer", []byte(`{}`)); err != nil {
		return nil, err
	}
	cls, ok1 := v.id("[CLS]")
	sep, ok2 := v.id("[SEP]")
	if ok1 && ok2 {
		t.post = []template{{before: []int32{cls}, after: []int32{sep}, once: true}}
	}
	list, err := c.specials(v, "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
	if err != nil {
		return nil, err
	}
	t.added, err = newAdded(w, v, list, t.normal)
	return t, err
}

// specials returns the added tokens of tokenizer_config.json, and the usual ones that a vocabulary
// has.
func (c *settings) specials(v *vocabulary, usual ...string) ([]AddedToken, error) {
	var list []AddedToken
	seen := map[string]bool{}
	for key, token := range c.Added {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("tokenizer_config.json: added_tokens_decoder: %w", err)
		}
		token.ID = id
		list = append(list, token)
		seen[token.Content] = true
	}
	for _, token := range usual {
		if id, ok := v.id(token); ok && !seen[token] {
			list = append(list, AddedToken{ID: int64(id), Content: token, Special: true})
		}
	}
	return list, nil
}
