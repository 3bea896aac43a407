package main

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

// list fills the list of words with all words that the model gets wrong, short ones first, so that
// the list serves the endings of longer words.
func list(m *letters.Model, all []*entry) {
	type row struct {
		word    string
		patches []byte
	}
	var rows []row
	lengths := map[int][]*entry{}
	for _, e := range all {
		lengths[len(e.word)] = append(lengths[len(e.word)], e)
	}
	for n := range 32 {
		var more []row
		for _, e := range lengths[n] {
			if s := m.Sounds(e.word); !same(e.phones, s, true) || !placed(m, e, s) {
				more = append(more, row{e.word, patches(m, e)})
			}
		}
		rows = append(rows, more...)
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.word, b.word) })
		w := letters.Words{Starts: []uint32{0}, Firsts: []uint32{0}}
		for _, r := range rows {
			w.Text, w.Patches = append(w.Text, r.word...), append(w.Patches, r.patches...)
			w.Starts, w.Firsts = append(w.Starts, uint32(len(w.Text))), append(w.Firsts, uint32(len(w.Patches)))
		}
		m.Words = w
	}
}

// patches returns the letters of a word where the trees are wrong, with their classes.
func patches(m *letters.Model, e *entry) []byte {
	var c letters.Context
	c.Read(e.word)
	var list []byte
	for i, class := range e.classes {
		guess := m.Next(&c)
		if !alike(m.Classes[class], m.Classes[guess]) {
			list = append(list, byte(i), class)
			guess = class
		}
		c.Choose(guess, m.Classes[guess])
	}
	return list
}

var weak = letters.Must("AH0 IH0")

// alikePhone reports whether two phones are the same. The two weak vowels are, because CMUdict has
// no rule for them.
func alikePhone(a, b letters.Phone) bool {
	return a == b || slices.Contains(weak, a) && slices.Contains(weak, b)
}

func alike(a, b []letters.Phone) bool { return slices.EqualFunc(a, b, alikePhone) }

// same reports whether sounds are the phones, with stress or without.
func same(phones []letters.Phone, sounds []letters.Sound, stress bool) bool {
	return slices.EqualFunc(phones, sounds, func(p letters.Phone, s letters.Sound) bool {
		return alikePhone(p, s.Phone) || !stress && base(p) == base(s.Phone)
	})
}

// placed reports whether the vowels among sounds are the ones of the right letters. Endings may
// move a vowel by a letter.
func placed(m *letters.Model, e *entry, sounds []letters.Sound) bool {
	n := 0
	for at, class := range e.classes {
		for _, p := range m.Classes[class] {
			if d := sounds[n].At - at; p.Vowel() && (d < -1 || d > 1) {
				return false
			}
			n++
		}
	}
	return true
}
