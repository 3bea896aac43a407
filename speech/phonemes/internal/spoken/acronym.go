package spoken

import "strings"

// acronyms are capital letters that are said as a word.
var acronyms = wordSet("nasa nato unesco unicef opec aids nafta pin ram rom swat laser radar scuba fifa " +
	"uefa gif jpeg asean interpol basic cobol sim sars covid dos bios lan wan yaml json ikea lego ebola iso " +
	"asap nascar noaa")

// initials are longer capital letters that are said one by one in spite of their vowels.
var initials = wordSet("ucla aclu ieee usaf aarp ecmo eeoc naacp")

// shouted are short words that are common in titles and warnings of capital letters.
var shouted = wordSet("the and not for but you are was all can had her one our out day get has him his how " +
	"man new now old see two way who did its let put say she too use no do be to of in on at by if or as an " +
	"so up we my he go me am is this that with from they will what when your have been were said each which " +
	"their time stop free open sale note end yes big art map act more only help warn must into than then " +
	"some very just over also back good know take come here make like long")

// said are words that are written one way and said another.
var said = map[string]string{
	"ok": "okay", "mr": "mister", "w": "with", "jpeg": "jay peg", "ascii": "asky", "gif": "gif", "vs": "versus",
	"btw": "by the way", "ctrl": "control",
	"hm": "hum", "hmm": "hum", "mm": "um", "mmm": "um",
	"shh": "shush", "brr": "burr", "psst": "pist",
	"covid": "covid",
}

// word reads letters: a word, an acronym, a single letter.
func (r *reader) word() bool {
	l := r.look(0)
	s := strings.ToLower(l.text)
	stem, ending := strings.CutSuffix(l.text, "'s")
	if short, ok := strings.CutSuffix(l.text, "s"); ok && len(short) > 1 && strings.ToUpper(short) == short {
		stem, ending = strings.TrimSuffix(short, "'"), true // CDs, CD's
	}
	r.at++
	switch {
	case len(l.text) == 1:
		r.single(l)
	case len(stem) >= 2 && strings.ToUpper(stem) == stem && r.spelt(strings.ToLower(stem)):
		s = strings.ToLower(stem)
		if ending {
			s += "'s"
		}
		r.spell(s)
	case said[s] != "":
		r.say(said[s])
	case r.compound(l.text):
	case !vowelled(s):
		r.spell(s)
	default:
		r.say(s)
		if r.joined(0, '.') && (r.joined(1, letter) && (!r.look(1).capital() || l.upper())) {
			r.say("dot") // main.go
			r.at++
		}
	}
	return true
}

// compound reads a word that begins with at least three capital letters, of which the last one
// begins the rest: SQLite, HTMLElement.
func (r *reader) compound(s string) bool {
	n := 0
	for n < len(s) && 'A' <= s[n] && s[n] <= 'Z' {
		n++
	}
	if n < 3 || len(s)-n < 2 {
		return false
	}
	r.spell(s[:n-1])
	r.say(strings.ToLower(s[n-1:]))
	return true
}

// single reads a letter that stands alone.
func (r *reader) single(l lexeme) {
	switch {
	case l.text == "I", l.text == "O" && l.gap && r.look(0).kind != '.':
		r.say(strings.ToLower(l.text))
	case l.text == "a", l.text == "A" && r.look(0).kind == letter && r.look(0).gap && !lettered[r.beforeSingle()]:
		r.say("a")
	case l.text == "A" && len(r.out) == 0 && r.look(0).kind != '.':
		r.say("a")
	default:
		r.spell(l.text)
	}
}

// lettered are words before the name of a letter.
var lettered = wordSet("letter grade vitamin plan type option class group hepatitis point exhibit section " +
	"appendix part team level")

func (r *reader) beforeSingle() string {
	if l := r.look(-2); l.kind == letter {
		return strings.ToLower(l.text)
	}
	return ""
}

// spelt reports whether capital letters are said one by one. The reader is behind them.
func (r *reader) spelt(s string) bool {
	switch {
	case strings.Contains(s, "'"):
		return false
	case acronyms[s]:
		return false
	case !vowelled(s):
		return true
	case said[s] != "":
		return false
	}
	if shouted[s] && s != "it" && s != "us" && s != "am" {
		return false
	}
	for _, k := range []int{-3, -2, 0, 1} {
		n := r.look(k)
		if n.upper() && (len(n.text) > 3 || shouted[strings.ToLower(n.text)]) && !acronyms[strings.ToLower(n.text)] {
			return initials[s] // someone shouts
		}
	}
	return initials[s] || len(s) <= 3
}

// vowelled reports whether a word has a vowel letter.
func vowelled(s string) bool { return strings.ContainsAny(s, "aeiouy") }
