package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// ggufMergeBytes is the memory of a merge, and of the texts of one that makes no token.
const ggufMergeBytes = 64

// A ggufBPE is a model of byte pair encoding with merges that may make tokens outside the
// vocabulary. Any of these left at the end falls to its characters, and a character without a token
// is left out.
type ggufBPE struct {
	bpe
	own    *vocabulary // without the tokens of merges alone
	extras []string    // texts of the ids after the vocabulary; the first stands for any character without a token
	whole  bool        // words of the vocabulary are tokens whatever the merges say
	lines  bool        // the same for words of line ends alone
}

// bytePairs makes a model of byte pair encoding.
func (g *gguf) bytePairs(s *ggufSplit) {
	if g.err != nil {
		return
	}
	merges, ok := g.texts("merges")
	if !ok {
		g.fail("%smerges is missing: this kind of tokenizer needs it", ggufPrefix)
		return
	}
	m := &ggufBPE{own: g.t.vocab, whole: s.whole, lines: s.lines}
	m.bpe = bpe{vocab: g.t.vocab, unk: int32(len(g.tokens)), byteFallback: s.raw}
	m.extras = []string{""}
	if s.raw {
		m.bytes = byteTokens(g.t.vocab)
	}
	if g.setMerges(m, merges); g.err != nil {
		return
	}
	var list pretokenizers
	for _, text := range s.by {
		by, err := pattern(g.work, text)
		if err != nil {
			g.fail("%spre: %w", ggufPrefix, err)
			return
		}
		list = append(list, &cut{by, isolated})
	}
	g.t.model, g.t.split, g.addBOS, g.alwaysBOS = m, list, s.bos, s.lines
	if !s.raw {
		g.t.bytes, g.t.decoder = true, []decoder{decodeBytes{}}
		return
	}
	g.t.normal, g.t.decoder = replaceString{" ", blankMark}, marked(false)
}

// setMerges makes the table of merges. A merge is two tokens with a blank between. Of equal merges
// the first counts.
func (g *gguf) setMerges(m *ggufBPE, list []string) {
	g.work.hold(ggufMergeBytes * len(list))
	m.merges = make(map[uint64]merge, len(list))
	added := map[string]int32{}
	id := func(text string) int32 {
		if id, ok := m.own.id(text); ok {
			return id
		}
		id, ok := added[text]
		if !ok {
			g.work.hold(ggufMergeBytes + len(text))
			text = strings.Clone(text)
			id = int32(len(g.tokens) + len(m.extras))
			added[text] = id
			m.extras = append(m.extras, text)
		}
		return id
	}
	for i, text := range list {
		g.work.steps(1 + len(text))
		at := -1
		if len(text) > 1 {
			at = 1 + strings.IndexByte(text[1:], ' ')
		}
		switch {
		case at < 1 || at+1 == len(text):
			g.fail("merge %d is %.60q: two tokens with a blank between are needed", i, text)
			return
		case len(text) > maxToken:
			g.fail("merge %d makes a token of %d bytes: at most %d are allowed", i, len(text)-1, maxToken)
			return
		}
		key := pair(id(text[:at]), id(text[at+1:]))
		if _, ok := m.merges[key]; !ok {
			m.merges[key] = merge{int32(i), id(text[:at] + text[at+1:])}
		}
	}
	if len(added) == 0 {
		return
	}
	all := &vocabulary{others: added}
	g.work.hold(ggufMergeBytes * m.own.len())
	for text, id := range m.own.all() {
		all.others[text] = id
	}
	m.vocab = all
}

func (m *ggufBPE) tokens(s *scratch, ids []int32, word string) []int32 {
	if m.whole || m.lines && strings.Trim(word, "\n") == "" {
		if id, ok := m.own.id(word); ok {
			s.place(0, len(word))
			return append(ids, id)
		}
	}
	from := len(ids)
	ids = m.bpe.tokens(s, ids, word)
	for i := from; i < len(ids); i++ {
		if int(ids[i]) >= int(m.unk) {
			s.extra = append(s.extra[:0], ids[i:]...)
			var places []span
			if s.placed {
				places = slices.Clone(s.places[i-from:])
				s.places = s.places[:i-from]
			}
			return m.fall(s, ids[:i], s.extra, places)
		}
	}
	return ids
}

// fall appends ids, and places if there are any. Ids after the vocabulary fall to the characters of
// their texts.
func (m *ggufBPE) fall(s *scratch, ids, list []int32, places []span) []int32 {
	for i, id := range list {
		var at span
		if places != nil {
			at = places[i]
		}
		if id < m.unk {
			s.place(int(at.from), int(at.to))
			ids = append(ids, id)
			continue
		}
		from := int(at.from)
		for text := m.extras[id-m.unk]; text != ""; {
			_, size := utf8.DecodeRuneInString(text)
			c := text[:size]
			text = text[size:]
			if id, ok := m.own.id(c); ok {
				s.place(from, from+size)
				ids = append(ids, id)
			} else {
				ids = m.fallBytes(s, ids, from, c)
			}
			from += size
		}
	}
	return ids
}

// fallBytes appends the byte tokens of a character that begins at a place of the word.
func (m *ggufBPE) fallBytes(s *scratch, ids []int32, from int, c string) []int32 {
	for i := 0; m.byteFallback && i < len(c); i++ {
		if id := m.bytes[c[i]]; id >= 0 {
			s.place(from, from+len(c))
			ids = append(ids, id)
		}
	}
	return ids
}
