package tokenizer

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// A charsMap is a table of SentencePiece that maps sequences of characters to others: a double
// array of 32-bit units, and the texts that its values point to.
type charsMap struct {
	units []uint32
	texts string
}

// newCharsMap reads the size of the array in bytes, the array and the texts.
func newCharsMap(w *work, data []byte) (*charsMap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("the map of characters has %d bytes: 4 at least are needed", len(data))
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(size) > uint64(len(data)) || size%4 != 0 {
		return nil, fmt.Errorf("the map of characters says that its array has %d bytes, and %d follow", size, len(data))
	}
	w.hold(len(data))
	m := &charsMap{units: make([]uint32, size/4), texts: string(data[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return m, nil
}

// longest returns the bytes of the longest text of the map, at least 1.
func (m *charsMap) longest() int {
	most := 1
	for value := range strings.SplitSeq(m.texts, "\x00") {
		most = max(most, len(value))
	}
	return most
}

// prefixes calls f for each entry that begins a text and has at most maxToken bytes. The shortest
// comes first. If f returns false, prefixes stops.
func (m *charsMap) prefixes(w *work, text string, f func(length int, value string) bool) {
	if len(m.units) == 0 {
		return
	}
	at := offset(m.units[0])
	for i := range min(len(text), maxToken) {
		w.steps(1)
		at ^= uint32(text[i])
		if uint64(at) >= uint64(len(m.units)) {
			return
		}
		unit := m.units[at]
		if unit&(1<<31|0xFF) != uint32(text[i]) {
			return
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if uint64(at) >= uint64(len(m.units)) {
			return
		}
		if value, ok := m.text(w, m.units[at]&(1<<31-1)); ok && !f(i+1, value) {
			return
		}
	}
}

// offset returns the distance of a unit to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// text returns the text at a place, up to a zero byte.
func (m *charsMap) text(w *work, at uint32) (string, bool) {
	if uint64(at) > uint64(len(m.texts)) {
		return "", false
	}
	value, _, _ := strings.Cut(m.texts[at:], "\x00")
	w.steps(1 + len(value)/16)
	return value, true
}

// A precompiled normalizer looks up the graphemes of a text. Of a grapheme that the map lacks it
// looks up the characters, as the tokenizers of Hugging Face do.
type precompiled struct{ chars *charsMap }

// maxGrapheme is the most bytes of a grapheme that is looked up as a whole.
const maxGrapheme = 5

func (p precompiled) normalize(w *work, text string) string {
	b := w.builder(len(text))
	p.each(w, text, func(_, to string, _ bool) { b.WriteString(to) })
	return b.String()
}

// each calls f for the parts of a text, with their replacement and whether the map has them.
func (p precompiled) each(w *work, text string, f func(part, to string, has bool)) {
	for state := -1; text != ""; {
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		w.steps(len(cluster))
		if len(cluster) <= maxGrapheme {
			if value, ok := p.lookup(w, cluster); ok {
				f(cluster, value, true)
				continue
			}
		}
		for _, r := range cluster {
			c := string(r)
			if value, ok := p.lookup(w, c); ok {
				f(c, value, true)
				continue
			}
			f(c, c, false)
		}
	}
}

// lookup returns the value of the shortest entry that begins a text.
func (p precompiled) lookup(w *work, text string) (value string, ok bool) {
	p.chars.prefixes(w, text, func(_ int, v string) bool {
		value, ok = v, true
		return false
	})
	return value, ok
}
