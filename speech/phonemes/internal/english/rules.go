package english

import (
	"strings"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

// sound writes sound i and returns how many sounds after it are written with it.
func (w *writer) sound(i int) int {
	s := w.sounds[i]
	if !s.Vowel() {
		return w.consonant(i, s.Name())
	}
	switch s.Stress() {
	case letters.Primary:
		w.out.WriteString("ˈ")
	case letters.Secondary:
		if !w.beside(i) {
			w.out.WriteString("ˌ")
		}
	}
	symbol, more := w.vowelSymbols(i)
	w.out.WriteString(symbol)
	return more
}

// beside reports whether the vowel before or after vowel i has primary stress.
func (w *writer) beside(i int) bool {
	for k := i - 1; k >= 0; k-- {
		if w.vowel(k) {
			if w.primary(k) {
				return true
			}
			break
		}
	}
	for k := i + 1; k < len(w.sounds); k++ {
		if w.vowel(k) {
			return w.primary(k)
		}
	}
	return false
}

// consonant writes a consonant and returns how many sounds after it are written with it.
func (w *writer) consonant(i int, name string) int {
	next := w.name(i + 1)
	switch {
	case name == "T":
		return w.tee(i)
	case name == "N" && (next == "K" || next == "G") && w.begins(i, "nc", "nk", "ng", "nq", "nx"):
		w.out.WriteString("ŋ")
	case name == "Z" && w.before(i) == "tran":
		w.out.WriteString("s")
	case name == "Y" && (w.name(i-1) == "L" || w.name(i-1) == "N") && w.begins(i, "i"):
		w.out.WriteString("i")
	default:
		w.out.WriteString(consonants[name])
	}
	return 0
}

// tee writes a T: a flap between vowels, a glottal stop before a syllabic N.
func (w *writer) tee(i int) int {
	after := w.vowel(i-1) || w.name(i-1) == "R" && w.vowel(i-2)
	switch {
	case after && w.weak(i+1) && w.name(i+2) == "N" && !w.vowel(i+3) && w.syllabic(i):
		w.out.WriteString("ʔn̩")
		return 2
	case w.begins(i, "tive") && w.weak(i-1) && w.vowel(i+1):
		w.out.WriteString("tˌ")
	case after && w.weak(i+1):
		w.out.WriteString("ɾ")
	default:
		w.out.WriteString("t")
	}
	return 0
}

// syllabic reports whether the N after the T of sound i has no vowel, as in button and certain.
func (w *writer) syllabic(i int) bool {
	rest, double := w.spelt(i), strings.HasSuffix(w.before(i), "t")
	if tail, ok := strings.CutPrefix(rest, "tt"); ok {
		rest, double = "t"+tail, true
	}
	switch {
	case strings.HasPrefix(rest, "tain"):
		return w.name(i-1) == "ER"
	case strings.HasPrefix(rest, "ten"), strings.HasPrefix(rest, "ton"), strings.HasPrefix(rest, "tan"):
		return double
	}
	return false
}

func (w *writer) stressed(i int) bool { return w.vowel(i) && !w.weak(i) }

// vowelSymbols returns the symbols of vowel i and how many sounds after it they contain.
func (w *writer) vowelSymbols(i int) (string, int) {
	name, weak := w.name(i), w.weak(i)
	if w.name(i+1) == "R" {
		if symbols, ok := w.beforeR(i, name); ok {
			return symbols, 1
		}
	}
	switch name {
	case "ER":
		return w.er(i, weak), 0
	case "AH":
		if weak {
			return w.schwa(i)
		}
	case "IH":
		if weak {
			return w.weakI(i), 0
		}
	case "IY":
		if weak {
			return w.weakY(i), 0
		}
	case "AO", "AA":
		return w.open(i, name), 0
	case "UW":
		if weak && w.begins(i, "ul") {
			return "ʊ", 0
		}
	case "AE":
		if weak && i == 0 && w.begins(i, "ad", "acc", "att", "app", "ass") && w.prefix(i) {
			return "ɐ", 0
		}
	case "OW":
		if weak && w.prefix(i) && strings.HasSuffix(w.before(i), "pr") {
			return "ə", 0
		}
	case "EH":
		switch {
		case weak && entish(w.spelt(i)):
			return "ə", 0
		case i == 0 && weak && w.begins(i, "em", "en") && w.vowel(i+2):
			return "ɪ", 0
		}
	}
	return full[name], 0
}

// beforeR returns the symbols of a vowel and the R after it.
func (w *writer) beforeR(i int, name string) (string, bool) {
	switch name {
	case "AA":
		return "ɑːɹ", true
	case "AO":
		return w.or(i), true
	case "EH":
		if w.begins(i, "arr", "arit", "aris", "aric", "arol", "aro", "ara") {
			return "æɹ", true
		}
		return "ɛɹ", true
	case "IH", "IY":
		if w.begins(i, "eriod", "erien", "ero", "eory", "era") {
			return "iəɹ", true
		}
		return "ɪɹ", true
	case "UH":
		if w.vowel(i + 2) {
			return "ʊɹɹ", true
		}
		return "ʊɹ", true
	case "AW":
		return "aʊɚ", !w.vowel(i + 2)
	case "AY":
		return "aɪɚ", !w.vowel(i + 2)
	}
	return "", false
}

// or returns the symbols of AO R. The letters tell the two vowels apart.
func (w *writer) or(i int) string {
	before := w.before(i)
	switch {
	case w.begins(i, "oor", "oar", "our", "ory", "ories", "oria", "oral", "orce", "orum", "oring"),
		w.ends(i, "ore", "ores", "ored", "orer"), i > 0 && w.begins(i, "ore") && !w.vowel(i+2),
		w.begins(i, "ort") && strings.HasSuffix(before, "p"),
		w.begins(i, "orm") && strings.HasSuffix(before, "st"),
		w.begins(i, "ord") && (strings.HasSuffix(before, "c") || strings.HasSuffix(before, "f")):
		return "oːɹ"
	case w.begins(i, "orr", "orange", "orest"):
		return "ɔɹ"
	}
	return "ɔːɹ"
}

// er returns the symbols of ER.
func (w *writer) er(i int, weak bool) string {
	if weak && w.prefix(i) && w.vowel(i+1) && (strings.HasPrefix(w.word, "dir") || strings.HasPrefix(w.word, "der")) {
		return "ᵻɹ"
	}
	symbols := "ɜː"
	if weak {
		symbols = "ɚ"
	}
	if w.vowel(i + 1) {
		symbols += "ɹ"
	}
	return symbols
}

// open returns the symbol of AO or AA before another sound than R.
func (w *writer) open(i int, name string) string {
	switch {
	case w.begins(i, "alt", "ault", "als") && !w.begins(i, "also", "alth", "alter"):
		return "ɔ"
	case w.begins(i, "au", "aw", "all", "alk", "ough"):
		return "ɔː"
	case w.begins(i, "ant") && strings.HasSuffix(w.before(i), "w"):
		return "ɔ"
	case w.begins(i, "off") && !w.begins(i, "offi"), w.ends(i, "ont", "onts"), w.begins(i, "onst") && name == "AO",
		w.begins(i, "a") && strings.HasSuffix(w.before(i), "qu"):
		return "ɔ"
	case name == "AO" && w.begins(i, "og", "offi", "ock", "ox", "ol"):
		return "ɑː"
	case name == "AO" && w.begins(i, "o") && !w.begins(i, "ou", "oa"):
		return "ɔ"
	case name == "AA" && w.weak(i) && i == len(w.sounds)-1 && w.begins(i, "a"):
		return "ə"
	}
	return full[name]
}

// weakY returns the symbol of IY without stress.
func (w *writer) weakY(i int) string {
	switch {
	case i == len(w.sounds)-1, w.ends(i, "ies", "ied", "ys", "eys"), w.name(i+1) == "IH":
		return "i"
	case w.stressed(i + 1):
		if w.begins(i, "e") {
			return "iː"
		}
		return "ɪ"
	case w.name(i+1) == "AH":
		return "i"
	case w.begins(i, "e") && w.prefix(i):
		return w.prefixE(i)
	}
	return "ɪ"
}

// schwa returns the symbols of AH without stress and how many sounds after it they contain.
func (w *writer) schwa(i int) (string, int) {
	if w.inflection(i) {
		return "ᵻ", 0
	}
	switch {
	case w.begins(i, "u") && w.name(i+1) == "W" && w.name(i+2) == "AH":
		return "uː", 1
	case w.begins(i, "u"):
		return w.weakU(i), 0
	case w.begins(i, "a"):
		switch {
		case i == 0, w.primary(i+2) && !w.begins(i, "ar", "al", "am", "aw", "ach", "abil"):
			return "ɐ", 0
		case w.name(i+1) == "JH" && w.begins(i, "ag"), w.begins(i, "ace", "ain"):
			return "ɪ", 0
		}
		return "ə", 0
	case w.begins(i, "e"):
		return w.weakE(i), 0
	case w.begins(i, "i") && !(w.soft(i-1) && w.begins(i, "io", "ia", "ie")):
		return w.weakI(i), 0
	}
	return "ə", 0
}

// soft reports whether sound i is one of sh, zh, ch and j.
func (w *writer) soft(i int) bool {
	switch w.name(i) {
	case "SH", "ZH", "CH", "JH":
		return true
	}
	return false
}

func (w *writer) primary(i int) bool {
	return w.vowel(i) && w.sounds[i].Stress() == letters.Primary
}

// inflection reports whether vowel i is the one of a plural or of a past.
func (w *writer) inflection(i int) bool {
	if i != len(w.sounds)-2 {
		return false
	}
	before := w.name(i - 1)
	switch w.name(i + 1) {
	case "Z":
		return strings.HasSuffix(w.word, "s") && (w.soft(i-1) || before == "S" || before == "Z")
	case "D":
		return strings.HasSuffix(w.word, "ed") && (before == "T" || before == "D")
	}
	return false
}

// weakU returns the symbol of AH without stress that the letter u stands for.
func (w *writer) weakU(i int) string {
	switch {
	case w.name(i-1) == "Y" && w.begins(i, "ul"):
		return "ʊ"
	case w.name(i-1) == "Y", (w.name(i-1) == "JH" || w.name(i-1) == "CH") && !w.begins(i, "ure"):
		return "uː"
	case i == 0, w.begins(i, "ulg", "und", "uct", "ux", "umn"):
		return "ʌ"
	case w.begins(i, "ute", "uit"):
		return "ɪ"
	}
	return "ə"
}

// weakE returns the symbol of AH without stress that the letter e stands for.
func (w *writer) weakE(i int) string {
	switch {
	case w.prefix(i) && !w.begins(i, "er", "em"):
		return w.prefixE(i)
	case w.begins(i, "est", "et", "eme"):
		return "ɪ"
	}
	return "ə"
}

// prefixE returns the symbol of the letter e of be-, de-, e-, pre-, re- before a stressed vowel.
func (w *writer) prefixE(i int) string {
	next, before := w.name(i+1), w.before(i)
	if i > 0 && (next == "Z" || next == "V") || w.begins(i, "est", "eca", "eno") ||
		before == "b" && w.begins(i, "eg") || i == 0 && w.begins(i, "equ") ||
		next == "T" && before == "d" || (next == "P" || next == "F") && before == "pr" {
		return "ɪ"
	}
	return "ᵻ"
}

// weakI returns the symbol of IH without stress, or of AH that the letter i stands for.
func (w *writer) weakI(i int) string {
	name := w.name(i)
	switch {
	case w.inflection(i):
		return "ᵻ"
	case i == 0 && w.begins(i, "ex"), i == 0 && w.begins(i, "en", "em") && !w.vowel(i+2):
		return "ɛ"
	case w.begins(i, "e") && w.prefix(i):
		return w.prefixE(i)
	case w.begins(i, "ify", "ifi", "itive", "ible", "ibly", "ity", "ities", "ibil"):
		return "ᵻ"
	case name == "IH":
		return "ɪ"
	case w.begins(i, "il") && !w.vowel(i+2):
		return "ə"
	}
	return "ɪ"
}

// prefix reports whether vowel i is the first of the word and the next one has stress.
func (w *writer) prefix(i int) bool {
	for k := range i {
		if w.vowel(k) {
			return false
		}
	}
	for k := i + 1; k < len(w.sounds); k++ {
		if w.vowel(k) {
			return w.stressed(k)
		}
	}
	return false
}
