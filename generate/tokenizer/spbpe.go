package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// A spBPE is the BPE of SentencePiece. Of the neighbours that form a piece, the piece with the
// greatest score is joined first, and of several places the leftmost. Symbols of the user stay as
// they are, and unused pieces are split again.
type spBPE struct {
	vocab        *vocabulary
	kinds        []uint8
	ranks        []int32 // the rank of a piece by its score, the greatest first
	user         trie
	unk          int32
	byteFallback bool
	bytes        [256]int32
}

func (m *spModel) bpe(w *work, v *vocabulary, unk int32) (*spBPE, error) {
	b := &spBPE{vocab: v, user: newTrie(w, m.users()), unk: unk,
		byteFallback: m.byteFallback, bytes: byteTokens(v)}
	if m.suffix {
		return nil, fmt.Errorf("treat_whitespace_as_suffix of a bpe model is not supported")
	}
	scores := make([]float32, len(m.pieces))
	for i, p := range m.pieces {
		scores[i] = p.score
		b.kinds = append(b.kinds, uint8(min(p.kind, math.MaxUint8)))
	}
	b.ranks = scoreRanks(scores)
	return b, nil
}

// scoreRanks returns the ranks of scores, the greatest first. Equal scores have the same rank.
func scoreRanks(scores []float32) []int32 {
	sorted := slices.Clone(scores)
	for i := range sorted {
		sorted[i] = -sorted[i]
	}
	slices.Sort(sorted)
	ranks, at := make([]int32, len(scores)), 0
	for i, s := range scores {
		// Most vocabularies are in the order of their scores.
		if at+1 < len(sorted) && sorted[at] < -s && sorted[at+1] == -s {
			at++
		} else {
			at, _ = slices.BinarySearch(sorted, -s)
		}
		ranks[i] = int32(at)
	}
	return ranks
}

// A part is a run of a word that one token covers. A part joined to its left neighbour has size 0.
type part struct {
	from, size, prev, next int32
	frozen                 bool
}

// A joined is the two parts of an unused piece.
type joined struct{ left, right string }

func (b *spBPE) tokens(s *scratch, ids []int32, word string) []int32 {
	parts := b.parts(s.work, word)
	apart := map[string]joined{}
	s.heap = s.heap[:0]
	for i := range len(parts) - 1 {
		b.offer(s, parts, word, apart, int32(i))
	}
	n := int32(len(parts))
	for len(s.heap) > 0 {
		s.work.steps(1)
		top := s.pop()
		at := int32(uint32(top.key))
		left := &parts[at]
		if left.size == 0 || left.next >= n || left.size+parts[left.next].size != top.id {
			continue
		}
		right := &parts[left.next]
		left.size += right.size
		left.next = right.next
		right.size = 0
		if left.next < n {
			parts[left.next].prev = at
			b.offer(s, parts, word, apart, at)
		}
		if left.prev >= 0 {
			b.offer(s, parts, word, apart, left.prev)
		}
	}
	for _, p := range parts {
		if p.size > 0 {
			ids = b.finish(s, ids, int(p.from), word[p.from:p.from+p.size], apart)
		}
	}
	return ids
}

// parts returns the characters and the symbols of the user of a word.
func (b *spBPE) parts(w *work, word string) []part {
	list := make([]part, 0, len(word))
	for at := 0; at < len(word); {
		end := b.user.longest(w, word, at)
		frozen := end > at
		if !frozen {
			_, size := utf8.DecodeRuneInString(word[at:])
			end = at + size
		}
		n := int32(len(list))
		list = append(list, part{int32(at), int32(end - at), n - 1, n + 1, frozen})
		at = end
	}
	return list
}

// offer puts a part and its neighbour on the heap if their text is a piece.
func (b *spBPE) offer(s *scratch, parts []part, word string, apart map[string]joined, at int32) {
	left := &parts[at]
	right := &parts[left.next]
	if left.frozen || right.frozen {
		return
	}
	text := word[left.from : right.from+right.size]
	s.work.steps(1 + len(text)/16)
	id, ok := b.vocab.id(text)
	if !ok {
		return
	}
	switch b.kinds[id] {
	case pieceNormal, pieceUserDefined:
	case pieceUnused:
		apart[text] = joined{word[left.from:right.from], word[right.from : right.from+right.size]}
	default:
		return
	}
	s.push(candidate{uint64(uint32(b.ranks[id]))<<32 | uint64(uint32(at)), left.size + right.size})
}

// finish appends the ids of a part that begins at a place of the word.
func (b *spBPE) finish(s *scratch, ids []int32, at int, text string, apart map[string]joined) []int32 {
	id, ok := b.vocab.id(text)
	if ok && b.kinds[id] == pieceUnused {
		if j, has := apart[text]; has {
			ids = b.finish(s, ids, at, j.left, apart)
			return b.finish(s, ids, at+len(j.left), j.right, apart)
		}
	}
	if ok && (b.kinds[id] == pieceNormal || b.kinds[id] == pieceUserDefined || b.kinds[id] == pieceUnused) {
		s.place(at, at+len(text))
		return append(ids, id)
	}
	if b.byteFallback {
		from, places := len(ids), len(s.places)
		for i := range len(text) {
			id := b.bytes[text[i]]
			if id < 0 {
				s.places = s.places[:places]
				s.place(at, at+len(text))
				return append(ids[:from], b.unk)
			}
			s.place(at, at+len(text))
			ids = append(ids, id)
		}
		return ids
	}
	if n := len(ids); n > 0 && ids[n-1] == b.unk {
		if n := len(s.places); n > 0 {
			s.places[n-1].to = int32(at + len(text))
		}
		return ids // unknown characters in a row are one token
	}
	s.place(at, at+len(text))
	return append(ids, b.unk)
}
