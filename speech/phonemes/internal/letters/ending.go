package letters

import "strings"

// ending pronounces a word of the list with an ending: plural, past, participle and the like.
func (m *Model) ending(word string) ([]Sound, bool) {
	for _, e := range endings {
		rest, ok := strings.CutSuffix(word, e.letters)
		if !ok || len(rest) < 2 {
			continue
		}
		for _, stem := range e.stems(rest) {
			patches, ok := m.Words.Find(stem)
			if !ok {
				continue
			}
			sounds := m.Guess(stem, patches)
			if len(sounds) == 0 {
				continue
			}
			for i := range sounds {
				sounds[i].At = min(sounds[i].At, len(rest))
			}
			return e.add(sounds, len(rest)), true
		}
	}
	return nil, false
}

// ending is one way to make a word longer.
type ending struct {
	letters string
	stems   func(rest string) []string // words that may be before the ending
	add     func(stem []Sound, at int) []Sound
}

var endings = []ending{
	{"'s", same, addS},
	{"s'", withS, func(s []Sound, _ int) []Sound { return s }},
	{"ies", withY, addS},
	{"es", same, addS},
	{"s", same, addS},
	{"ied", withY, addD},
	{"ed", silent, addD},
	{"d", endsInE, addD},
	{"ing", silent, fixed("IH0 NG")},
	{"ings", silent, fixed("IH0 NG Z")},
	{"ly", same, fixed("L IY0")},
	{"ness", same, fixed("N AH0 S")},
	{"less", same, fixed("L AH0 S")},
	{"ment", same, fixed("M AH0 N T")},
	{"ments", same, fixed("M AH0 N T S")},
	{"ers", silent, fixed("ER0 Z")},
	{"er", silent, fixed("ER0")},
}

func same(rest string) []string { return []string{rest} }

func withS(rest string) []string { return []string{rest + "s"} }

func withY(rest string) []string { return []string{rest + "y"} }

func endsInE(rest string) []string {
	if strings.HasSuffix(rest, "e") {
		return []string{rest}
	}
	return nil
}

// silent returns stems that lose an e or double a consonant before an ending.
func silent(rest string) []string {
	n := len(rest)
	if n > 3 && rest[n-1] == rest[n-2] && !vowelLetter[Code(rest[n-1])] {
		return []string{rest, rest[:n-1]}
	}
	return []string{rest + "e", rest}
}

func fixed(names string) func([]Sound, int) []Sound {
	phones := Must(names)
	return func(s []Sound, at int) []Sound { return join(s, phones, at) }
}

func join(s []Sound, phones []Phone, at int) []Sound {
	for i, p := range phones {
		s = append(s, Sound{p, at + min(i, 1)})
	}
	return s
}

var (
	sS, sZ, sIZ = Must("S"), Must("Z"), Must("IH0 Z")
	sT, sD, sID = Must("T"), Must("D"), Must("IH0 D")
)

// addS adds the s of plurals, verbs and possessives.
func addS(s []Sound, at int) []Sound {
	switch s[len(s)-1].Name() {
	case "S", "Z", "SH", "ZH", "CH", "JH":
		return join(s, sIZ, at)
	case "P", "T", "K", "F", "TH":
		return join(s, sS, at)
	}
	return join(s, sZ, at)
}

// addD adds the ending of the past.
func addD(s []Sound, at int) []Sound {
	switch s[len(s)-1].Name() {
	case "T", "D":
		return join(s, sID, at)
	case "P", "K", "F", "TH", "S", "SH", "CH":
		return join(s, sT, at)
	}
	return join(s, sD, at)
}

// Possessive adds the s of a possessive or of a contraction to the sounds of a word of n letters.
func Possessive(s []Sound, n int) []Sound {
	if len(s) == 0 {
		return s
	}
	return addS(s, n)
}
