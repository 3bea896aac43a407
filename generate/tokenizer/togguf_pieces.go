package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sentencePieceNames are the files of models of SentencePiece.
var sentencePieceNames = []string{"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}

// sentencePiece adds the pairs of a model of SentencePiece.
func (i *importer) sentencePiece(data []byte, tokens int) error {
	c := &settings{}
	if data, err := i.read("tokenizer_config.json"); err == nil {
		i.work.json(data)
		if err := json.Unmarshal(data, c); err != nil {
			return fmt.Errorf("tokenizer_config.json: %w", err)
		}
	}
	m, err := parseSentencePiece(i.work, data)
	if err != nil {
		return err
	}
	if i.t, err = readSentencePiece(i.work, data, c); err != nil {
		return err
	}
	if err := i.joinAdded(c); err != nil {
		return err
	}
	if err := i.vocabulary(tokens); err != nil {
		return err
	}
	i.scores = make([]float32, len(i.tokens))
	unknown := ""
	for id, p := range m.pieces {
		if _, ok := i.t.added.tokens[int32(id)]; !ok || p.kind != pieceNormal {
			i.types[id] = int32(p.kind)
		}
		i.scores[id] = p.score
		if p.kind == pieceUnknown {
			unknown = p.text
		}
	}
	switch {
	case m.suffix || !m.escape:
		return errors.New("blanks after words, or blanks that stay, have no place in GGUF")
	case m.kind == kindBPE && m.byteFallback && len(m.charsmap) == 0 && !m.squeeze:
		i.text("model", "llama")
	case m.kind == kindUnigram && slices.ContainsFunc(m.pieces, func(p spPiece) bool { return p.kind == pieceUserDefined }):
		return errors.New("pieces of the user in a model of the kind unigram are cut out of texts first in GGUF, which gives other ids")
	case m.kind == kindUnigram && !m.byteFallback:
		i.text("model", "t5")
		if len(m.charsmap) > 0 {
			t := tensor.New(tensor.U8, len(m.charsmap))
			copy(t.Bytes(), m.charsmap)
			i.add("precompiled_charsmap", "array of u8", t)
		}
		i.flag("remove_extra_whitespaces", m.squeeze)
	default:
		return errors.New("GGUF has models of the kind bpe with byte_fallback and without a map of characters, and of the kind unigram without byte_fallback; this one differs")
	}
	i.text("pre", "default")
	i.flag("add_space_prefix", m.dummy)
	i.unknown(unknown)
	return nil
}

// joinAdded adds the tokens after the pieces that tokenizer_config.json has.
func (i *importer) joinAdded(c *settings) error {
	list := []AddedToken{}
	for key, token := range c.Added {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return fmt.Errorf("tokenizer_config.json: added_tokens_decoder has the id %.60q", key)
		}
		token.ID = id
		list = append(list, token)
	}
	for _, token := range i.t.added.tokens {
		if !slices.ContainsFunc(list, func(t AddedToken) bool { return t.ID == token.ID }) {
			list = append(list, token)
		}
	}
	slices.SortFunc(list, func(a, b AddedToken) int { return int(a.ID - b.ID) })
	var err error
	i.t.added, err = newAdded(i.work, i.t.vocab, list, nil)
	return err
}
