package tokenizer

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A wordPiece is the model of BERT: the longest token that begins a word, then the longest that
// continues it.
type wordPiece struct {
	trie   trie
	first  int32 // root of the tokens that begin a word; -1 if there are none
	inner  int32 // root of the tokens that continue a word; -1 if there are none
	unk    int32
	prefix string // of tokens that continue a word
	most   int    // longer words, in characters, are unknown
}

func (m *wordPiece) tokens(s *scratch, ids []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > m.most {
		s.place(0, len(word))
		return append(ids, m.unk)
	}
	from := len(ids)
	for at := 0; at < len(word); {
		id, end := m.longest(s.work, word, at)
		if end < 0 {
			s.places = s.places[:0]
			s.place(0, len(word))
			return append(ids[:from], m.unk)
		}
		s.place(at, end)
		ids = append(ids, id)
		at = end
	}
	return ids
}

// newWordPiece makes the model of a vocabulary.
func newWordPiece(w *work, v *vocabulary, unk int32, prefix string, most int) (*wordPiece, error) {
	if v.longest > maxToken {
		return nil, fmt.Errorf("a token has %d bytes: at most %d are allowed", v.longest, maxToken)
	}
	m := &wordPiece{trie: newTrie(w, v), unk: unk, prefix: prefix, most: most}
	m.inner = m.trie.root(prefix)
	return m, nil
}

// longest returns the longest token at a place of a word, or an end of -1.
func (m *wordPiece) longest(w *work, word string, at int) (id int32, end int) {
	node := m.first
	if at > 0 {
		node = m.inner
	}
	end = -1
	i := at
	for ; i < len(word) && node >= 0; i++ {
		if node = m.trie.step(node, word[i]); node >= 0 && m.trie.ends[node] >= 0 {
			id, end = m.trie.ends[node], i+1
		}
	}
	w.steps(1 + i - at)
	return id, end
}

// A wordLevel is the model with whole words as tokens.
type wordLevel struct {
	vocab *vocabulary
	unk   int32
}

func (m *wordLevel) tokens(s *scratch, ids []int32, word string) []int32 {
	id, ok := m.vocab.id(word)
	if !ok {
		id = m.unk
	}
	s.place(0, len(word))
	return append(ids, id)
}

// A unigram is the model of SentencePiece. It splits a word into the tokens with the greatest sum
// of scores.
type unigram struct {
	vocab        *vocabulary
	trie         trie
	scores       []float64
	unk          int32
	penalty      float64 // the score of a character without a token
	byteFallback bool
	bytes        [256]int32
	single       bool // sums are rounded to 32 bits, as SentencePiece does
}

// A path is the best way to a place of a word: its score, and its last token with the place where
// that begins. From is -1 if no way is known yet.
type path struct {
	score float64
	from  int32
	id    int32
}

func (m *unigram) tokens(s *scratch, ids []int32, word string) []int32 {
	s.paths = append(s.paths[:0], make([]path, len(word)+1)...)
	for i := range s.paths {
		s.paths[i].from = -1
	}
	m.viterbi(s.work, s.paths, word)
	from := len(ids)
	for end := len(word); end > 0; {
		start := int(s.paths[end].from)
		for unk := s.paths[end].id == m.unk; unk && start > 0 && s.paths[start].id == m.unk; {
			start = int(s.paths[start].from)
		}
		before := len(ids)
		ids = m.backwards(ids, word[start:end])
		for range len(ids) - before {
			s.place(start, end)
		}
		end = start
	}
	slices.Reverse(ids[from:])
	slices.Reverse(s.places)
	return ids
}

func (m *unigram) viterbi(w *work, paths []path, word string) {
	reach := func(end int, p path) {
		if m.single {
			p.score = float64(float32(p.score))
		}
		if old := &paths[end]; old.from < 0 || p.score > old.score {
			*old = p
		}
	}
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		here, single := paths[at].score, false
		node, i := int32(0), at
		for ; i < len(word); i++ {
			node = m.trie.step(node, word[i])
			if node < 0 {
				break
			}
			if id := m.trie.ends[node]; id >= 0 {
				reach(i+1, path{here + m.scores[id], int32(at), id})
				single = single || i+1 == at+size
			}
		}
		w.steps(1 + i - at)
		if !single {
			reach(at+size, path{here + m.penalty, int32(at), m.unk})
		}
		at += size
	}
}

// backwards appends the ids of a token of the best way, the last first.
func (m *unigram) backwards(ids []int32, token string) []int32 {
	if id, ok := m.vocab.id(token); ok {
		return append(ids, id)
	}
	if m.byteFallback {
		from := len(ids)
		for i := len(token) - 1; i >= 0; i-- {
			id := m.bytes[token[i]]
			if id < 0 {
				return append(ids[:from], m.unk)
			}
			ids = append(ids, id)
		}
		return ids
	}
	return append(ids, m.unk)
}

// A trie finds the tokens that begin at a place of a text.
type trie struct {
	next map[uint64]int32 // node and byte to node
	ends []int32          // id of the token that ends in a node, or -1
}

// nodeBytes is the memory of a node of a trie.
const nodeBytes = 48

func newTrie(w *work, v *vocabulary) trie {
	t := trie{map[uint64]int32{}, []int32{-1}}
	for token, id := range v.all() {
		w.steps(len(token))
		node := int32(0)
		for i := range len(token) {
			key := uint64(uint32(node))<<8 | uint64(token[i])
			next, ok := t.next[key]
			if !ok {
				w.hold(nodeBytes)
				next = int32(len(t.ends))
				t.next[key] = next
				t.ends = append(t.ends, -1)
			}
			node = next
		}
		t.ends[node] = id
	}
	t.ends[0] = -1
	return t
}

// root returns the node of a prefix, or -1 if no token has it.
func (t *trie) root(prefix string) int32 {
	node := int32(0)
	for i := 0; i < len(prefix) && node >= 0; i++ {
		node = t.step(node, prefix[i])
	}
	return node
}

func (t *trie) step(node int32, b byte) int32 {
	next, ok := t.next[uint64(uint32(node))<<8|uint64(b)]
	if !ok {
		return -1
	}
	return next
}

// blankMark stands for a blank in vocabularies of SentencePiece.
const blankMark = "▁"
