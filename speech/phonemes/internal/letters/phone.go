// Package letters turns the spelling of an English word into sounds, by decision trees over letters
// and a list of the words that the trees get wrong.
package letters

import "strings"

// Phone is a sound in the alphabet of CMUdict. A vowel comes with its stress.
type Phone uint8

// vowels and consonants are the names of phones in the order of their numbers. A vowel has three
// numbers: without stress, with primary stress, with secondary stress.
var (
	vowels     = strings.Fields("AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW")
	consonants = strings.Fields("B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH")
)

// Phones is how many phones there are.
const Phones = 3*15 + 24

// Stress of a vowel.
const (
	Unstressed = iota
	Primary
	Secondary
)

// Vowel reports whether the phone is a vowel.
func (p Phone) Vowel() bool { return int(p) < 3*len(vowels) }

// Stress returns the stress of a vowel.
func (p Phone) Stress() int { return int(p) % 3 }

// With returns the vowel with another stress.
func (p Phone) With(stress int) Phone { return p - p%3 + Phone(stress) }

// Name returns the name of the phone without stress.
func (p Phone) Name() string {
	if p.Vowel() {
		return vowels[p/3]
	}
	return consonants[int(p)-3*len(vowels)]
}

// String returns the phone as CMUdict writes it.
func (p Phone) String() string {
	if p.Vowel() {
		return p.Name() + string("012"[p.Stress()])
	}
	return p.Name()
}

var byName = func() map[string]Phone {
	m := make(map[string]Phone, Phones)
	for p := range Phone(Phones) {
		m[p.String()] = p
	}
	return m
}()

// Parse returns the phone that CMUdict writes this way.
func Parse(name string) (Phone, bool) {
	p, ok := byName[name]
	return p, ok
}

// Must returns phones by their names, which are constants of a program.
func Must(names string) []Phone {
	var list []Phone
	for name := range strings.FieldsSeq(names) {
		p, ok := Parse(name)
		if !ok {
			panic("letters: no phone " + name)
		}
		list = append(list, p)
	}
	return list
}

// Sound is a phone and the letter of the word that stands for it.
type Sound struct {
	Phone
	At int // index of the letter
}
