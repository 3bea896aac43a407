package spoken

import "strings"

var months = strings.Fields("january february march april may june july august september october november december")

// month returns the name of a month that is written out or shortened with a capital letter, or
// nothing.
func month(l lexeme) string {
	if !l.capital() {
		return ""
	}
	s := strings.ToLower(l.text)
	for _, m := range months {
		if s == m || len(s) == 3 && strings.HasPrefix(m, s) || s == "sept" && m == "september" {
			return m
		}
	}
	return ""
}

// day reports whether a lexeme is the number of a day.
func day(l lexeme) bool {
	return l.kind == digit && len(l.text) <= 2 && value(l.text) >= 1 && value(l.text) <= 31
}

// date reads a month, with a day and a year behind it or not.
func (r *reader) date() bool {
	m := month(r.look(0))
	if m == "" {
		return false
	}
	short := len(r.look(0).text) < len(m)
	n := 1
	if short && r.joined(1, '.') {
		n = 2
	}
	if !day(r.look(n)) || r.joined(n+1, ':') || r.joined(n+1, '%') || r.joined(n+1, '.') && r.joined(n+2, digit) {
		if short && n == 2 && m != "may" {
			r.say(m)
			r.at += 2
			return true
		}
		return false
	}
	r.say(m + " " + Ordinal(r.look(n).text))
	r.at += n + 1
	if r.joined(0, letter) && strings.Contains("st nd rd th", r.look(0).text) {
		r.at++
	}
	if dash := r.look(0).kind; (dash == '-' || dash == '–') && day(r.look(1)) && !r.look(1).gap { // May 3-5
		r.say("to " + Ordinal(r.look(1).text))
		r.at += 2
	}
	return true
}

// dayMonth reads a day before a month.
func (r *reader) dayMonth() bool {
	m := month(r.look(1))
	if !day(r.look(0)) || m == "" || m == "may" && r.look(2).kind == letter && !r.look(2).capital() || !r.look(1).gap {
		return false
	}
	if r.before() != "the" {
		r.say("the")
	}
	r.say(Ordinal(r.look(0).text) + " of " + m)
	r.at += 2
	if len(r.look(-1).text) < len(m) && r.joined(0, '.') && !r.last(0) {
		r.at++
	}
	return true
}

// isoDate reads a date with the year first.
func (r *reader) isoDate() bool {
	y, m, d := r.look(0), r.look(2), r.look(4)
	if len(y.text) != 4 || !r.joined(1, '-') || !r.joined(2, digit) || !r.joined(3, '-') || !r.joined(4, digit) {
		return false
	}
	return r.calendar(y.text, m, d)
}

// slashDate reads a date in the order of the United States.
func (r *reader) slashDate() bool {
	if !r.joined(1, '/') || !r.joined(2, digit) || !r.joined(3, '/') || !r.joined(4, digit) {
		return false
	}
	if len(r.look(0).text) == 4 {
		return r.calendar(r.look(0).text, r.look(2), r.look(4))
	}
	return r.calendar(r.look(4).text, r.look(0), r.look(2))
}

// calendar says a date of five lexemes.
func (r *reader) calendar(year string, m, d lexeme) bool {
	n := value(m.text)
	if n < 1 || n > 12 || len(m.text) > 2 || !day(d) || len(year) != 4 && len(year) != 2 {
		return false
	}
	r.say(months[n-1] + " " + Ordinal(d.text))
	r.mark(",")
	if len(year) == 2 {
		year = choose(year < "50", "20", "19") + year
	}
	r.say(Year(year))
	r.at += 5
	return true
}

// half returns a or p if the lexemes from n on say which half of the day it is, and how many they
// are.
func (r *reader) half(n int) (string, int) {
	l := r.look(n)
	if l.kind != letter {
		return "", 0
	}
	switch s := strings.ToLower(l.text); {
	case s == "am" || s == "pm":
		return s[:1], 1
	case (s == "a" || s == "p") && r.joined(n+1, '.') && strings.EqualFold(r.look(n+2).text, "m"):
		if r.joined(n+3, '.') && !r.last(n+3) && !r.look(n+4).capital() {
			return s, 4
		}
		return s, 3
	}
	return "", 0
}

// clock reads a time of the day, and a ratio.
func (r *reader) clock() bool {
	hour := r.look(0).text
	if r.joined(1, ':') && r.joined(2, digit) {
		minute := r.look(2).text
		if len(minute) != 2 || len(hour) > 2 || value(hour) > 24 || value(minute) > 59 {
			r.say(Cardinal(hour) + " to")
			r.at += 2
			return true
		}
		n := 3
		seconds := ""
		if r.joined(3, ':') && r.joined(4, digit) {
			seconds = r.look(4).text
			n = 5
		}
		half, more := r.half(n)
		r.say(Cardinal(choose(len(hour) == 2, strings.TrimPrefix(hour, "0"), hour)))
		switch {
		case value(minute) > 9:
			r.say(Cardinal(minute))
		case value(minute) > 0:
			r.say("oh " + Cardinal(minute[1:]))
		case value(hour) > 12 || value(hour) == 0:
			r.say("hundred")
		case half == "" && seconds == "":
			r.say("o'clock")
		}
		if seconds != "" {
			r.say("and " + Cardinal(choose(seconds[0] == '0' && len(seconds) == 2, seconds[1:], seconds)) + " seconds")
		}
		r.sayHalf(half, n+more)
		return true
	}
	if half, more := r.half(1); half != "" && len(hour) <= 2 && value(hour) <= 12 {
		r.say(Cardinal(hour))
		r.sayHalf(half, 1+more)
		return true
	}
	return false
}

func (r *reader) sayHalf(half string, n int) {
	if half != "" {
		r.spell(half + "m")
	}
	r.at += n
}
