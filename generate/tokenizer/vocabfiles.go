package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// readPairs reads vocab.json and merges.txt of a byte-level BPE as GPT-2 has it.
func readPairs(vocabPath, mergesPath string, c *settings) (*Tokenizer, error) {
	data, err := readBounded(vocabPath)
	if err != nil {
		return nil, err
	}
	var ids map[string]int64
	if err := json.Unmarshal(data, &ids); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabPath, err)
	}
	v, err := newVocabulary(ids)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", vocabPath, err)
	}
	if data, err = readBounded(mergesPath); err != nil {
		return nil, err
	}
	m := &bpe{vocab: v, unk: -1}
	merges, err := mergeLines(string(data))
	if err == nil {
		err = m.setMerges(merges)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", mergesPath, err)
	}
	t := &Tokenizer{vocab: v, model: m, bytes: true, decoder: []decoder{decodeBytes{}}}
	words, err := pattern(gpt2)
	if err != nil {
		return nil, err
	}
	t.split = &byteLevel{prefix: c.PrefixSpace, words: words}
	list, err := c.specials(v, "<|endoftext|>")
	if err != nil {
		return nil, err
	}
	t.added, err = newAdded(v, list, nil)
	return t, err
}

// mergeLines reads the lines of merges.txt, of which the first may say a version.
func mergeLines(text string) (mergeList, error) {
	var list mergeList
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
func readWordPieces(data []byte, c *settings) (*Tokenizer, error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	v := listVocabulary(lines)
	unk, ok := v.id("[UNK]")
	if !ok {
		return nil, fmt.Errorf("the vocabulary lacks the token [UNK]")
	}
	m, err := newWordPiece(v, unk, "##", 100)
	if err != nil {
		return nil, err
	}
	lower := c.LowerCase == nil || *c.LowerCase
	t := &Tokenizer{vocab: v, model: m, decoder: []decoder{decodeWordPiece{"##", true}}}
	t.normal = bert{true, true, lower, lower}
	r := &reader{}
	if t.split, err = r.onePretokenizer("BertPreTokenizer", []byte(`{}`)); err != nil {
		return nil, err
	}
	cls, ok1 := v.id("[CLS]")
	sep, ok2 := v.id("[SEP]")
	if ok1 && ok2 {
		t.post = []template{{[]int32{cls}, []int32{sep}}}
	}
	list, err := c.specials(v, "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
	if err != nil {
		return nil, err
	}
	t.added, err = newAdded(v, list, t.normal)
	return t, err
}

// specials returns the added tokens of tokenizer_config.json, and the usual ones that a
// vocabulary has.
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
