package spoken

import "strings"

// domains are ends of names of hosts.
var domains = wordSet("com org net edu gov io ai dev co uk de fr jp info app me us ca eu ch at")

// signs are the names of characters in addresses.
var signs = map[rune]string{
	'.': "dot", '/': "slash", '@': "at", '-': "dash", '_': "underscore", ':': "colon", '?': "question mark",
	'=': "equals",
	'&': "and", '#': "hash", '%': "percent", '+': "plus", '~': "tilde",
}

// address reads a URL or an address of e-mail, which have no white space.
func (r *reader) address() bool {
	from, n := 0, r.extent()
	if n < 3 {
		return false
	}
	mail, scheme, host := false, false, false
	for k := range n {
		l := r.look(k)
		switch {
		case l.kind == '@' && k > 0 && k+1 < n:
			mail = true
		case l.kind == ':' && k+2 < n && r.look(k+1).kind == '/' && r.look(k+2).kind == '/' && !scheme:
			scheme, from = true, k+3
		case l.kind == '.' && k > 0 && k+1 < n && r.look(k+1).kind == letter && domains[r.look(k+1).text]:
			after := r.look(k + 2).kind
			host = host || k+2 == n || after == '/' || after == '.' || after == ':'
		}
	}
	if !mail && !scheme && !host && !(r.look(0).text == "www" && r.joined(1, '.')) || from >= n {
		return false
	}
	if r.look(n-1).kind == '/' && n-1 > from {
		r.addressParts(from, n-1)
	} else {
		r.addressParts(from, n)
	}
	r.at += n
	return true
}

// extent returns how many lexemes go on without white space, but for marks at the end.
func (r *reader) extent() int {
	n := 1
	for r.at+n < len(r.in) && n < 200 {
		l := r.look(n)
		if l.gap || l.kind != letter && l.kind != digit && signs[l.kind] == "" {
			break
		}
		n++
	}
	for n > 1 && strings.ContainsRune(".?:-", r.look(n-1).kind) {
		n--
	}
	return n
}

// addressParts says lexemes of an address.
func (r *reader) addressParts(from, to int) {
	for k := from; k < to; k++ {
		l := r.look(k)
		s := strings.ToLower(l.text)
		switch {
		case l.kind == digit:
			r.say(choose(len(s) <= 2 && s[0] != '0', Cardinal(s), each(s)))
		case l.kind != letter:
			r.say(signs[l.kind])
		case s == "www" || len(s) <= 3 && !vowelled(s) || len(s) == 2 && domains[s]:
			r.spell(s)
		default:
			r.say(s)
		}
	}
}
