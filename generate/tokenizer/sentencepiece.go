package tokenizer

import (
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The types of pieces of a SentencePiece model.
const (
	pieceNormal      = 1
	pieceUnknown     = 2
	pieceControl     = 3
	pieceUserDefined = 4
	pieceUnused      = 5
	pieceByte        = 6
)

// The kinds of SentencePiece models.
const (
	kindUnigram = 1
	kindBPE     = 2
)

// pieceBytes is the memory that a piece takes in all tables, beside its text and tries.
const pieceBytes = 512

// A spPiece is a token of a SentencePiece model.
type spPiece struct {
	text  string
	score float32
	kind  uint64
}

// A spModel is a SentencePiece file.
type spModel struct {
	pieces       []spPiece
	kind         uint64
	byteFallback bool
	suffix       bool // blanks belong to the word before them
	bos, eos     string
	charsmap     []byte
	dummy        bool // a blank before the text
	squeeze      bool // runs of blanks become one blank, or none at the ends
	escape       bool // blanks become their mark
}

// message calls f for each field of a protobuf message: with the value of a number, or with the
// bytes of a text or message.
func message(data []byte, f func(field protowire.Number, number uint64, data []byte) error) error {
	for len(data) > 0 {
		field, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var number uint64
		var content []byte
		switch typ {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(data)
			number = uint64(v)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(field, typ, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(field, number, content); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func parseSentencePiece(w *work, data []byte) (*spModel, error) {
	m := &spModel{kind: kindUnigram, dummy: true, squeeze: true, escape: true, bos: "<s>", eos: "</s>"}
	err := message(data, func(field protowire.Number, _ uint64, data []byte) error {
		switch field {
		case 1:
			return m.piece(w, data)
		case 2:
			return m.trainer(data)
		case 3:
			return m.normalizer(data)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("not a JSON file and not a SentencePiece model: %w", err)
	}
	if len(m.pieces) == 0 {
		return nil, fmt.Errorf("not a JSON file and not a SentencePiece model: no pieces")
	}
	return m, nil
}

func (m *spModel) piece(w *work, data []byte) error {
	w.steps(len(data))
	w.hold(pieceBytes + 2*len(data))
	p := spPiece{kind: pieceNormal}
	err := message(data, func(field protowire.Number, number uint64, data []byte) error {
		switch field {
		case 1:
			p.text = string(data)
		case 2:
			p.score = math.Float32frombits(uint32(number))
		case 3:
			p.kind = number
		}
		return nil
	})
	if p.text == "" || len(p.text) > maxToken {
		return fmt.Errorf("piece %d has %d bytes: 1 to %d are allowed", len(m.pieces), len(p.text), maxToken)
	}
	if !utf8.ValidString(p.text) {
		return fmt.Errorf("piece %d is %.60q, which is not UTF-8", len(m.pieces), p.text)
	}
	if p.score != p.score {
		return fmt.Errorf("piece %.60q has no score", p.text)
	}
	m.pieces = append(m.pieces, p)
	return err
}

func (m *spModel) trainer(data []byte) error {
	return message(data, func(field protowire.Number, number uint64, data []byte) error {
		switch field {
		case 3:
			m.kind = number
		case 24:
			m.suffix = number != 0
		case 35:
			m.byteFallback = number != 0
		case 46:
			m.bos = string(data)
		case 47:
			m.eos = string(data)
		}
		return nil
	})
}

func (m *spModel) normalizer(data []byte) error {
	return message(data, func(field protowire.Number, number uint64, data []byte) error {
		switch field {
		case 2:
			m.charsmap = data
		case 3:
			m.dummy = number != 0
		case 4:
			m.squeeze = number != 0
		case 5:
			m.escape = number != 0
		}
		return nil
	})
}

// readSentencePiece makes a tokenizer of a SentencePiece model. Control pieces are special tokens,
// and are matched in texts as the tokenizers of Hugging Face do.
func readSentencePiece(w *work, data []byte, c *settings) (*Tokenizer, error) {
	m, err := parseSentencePiece(w, data)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, len(m.pieces))
	var special []AddedToken
	unk := int32(-1)
	for i, p := range m.pieces {
		tokens[i] = p.text
		switch p.kind {
		case pieceUnknown:
			unk = int32(i)
			special = append(special, AddedToken{ID: int64(i), Content: p.text, Special: true})
		case pieceControl:
			special = append(special, AddedToken{ID: int64(i), Content: p.text, Special: true})
		}
	}
	if unk < 0 {
		return nil, fmt.Errorf("the model has no unknown piece")
	}
	t := &Tokenizer{vocab: listVocabulary(tokens)}
	if t.added, err = newAdded(w, t.vocab, special, nil); err != nil {
		return nil, err
	}
	n, err := newSPNormalizer(w, m)
	if err != nil {
		return nil, err
	}
	t.normal = n
	if t.model, err = m.model(w, t.vocab, unk); err != nil {
		return nil, err
	}
	t.decoder = []decoder{decodeEach{replaceString{blankMark, " "}}, decodeFallback{}, decodeFuse{}}
	if m.dummy && !m.suffix {
		t.decoder = append(t.decoder, decodeStrip{' ', 1, 0})
	}
	t.post = m.ends(t.vocab, c)
	return t, nil
}

// ends returns the tokens around a text. By default it is the token of the beginning, or if the
// model lacks that, the token of the end. tokenizer_config.json may ask for others.
func (m *spModel) ends(v *vocabulary, c *settings) []template {
	bos, hasBOS := v.id(m.bos)
	eos, hasEOS := v.id(m.eos)
	hasBOS = hasBOS && m.pieces[bos].kind == pieceControl
	hasEOS = hasEOS && m.pieces[eos].kind == pieceControl
	var t template
	if hasBOS && (c.AddBOS == nil || *c.AddBOS) {
		t.before = []int32{bos}
	}
	if hasEOS && (c.AddEOS == nil && !hasBOS || c.AddEOS != nil && *c.AddEOS) {
		t.after = []int32{eos}
	}
	return []template{t}
}

// model returns the model of the file's kind.
func (m *spModel) model(w *work, v *vocabulary, unk int32) (model, error) {
	switch m.kind {
	case kindUnigram:
		return m.unigram(w, v, unk), nil
	case kindBPE:
		return m.bpe(w, v, unk)
	}
	return nil, fmt.Errorf("the kind %d of SentencePiece models is not supported: 1 (unigram) and 2 (bpe) are", m.kind)
}

// unigram returns the model of scores. Symbols of the user score more than any way to split them.
func (m *spModel) unigram(w *work, v *vocabulary, unk int32) *unigram {
	u := &unigram{vocab: v, scores: make([]float64, len(m.pieces)), unk: unk, byteFallback: m.byteFallback, bytes: byteTokens(v), single: true}
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range m.pieces {
		if p.kind == pieceNormal {
			low, high = min(low, float64(p.score)), max(high, float64(p.score))
		}
	}
	use := &vocabulary{others: map[string]int32{}}
	for i, p := range m.pieces {
		u.scores[i] = float64(p.score)
		switch p.kind {
		case pieceUserDefined:
			u.scores[i] = float64(len(p.text))*high - 0.1
			use.others[p.text] = int32(i)
		case pieceNormal:
			use.others[p.text] = int32(i)
		}
	}
	u.trie = newTrie(w, use)
	u.penalty = float64(float32(low - unknownPenalty))
	return u
}
