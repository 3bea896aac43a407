package spoken

import "strings"

// abbreviations are words that a stop shortens. A word in capital letters here needs a capital
// letter.
var abbreviations = map[string]string{
	"mr": "mister", "mrs": "missus", "ms": "miz", "prof": "professor", "jr": "junior", "sr": "senior",
	"etc": "et cetera",
	"vs":  "versus", "fig": "figure", "figs": "figures", "vol": "volume", "ed": "edition", "mt": "mount",
	"inc": "incorporated", "ltd": "limited",
	"corp": "corporation", "dept": "department", "gen": "general", "col": "colonel", "capt": "captain",
	"lt":  "lieutenant",
	"sgt": "sergeant", "rev": "reverend", "hon": "honorable", "gov": "governor", "sen": "senator",
	"rep":  "representative",
	"pres": "president", "approx": "approximately", "ave": "avenue", "blvd": "boulevard", "rd": "road",
	"eq": "equation", "ch": "chapter",
	"sec": "section", "messrs": "messers", "mme": "madam", "cf": "compare", "ca": "circa", "viz": "namely",
	"est": "established",
	"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thurs": "thursday",
	"fri": "friday", "sat": "saturday", "sun": "sunday", "govt": "government", "assn": "association",
	"univ": "university", "al": "al",
	"pp": "pages", "co": "company", "bros": "brothers", "ext": "extension", "tel": "telephone",
	"max": "maximum", "min": "minimum", "misc": "miscellaneous",
}

// bare are abbreviations that need no stop.
var bare = wordSet("mr mrs ms dr vs etc prof jr ltd")

// titled are abbreviations that only stand before a name or a number.
var titled = wordSet("gen col hon rev sen rep gov ed fig figs sec est ch co sat sun wed mon pres ms")

// abbreviation reads a shortened word.
func (r *reader) abbreviation() bool {
	l := r.look(0)
	s := strings.ToLower(l.text)
	stop := r.joined(1, '.')
	n := pick(stop, 2, 1)
	next := r.look(n)
	word, ok := abbreviations[s]
	switch {
	case !stop && !bare[s], r.look(-1).kind == '/' && !l.gap, !ok && s != "dr" && s != "st" && s != "no" && s != "p":
		return false
	case s == "dr":
		word = choose(r.look(-1).capital() && !next.capital(), "drive", "doctor")
	case s == "st":
		word = choose(r.look(-1).capital() && !next.capital() || r.look(-1).kind == digit, "street", "saint")
	case s == "no" || s == "p":
		if next.kind != digit {
			return false
		}
		word = choose(s == "no", "number", "page")
	case titled[s]:
		if !next.capital() && next.kind != digit && !(s == "co" && next.kind != letter) || s == "ms" && !l.capital() {
			return false
		}
	}
	r.say(word)
	r.at++
	if stop && !r.last(0) {
		r.at++
	}
	return true
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// dotted reads single letters with stops behind them: initials, U.S., e.g. and the like.
func (r *reader) dotted() bool {
	if r.look(0).text == "Ph" && r.joined(1, '.') && r.look(2).text == "D" && r.joined(3, '.') {
		r.spell("phd")
		r.at += pick(r.last(3), 3, 4)
		return true
	}
	if len(r.look(0).text) != 1 || !r.joined(1, '.') {
		return false
	}
	letters, n := r.look(0).text, 1
	for n < 20 && r.joined(n, '.') && r.joined(n+1, letter) && len(r.look(n+1).text) == 1 {
		letters += r.look(n + 1).text
		n += 2
	}
	if r.joined(n, letter) {
		return false
	}
	switch s := strings.ToLower(letters); {
	case s == "eg":
		r.say("for example")
	case s == "ie":
		r.say("that is")
	case len(letters) > 1:
		r.spell(letters)
	case r.initial():
		r.spell(letters)
	default:
		return false
	}
	r.at += n
	if r.joined(0, '.') && !r.last(0) {
		r.at++
	}
	return true
}

// initial reports whether the next lexeme is the initial of a name.
func (r *reader) initial() bool {
	l, next := r.look(0), r.look(2)
	return l.capital() && l.text != "I" && (l.gap || r.look(-1).kind == '(') && next.gap && next.capital()
}

// counted are words before numbers of parts.
var counted = wordSet("chapter part section volume book act scene title phase type war class article " +
	"appendix level stage act figure table bowl mark version episode grade group unit lesson page verse " +
	"canto")

// reigned are names that kings, queens and popes shared.
var reigned = wordSet("henry louis george elizabeth charles william edward richard james philip napoleon " +
	"john paul pius benedict nicholas peter catherine alexander ferdinand francis frederick leo gregory " +
	"innocent ivan otto ramses xerxes darius ptolemy mary christian gustav wilhelm friedrich karl victor " +
	"emmanuel carlos felipe malcolm robert david clement urban boniface julius sixtus stephen joseph " +
	"leopold albert maximilian mehmed suleiman selim murad constantine theodosius justinian")

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// told are words after the name of a king or a queen with the number I.
var told = wordSet("of was and in died ruled became")

// unlikely are numerals that are more often something else.
var unlikely = wordSet("CC CV CI LI XL XX")

// roman reads a Roman numeral.
func (r *reader) roman() bool {
	l := r.look(0)
	text, possessive := strings.CutSuffix(l.text, "'s")
	n := roman(text)
	before := r.before()
	name := r.look(-1).capital() && reigned[before]
	next := r.look(1)
	switch {
	case n == 0 || !l.gap:
		return false
	case len(text) == 1 && !name && !counted[before], unlikely[text]:
		return false
	case text == "I" && name && next.kind == letter && !told[next.text]:
		return false
	case name:
		r.say("the")
		r.say(Ordinal(decimal(n)))
	default:
		r.say(Cardinal(decimal(n)))
	}
	if possessive {
		r.out[len(r.out)-1].Text += "'s"
	}
	r.at++
	return true
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
