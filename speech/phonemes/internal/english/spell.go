package english

import "strings"

// names are the symbols of letters and of digits, without stress marks but with the place of one: '
// stands before the vowel.
var names = map[rune]string{
	'a': "'eɪ", 'b': "b'iː", 'c': "s'iː", 'd': "d'iː", 'e': "'iː", 'f': "'ɛf", 'g': "dʒ'iː", 'h': "'eɪtʃ", 'i': "'aɪ",
	'j': "dʒ'eɪ", 'k': "k'eɪ", 'l': "'ɛl", 'm': "'ɛm", 'n': "'ɛn", 'o': "'oʊ", 'p': "p'iː", 'q': "kj'uː", 'r': "'ɑːɹ",
	's': "'ɛs", 't': "t'iː", 'u': "j'uː", 'v': "v'iː", 'w': "d'ʌbəljˌuː", 'x': "'ɛks", 'y': "w'aɪ", 'z': "z'iː",
}

// spell returns the names of letters as one word, whose last letter has the primary stress. An s
// after an apostrophe is the one of a plural or a possessive.
func spell(word string) string {
	word, ends := strings.CutSuffix(word, "'s")
	var list []string
	for _, r := range word {
		if s, ok := names[r]; ok {
			list = append(list, s)
		}
	}
	var b strings.Builder
	for i, s := range list {
		mark := "ˌ"
		if i == len(list)-1 {
			mark = "ˈ"
		}
		b.WriteString(strings.Replace(s, "'", mark, 1))
	}
	if ends {
		b.WriteString(plural(b.String()))
	}
	return b.String()
}
