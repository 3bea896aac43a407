package letters

import (
	"bytes"
	_ "embed"
	"sort"
	"sync"
)

// Model pronounces words.
type Model struct {
	Classes [][]Phone // phones of a letter: none, one or two
	Roots   [Alphabet]uint32
	Nodes   []Node
	Words   Words
}

// Words is a sorted list of words with the places at which the trees are wrong.
type Words struct {
	Text    []byte   // the words one after the other
	Starts  []uint32 // where each word begins in Text, and the end
	Patches []byte   // pairs: index of a letter, its class
	Firsts  []uint32 // where the patches of each word begin, and the end
}

// Len returns the number of words.
func (w *Words) Len() int { return len(w.Starts) - 1 }

func (w *Words) word(i int) []byte { return w.Text[w.Starts[i]:w.Starts[i+1]] }

// Find returns the patches of a word.
func (w *Words) Find(word string) ([]byte, bool) {
	n := w.Len()
	b := []byte(word)
	i := sort.Search(n, func(i int) bool { return bytes.Compare(w.word(i), b) >= 0 })
	if i >= n || !bytes.Equal(w.word(i), b) {
		return nil, false
	}
	return w.Patches[w.Firsts[i]:w.Firsts[i+1]], true
}

// The model is made from CMUdict, whose licence is LICENSE.cmudict.
//
//go:generate go run ../train -dictionary ../../../../.cache/cmudict/cmudict.dict -o model.bin
//go:embed model.bin
var file []byte

// English returns the model that comes with the package. The first call unpacks it.
var English = sync.OnceValue(func() *Model {
	m, err := Decode(file)
	if err != nil {
		panic("letters: the embedded model: " + err.Error()) // a test decodes it
	}
	return m
})

// Known reports whether the list has the word.
func (m *Model) Known(word string) bool {
	_, ok := m.Words.Find(word)
	return ok
}

// Sounds returns the sounds of a word of letters a to z and apostrophes. The list of words comes
// first, then a word of the list with an ending, then the trees alone. A word with other bytes has
// no sounds.
func (m *Model) Sounds(word string) []Sound {
	if patches, ok := m.Words.Find(word); ok {
		return m.Guess(word, patches)
	}
	if s, ok := m.ending(word); ok {
		return s
	}
	return m.Guess(word, nil)
}

// Guess returns the sounds of a word by the trees. At the patched letters, the patches decide.
func (m *Model) Guess(word string, patches []byte) []Sound {
	var c Context
	if !c.Read(word) {
		return nil
	}
	sounds := make([]Sound, 0, len(word)+2)
	for i := range len(word) {
		var class byte
		if len(patches) > 0 && int(patches[0]) == i {
			class, patches = patches[1], patches[2:]
		} else {
			class = m.Next(&c)
		}
		for _, p := range m.Classes[class] {
			sounds = append(sounds, Sound{p, i})
		}
		c.Choose(class, m.Classes[class])
	}
	return sounds
}

// Next returns the class that the trees give the next letter of a context.
func (m *Model) Next(c *Context) byte { return c.decide(m.Nodes, m.Roots[c.Letter()]) }
