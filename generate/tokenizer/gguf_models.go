package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// unknown returns the id of the unknown token. Its lack is an error.
func (g *gguf) unknown() int32 {
	id, ok := g.roles["unknown"]
	if !ok {
		g.fail("the vocabulary has no unknown token: %sunknown_token_id may name it", ggufPrefix)
	}
	return id
}

// marked returns the steps from tokens with marks for blanks to text. With dummy, the blank before
// the text is left out.
func marked(dummy bool) []decoder {
	list := []decoder{decodeEach{replaceString{blankMark, " "}}, decodeFallback{}, decodeFuse{}}
	if dummy {
		list = append(list, decodeStrip{' ', 1, 0})
	}
	return list
}

// pieces makes the BPE of SentencePiece. Unlike there, unused tokens are tokens like others, and
// user-defined ones are cut out of the text before.
func (g *gguf) pieces() {
	unk, scored := g.unknown(), g.scored()
	if !scored || g.err != nil {
		return
	}
	g.addBOS = true
	kinds := slices.Clone(g.kinds)
	for i, kind := range kinds {
		if kind == pieceUnused {
			kinds[i] = pieceNormal
		}
	}
	g.t.model = &spBPE{
		vocab: g.t.vocab, kinds: kinds, ranks: scoreRanks(g.scores), user: newTrie(g.work, &vocabulary{}),
		unk: unk, byteFallback: true, bytes: byteTokens(g.t.vocab),
	}
	dummy := g.flag("add_space_prefix", true)
	var list normalizers
	if dummy {
		list = append(list, prepend{blankMark})
	}
	g.t.normal = append(list, replaceString{" ", blankMark})
	g.t.decoder = marked(dummy)
}

// unigram makes the model of scores. User-defined tokens have the score 0.
func (g *gguf) unigram() {
	unk, scored := g.unknown(), g.scored()
	if !scored || g.err != nil {
		return
	}
	g.addEOS = true
	sp := &spModel{escape: true}
	sp.dummy, sp.squeeze = g.flag("add_space_prefix", false), g.flag("remove_extra_whitespaces", false)
	use := &vocabulary{others: map[string]int32{}}
	scores := make([]float64, len(g.tokens))
	low := math.Inf(1)
	for i, text := range g.tokens {
		scores[i] = float64(g.scores[i])
		switch g.kinds[i] {
		case pieceNormal:
			low = min(low, scores[i])
		case pieceUserDefined:
			scores[i] = 0
			sp.pieces = append(sp.pieces, spPiece{text: text, kind: pieceUserDefined})
		case pieceUnused:
		default:
			continue
		}
		use.others[text] = int32(i)
	}
	g.t.model = &unigram{
		vocab: use, trie: newTrie(g.work, use), scores: scores, unk: unk, penalty: float64(float32(low - unknownPenalty)),
	}
	if sp.charsmap = g.charsmap(); g.err != nil {
		return
	}
	n, err := newSPNormalizer(g.work, sp)
	if err != nil {
		g.fail("%sprecompiled_charsmap: %w", ggufPrefix, err)
		return
	}
	g.t.normal = n
	g.t.decoder = marked(sp.dummy)
}

// charsmap returns the bytes of the map of characters, or nil if there is none.
func (g *gguf) charsmap() []byte {
	p := g.value("precompiled_charsmap")
	if p == nil {
		return nil
	}
	if p.Data == nil || p.Data.DType() != tensor.U8 && p.Data.DType() != tensor.I8 {
		g.mistyped(p, "array of u8")
		return nil
	}
	return p.Data.Bytes()
}

// words makes the model of BERT. Tokens that begin a word have the mark of a blank before them, and
// a word may have any length.
func (g *gguf) words() {
	unk := g.unknown()
	cls, ok1 := g.roles["bos"]
	sep, ok2 := g.roles["separator"]
	if !ok1 || !ok2 {
		g.fail("a text of this kind is between two tokens: %[1]sbos_token_id and %[1]sseperator_token_id are needed", ggufPrefix)
	}
	lower := g.flag("normalizer.lowercase", true)
	accents := g.flag("normalizer.strip_accents", lower)
	if g.err != nil {
		return
	}
	trie := newTrie(g.work, g.t.vocab)
	g.t.model = &wordPiece{trie: trie, first: trie.root(blankMark), unk: unk, most: math.MaxInt}
	list := normalizers{cleaned{}, ideographs{}}
	if accents {
		list = append(list, undecorated{}, stripAccents{})
	}
	if lower {
		list = append(list, lowercase{})
	}
	g.t.normal = list
	r := &reader{work: g.work}
	var err error
	if g.t.split, err = r.onePretokenizer("BertPreTokenizer", []byte(`{}`)); err != nil {
		g.fail("%w", err)
	}
	g.t.post = []template{{before: []int32{cls}, after: []int32{sep}, once: true}}
	g.t.decoder = marked(true)
}

// undecorated is the normalizer that replaces each character by the first one of its canonical
// decomposition: a letter without its accents, and of a Korean syllable the first consonant.
type undecorated struct{}

func (undecorated) normalize(w *work, text string) string {
	var b [utf8.UTFMax]byte
	return mapped(w, text, func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case r >= firstSyllable && r <= lastSyllable:
			return firstConsonant + (r-firstSyllable)/syllables
		}
		if d := norm.NFD.Properties(utf8.AppendRune(b[:0], r)).Decomposition(); d != nil {
			r, _ = utf8.DecodeRune(d)
		}
		return r
	})
}

// The Korean syllables of Unicode are in order of their consonants, with a number of syllables each.
const (
	firstSyllable, lastSyllable = 0xAC00, 0xD7A3
	firstConsonant              = 0x1100
	syllables                   = 588
)

// longest makes the model of RWKV: the longest token at each place. Its tokens are bytes with
// escapes.
func (g *gguf) longest() {
	for i, text := range g.tokens {
		if g.kinds[i] != pieceNormal {
			continue
		}
		plain, err := unescape(text)
		if err != nil {
			g.fail("token %d is %.60q: %w", i, text, err)
			return
		}
		g.work.hold(2 * len(plain))
		g.tokens[i] = toByteCharacters(plain)
	}
	if g.index(); g.err != nil {
		return
	}
	unk, ok := g.roles["unknown"]
	if !ok {
		unk = -1
	}
	g.t.model, g.t.bytes = &greedy{newTrie(g.work, g.t.vocab), unk}, true
	g.t.decoder = []decoder{decodeBytes{}}
}

// unescape returns the bytes of a token with the escapes \t, \n, \r and \xHH. Any other character
// after a backslash stands for itself.
func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		i++
		if i == len(text) {
			return "", fmt.Errorf("it ends with a backslash")
		}
		switch c := text[i]; c {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'x':
			x, err := strconv.ParseUint(text[i+1:min(i+3, len(text))], 16, 8)
			if err != nil || i+3 > len(text) {
				return "", fmt.Errorf("the escape \\x needs two digits")
			}
			b.WriteByte(byte(x))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// A greedy is the model that takes the longest token at each place. Characters without a token are
// unknown.
type greedy struct {
	trie trie
	unk  int32 // -1: they are left out
}

func (m *greedy) tokens(s *scratch, ids []int32, word string) []int32 {
	for at := 0; at < len(word); {
		id, end := m.trie.longestEntry(s.work, word, at)
		if end == at {
			_, size := utf8.DecodeRuneInString(word[at:])
			id, end = m.unk, at+size
		}
		if id >= 0 {
			s.place(at, end)
			ids = append(ids, id)
		}
		at = end
	}
	return ids
}
