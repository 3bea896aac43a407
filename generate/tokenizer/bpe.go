package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A bpe is a model of byte pair encoding. Merges join characters to tokens: the first in the list
// comes first, and of several places the leftmost.
type bpe struct {
	vocab        *vocabulary
	merges       map[uint64]merge
	unk          int32 // -1: characters without a token are left out
	fuseUnk      bool
	byteFallback bool
	bytes        [256]int32 // ids of the byte tokens, with byteFallback; -1: none
	whole        bool       // words of the vocabulary are tokens whatever the merges say
	prefix       string     // before characters inside a word
	suffix       string     // after the last character of a word
}

// A merge is the token that a pair becomes, and the merge's place in the list.
type merge struct{ rank, id int32 }

func pair(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

// setMerges checks a list of pairs of tokens and makes the table of merges.
func (m *bpe) setMerges(pairs [][2]string) error {
	m.merges = make(map[uint64]merge, len(pairs))
	for i, p := range pairs {
		left, ok1 := m.vocab.id(p[0])
		right, ok2 := m.vocab.id(p[1])
		if !ok1 || !ok2 || !strings.HasPrefix(p[1], m.prefix) {
			return fmt.Errorf("merge %d joins %.60q and %.60q, and not both are tokens", i, p[0], p[1])
		}
		id, ok := m.vocab.id(p[0] + p[1][len(m.prefix):])
		if !ok {
			return fmt.Errorf("merge %d joins %.60q and %.60q to a token that the vocabulary lacks", i, p[0], p[1])
		}
		m.merges[pair(left, right)] = merge{int32(i), id}
	}
	return nil
}

func byteTokens(v *vocabulary) (table [256]int32) {
	for b := range table {
		id, ok := v.id(fmt.Sprintf("<0x%02X>", b))
		if !ok {
			id = -1
		}
		table[b] = id
	}
	return table
}

func (m *bpe) tokens(s *scratch, ids []int32, word string) []int32 {
	if m.whole {
		if id, ok := m.vocab.id(word); ok {
			s.place(0, len(word))
			return append(ids, id)
		}
	}
	s.symbols = s.symbols[:0]
	m.characters(s, word)
	s.merge(m.merges)
	at := 0
	for i := range s.symbols {
		if id, size := s.symbols[i].id, int(s.symbols[i].size); id >= 0 {
			s.place(at, at+size)
			ids = append(ids, id)
			at += size
		}
	}
	return ids
}

// characters fills the scratch with a symbol for each character of a word. Like the reference, it
// delays the unknown token of a character until a character with a token follows, so that byte
// tokens between the two come first. Sizes leave out characters without a symbol, so tokens after
// them are placed too early, as in the reference.
func (m *bpe) characters(s *scratch, word string) {
	s.work.steps(len(word))
	unknown := 0 // bytes of the unknown token that is delayed
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		c := word[i : i+size]
		if i > 0 && m.prefix != "" {
			c = m.prefix + c
		}
		i += size
		if i == len(word) && m.suffix != "" {
			c += m.suffix
		}
		id, ok := m.vocab.id(c)
		switch {
		case ok:
			if unknown > 0 {
				s.add(m.unk, unknown)
			}
			s.add(id, size)
			unknown = 0
		case m.byteFallback && m.addBytes(s, c), m.unk < 0:
		default:
			if unknown > 0 && !m.fuseUnk {
				s.add(m.unk, unknown)
				unknown = 0
			}
			unknown += size
		}
	}
	if unknown > 0 {
		s.add(m.unk, unknown)
	}
}

// addBytes adds the byte tokens of a character if the vocabulary has all of them.
func (m *bpe) addBytes(s *scratch, c string) bool {
	for i := range len(c) {
		if m.bytes[c[i]] < 0 {
			return false
		}
	}
	for i := range len(c) {
		s.add(m.bytes[c[i]], 1)
	}
	return true
}
