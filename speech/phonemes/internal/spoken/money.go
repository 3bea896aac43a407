package spoken

import "strings"

// currency is a unit of money: one, many, one part, many parts.
type currency struct{ one, many, part, parts string }

var dollar = currency{"dollar", "dollars", "cent", "cents"}

var currencies = map[rune]currency{
	'$': dollar, '€': {"euro", "euros", "cent", "cents"}, '£': {"pound", "pounds", "penny", "pence"},
	'¥': {"yen", "yen", "", ""}, '₹': {"rupee", "rupees", "paisa", "paise"}, '¢': {"cent", "cents", "", ""},
}

var currencyCodes = map[string]currency{
	"USD": {"U.S. dollar", "U.S. dollars", "cent", "cents"}, "EUR": currencies['€'], "GBP": currencies['£'],
	"JPY": currencies['¥'],
}

// multiples are words and letters for large numbers after an amount.
var multiples = map[string]string{
	"thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion", "k": "thousand",
	"K": "thousand",
	"m": "million", "M": "million", "B": "billion", "bn": "billion", "T": "trillion",
}

// money reads an amount with the sign of its currency before it.
func (r *reader) money() bool {
	c, ok := currencies[r.look(0).kind]
	if !ok || r.look(1).kind != digit {
		return false
	}
	r.at++
	x, _ := r.numeral(0)
	r.pay(x, c)
	return true
}

// amount reads an amount with its currency behind it.
func (r *reader) amount(x numeral) bool {
	l := r.look(x.size)
	c, ok := currencies[l.kind]
	if !ok && l.kind == letter {
		c, ok = currencyCodes[l.text]
	}
	if !ok || l.kind == '$' && l.gap {
		return false
	}
	r.pay(x, c)
	r.at++
	return true
}

// pay says an amount, and goes on behind the number and the word that multiplies it.
func (r *reader) pay(x numeral, c currency) {
	r.at += x.size
	l := r.look(0)
	if m, ok := multiples[l.text]; ok && l.kind == letter && (len(l.text) > 2 || !l.gap) {
		r.at++
		r.say(x.cardinal() + " " + m)
		r.unitOf(c.many)
		return
	}
	if r.joined(0, '-') && r.joined(1, digit) { // $5-10
		r.say(x.cardinal() + " to")
		r.at++
		y, _ := r.numeral(0)
		r.pay(y, c)
		return
	}
	if len(x.decimals) != 2 || c.part == "" {
		r.say(x.cardinal())
		r.unitOf(choose(x.one(), c.one, c.many))
		return
	}
	parts := strings.TrimLeft(x.decimals, "0")
	whole := strings.Trim(x.whole, "0") != ""
	if whole || parts == "" {
		r.say(Cardinal(x.whole))
		r.unitOf(choose(x.whole == "1", c.one, c.many))
	}
	if whole && parts != "" {
		r.say("and")
	}
	if parts != "" {
		r.say(Cardinal(parts) + " " + choose(parts == "1", c.part, c.parts))
	}
}

// unitOf says the name of a currency.
func (r *reader) unitOf(name string) {
	if rest, ok := strings.CutPrefix(name, "U.S. "); ok {
		r.spell("us")
		name = rest
	}
	r.say(name)
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
