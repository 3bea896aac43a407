// Package english turns English words into the phonemes that the program espeak-ng writes for
// American English, with code and data of its own.
package english

import (
	"strings"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

// consonants maps phones to symbols. Phones that depend on their neighbours have code of their own.
var consonants = map[string]string{
	"B": "b", "CH": "tʃ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "dʒ", "K": "k", "L": "l",
	"M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ", "V": "v",
	"W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}

// full maps vowels to symbols, wherever no rule gives another one.
var full = map[string]string{
	"AA": "ɑː", "AE": "æ", "AH": "ʌ", "AO": "ɔː", "AW": "aʊ", "AY": "aɪ", "EH": "ɛ", "ER": "ɜː", "EY": "eɪ",
	"IH": "ɪ", "IY": "iː", "OW": "oʊ", "OY": "ɔɪ", "UH": "ʊ", "UW": "uː",
}

// writer writes the sounds of one word.
type writer struct {
	word   string
	sounds []letters.Sound
	out    strings.Builder
}

// write returns the symbols of a word's sounds, a stress mark before each stressed vowel.
func write(word string, sounds []letters.Sound) string {
	w := writer{word: word, sounds: settle(word, sounds)}
	for i := 0; i < len(sounds); i++ {
		i += w.sound(i)
	}
	return w.out.String()
}

// settle gives a word without primary stress one, and takes stress away where the program has none:
// from a first vowel just before the primary one that is spelt e or i, and from a last y.
func settle(word string, sounds []letters.Sound) []letters.Sound {
	primary, first, seen := false, -1, 0
	for i, s := range sounds {
		if !s.Vowel() {
			continue
		}
		primary = primary || s.Stress() == letters.Primary
		if first < 0 || s.Stress() == letters.Secondary && sounds[first].Stress() == letters.Unstressed {
			first = i
		}
		if s.Stress() == letters.Secondary && weakens(word, sounds, i, seen) {
			sounds[i].Phone = s.With(letters.Unstressed)
		}
		seen++
	}
	if !primary && first >= 0 {
		sounds[first].Phone = sounds[first].With(letters.Primary)
	}
	return sounds
}

// weakens reports whether vowel i with secondary stress has none in speech. It is vowel number n.
func weakens(word string, sounds []letters.Sound, i, n int) bool {
	rest := word[min(sounds[i].At, len(word)):]
	if n > 0 && sounds[i].Name() == "IY" {
		switch rest {
		case "y", "ies", "ey", "es":
			return true
		case "ee":
			return n > 1
		}
	}
	if n > 0 && (sounds[i].Name() == "ER" && i == len(sounds)-1 || sounds[i].Name() == "EH" && entish(rest)) {
		return true
	}
	if n > 0 && sounds[i].Name() == "IY" && i+1 < len(sounds) && sounds[i+1].Vowel() {
		return true
	}
	if n > 0 || sounds[i].Name() != "IH" && sounds[i].Name() != "IY" && sounds[i].Name() != "AE" {
		return false
	}
	for _, s := range sounds[i+1:] {
		if s.Vowel() {
			return s.Stress() != letters.Unstressed
		}
	}
	return false
}

// name returns the name of a sound. It is empty outside the word.
func (w *writer) name(i int) string {
	if i < 0 || i >= len(w.sounds) {
		return ""
	}
	return w.sounds[i].Name()
}

func (w *writer) vowel(i int) bool {
	return i >= 0 && i < len(w.sounds) && w.sounds[i].Vowel()
}

// weak reports whether sound i is a vowel without stress.
func (w *writer) weak(i int) bool { return w.vowel(i) && w.sounds[i].Stress() == letters.Unstressed }

// spelt returns the letters from the letter of sound i on.
func (w *writer) spelt(i int) string { return w.word[min(w.sounds[i].At, len(w.word)):] }

// before returns the letters before the letter of sound i.
func (w *writer) before(i int) string { return w.word[:min(w.sounds[i].At, len(w.word))] }

// ends reports whether the letters from sound i on are one of the endings.
func (w *writer) ends(i int, endings ...string) bool {
	rest := w.spelt(i)
	for _, e := range endings {
		if rest == e {
			return true
		}
	}
	return false
}

// begins reports whether the letters from sound i on begin with one of the strings.
func (w *writer) begins(i int, starts ...string) bool {
	rest := w.spelt(i)
	for _, s := range starts {
		if strings.HasPrefix(rest, s) {
			return true
		}
	}
	return false
}

// entish reports whether letters are the ending of president or of documented.
func entish(rest string) bool {
	switch rest {
	case "ent", "ents", "ented", "enting":
		return true
	}
	return strings.HasPrefix(rest, "entation")
}
