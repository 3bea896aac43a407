package spoken

import "strings"

// numeral is a number as it is written.
type numeral struct {
	whole, decimals string
	grouped         bool // the thousands are apart by commas
	size            int  // lexemes
}

// numeral reads a number that begins at lexeme n.
func (r *reader) numeral(n int) (numeral, bool) {
	l := r.look(n)
	if l.kind != digit {
		return numeral{}, false
	}
	x := numeral{whole: l.text, size: 1}
	for len(l.text) <= 3 && len(x.whole) < 18 {
		group := r.look(n + x.size + 1)
		if !r.joined(n+x.size, ',') || !r.joined(n+x.size+1, digit) || len(group.text) != 3 {
			break
		}
		x.whole += group.text
		x.grouped = true
		x.size += 2
	}
	if r.joined(n+x.size, '.') && r.joined(n+x.size+1, digit) {
		x.decimals = r.look(n + x.size + 1).text
		x.size += 2
	}
	return x, true
}

// words returns the words of a number. A year is said as such.
func (x numeral) words() string {
	switch {
	case x.decimals != "":
		return Cardinal(x.whole) + " point " + each(x.decimals)
	case x.year():
		return Year(x.whole)
	}
	return Cardinal(x.whole)
}

// cardinal returns the words of a number that is no year.
func (x numeral) cardinal() string {
	if x.decimals != "" {
		return x.words()
	}
	return Cardinal(x.whole)
}

func (x numeral) year() bool {
	return len(x.whole) == 4 && !x.grouped && x.decimals == "" && x.whole >= "1100" && x.whole < "2100"
}

// one reports whether the number is one, so that a unit after it is singular.
func (x numeral) one() bool { return x.whole == "1" && x.decimals == "" }

// number reads what begins with digits.
func (r *reader) number() bool {
	if r.series() || r.isoDate() || r.slashDate() || r.dayMonth() || r.phone() || r.clock() ||
		r.fractions() || r.suffixed() || r.feet() {
		return true
	}
	x, _ := r.numeral(0)
	if r.span(x) || r.amount(x) || r.unit(x) {
		return true
	}
	if b := r.before(); len(x.whole) == 3 && x.decimals == "" && (b == "dial" || b == "call") {
		r.say(each(x.whole))
		r.at += x.size
		return true
	}
	r.at += x.size
	if r.joined(0, '%') {
		r.say(x.cardinal() + " percent")
		r.at++
		return true
	}
	if l := r.look(0); l.text == "x" && r.look(1).kind == digit {
		r.say(x.cardinal() + " by")
		r.at++
		return true
	}
	r.say(x.words())
	return true
}

// signed reads a minus or plus sign of a number.
func (r *reader) signed() bool {
	l := r.look(0)
	if !r.joined(1, digit) && !(r.joined(1, '$') && r.joined(2, digit)) {
		return false
	}
	before := r.look(-1)
	free := l.gap || before.kind == '(' || before.kind == '=' || before.kind == '['
	switch {
	case (l.kind == '-' || l.kind == '−' || l.kind == '–') && free:
		r.say("minus")
	case l.kind == '.' && free && r.joined(1, digit):
		r.say("point " + each(r.look(1).text))
		r.at++
	default:
		return false
	}
	r.at++
	return true
}

// series reads numbers with several stops between them: versions and addresses.
func (r *reader) series() bool {
	n := 1
	for n < 9 && r.joined(n, '.') && r.joined(n+1, digit) {
		n += 2
	}
	if n < 5 {
		return false
	}
	words := Cardinal(r.look(0).text)
	for k := 2; k < n; k += 2 {
		words += " point " + Cardinal(r.look(k).text)
	}
	r.say(words)
	r.at += n
	return true
}

// phone reads groups of digits with hyphens between them, as telephone numbers have them.
func (r *reader) phone() bool {
	n, groups := 1, 1
	for groups < 6 && r.joined(n, '-') && r.joined(n+1, digit) {
		n += 2
		groups++
	}
	last := r.look(n - 1)
	if groups < 2 || groups == 2 && (len(r.look(0).text) != 3 || len(last.text) != 4) || groups > 5 {
		return false
	}
	for k := 0; k < n; k += 2 {
		if k > 0 {
			r.mark(",")
		}
		r.say(each(r.look(k).text))
	}
	r.at += n
	return true
}

// areaCode reads the area code of a telephone number in brackets.
func (r *reader) areaCode() bool {
	if r.look(0).kind != '(' || len(r.look(1).text) != 3 || !r.joined(2, ')') || len(r.look(3).text) != 3 ||
		r.look(1).kind != digit || r.look(3).kind != digit || !r.joined(4, '-') {
		return false
	}
	r.say(each(r.look(1).text))
	r.mark(",")
	r.at += 3
	return true
}

// feet reads a height in feet and inches.
func (r *reader) feet() bool {
	if !r.joined(1, '\'') || !r.joined(2, digit) || !r.joined(3, '"') {
		return false
	}
	r.say(Cardinal(r.look(0).text) + " foot " + Cardinal(r.look(2).text))
	r.at += 4
	return true
}

// fractions reads a fraction, with a whole number before it or not.
func (r *reader) fractions() bool {
	if r.joined(1, '/') && r.joined(2, digit) && !r.joined(3, '/') {
		r.say(fraction(r.look(0).text, r.look(2).text))
		r.at += 3
		return true
	}
	if n := r.look(1); n.kind == digit && r.joined(2, '/') && r.joined(3, digit) && !r.joined(4, '/') {
		part := fraction(n.text, r.look(3).text)
		if rest, ok := strings.CutPrefix(part, "one "); ok {
			part = "a " + rest
		}
		r.say(Cardinal(r.look(0).text) + " and " + part)
		r.at += 4
		return true
	}
	for sign, part := range map[rune]string{'½': "a half", '¼': "a quarter", '¾': "three quarters"} {
		if r.look(1).kind == sign {
			r.say(Cardinal(r.look(0).text) + " and " + part)
			r.at += 2
			return true
		}
	}
	return false
}

// suffixed reads digits with letters right behind them: ordinals, decades, and names such as 3D.
func (r *reader) suffixed() bool {
	if !r.joined(1, letter) {
		return false
	}
	digits, end := r.look(0).text, strings.ToLower(r.look(1).text)
	switch end {
	case "st", "nd", "rd", "th":
		r.say(Ordinal(digits))
	case "s":
		r.say(decades(digits))
	case "d", "g", "k", "h", "p":
		if len(digits) > 2 && end != "p" || r.look(1).text == "h" || r.look(1).text == "g" {
			return false
		}
		r.say(Cardinal(digits))
		r.spell(end)
	default:
		return false
	}
	r.at += 2
	return true
}

// decade reads an apostrophe before the two digits of a decade.
func (r *reader) decade() bool {
	if k := r.look(0).kind; k != '\'' && k != '‘' || !r.joined(1, digit) || len(r.look(1).text) != 2 {
		return false
	}
	r.at++
	if r.joined(1, letter) && r.look(1).text == "s" {
		return r.suffixed()
	}
	return r.number()
}

// span reads two numbers with a dash between them.
func (r *reader) span(x numeral) bool {
	dash := r.look(x.size)
	if dash.gap || dash.kind != '-' && dash.kind != '–' {
		return false
	}
	y, ok := r.numeral(x.size + 1)
	if !ok || r.look(x.size+1).gap {
		return false
	}
	words := x.cardinal()
	if x.year() && (y.year() || len(y.whole) == 2) {
		words = x.words()
	}
	r.say(words + " to")
	r.at += x.size + 1
	return true
}
