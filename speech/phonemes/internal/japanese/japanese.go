// Package japanese turns kana into phonemes.
package japanese

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// hiragana has the sounds of a row's five columns a, i, u, e, o: the character, the consonant.
var hiragana = sounds([]string{
	"あ い う え お", "か く け こ k", "が ぐ げ ご ɡ", "さ せ そ s", "ぜ ざ ぞ ʣ", "た て と t", "だ で ど d",
	"な ぬ ね の n", "は へ ほ h", "ば ぶ べ ぼ b", "ぱ ぷ ぺ ぽ p", "ま む め も m", "や ゆ よ j", "ら る れ ろ ɾ",
}, map[string]string{
	"き": "kʲi", "ぎ": "ɡʲi", "し": "ɕi", "じ": "ʥi", "す": "sɨ", "ず": "zɨ", "ち": "ʨi", "ぢ": "ʥi", "つ": "ʦɨ",
	"づ": "zɨ", "に": "ɲi", "ひ": "çi", "び": "bʲi", "ぴ": "pʲi", "ふ": "ɸɯ", "み": "mʲi", "り": "ɾʲi", "わ": "βa",
	"ゎ": "βa", "ゐ": "i", "ゑ": "e", "を": "o", "ゔ": "vɯ", "ぁ": "a", "ぃ": "i", "ぅ": "ɯ", "ぇ": "e", "ぉ": "o",
	"ゃ": "ja", "ゅ": "jɯ", "ょ": "jo", "ゕ": "ka", "ゖ": "ke",
})

// columns are the vowels of characters that end in them.
var columns = []struct{ characters, vowel string }{
	{"あかがさざただなはばぱまやら", "a"}, {"い", "i"}, {"うくぐぬぶぷむゆる", "ɯ"}, {"えけげせぜてでねへべぺめれ", "e"},
	{"おこごそぞとどのほぼぽもよろ", "o"},
}

// sounds returns the sounds of rows, whose last field is the consonant, and of others.
func sounds(rows []string, others map[string]string) map[string]string {
	m := others
	for _, row := range rows {
		fields := strings.Fields(row)
		consonant := fields[len(fields)-1]
		if _, ok := vowelOf(consonant); ok {
			consonant = ""
		} else {
			fields = fields[:len(fields)-1]
		}
		for _, c := range fields {
			vowel, _ := vowelOf(c)
			m[c] = consonant + vowel
		}
	}
	return m
}

func vowelOf(character string) (string, bool) {
	for _, c := range columns {
		if strings.Contains(c.characters, character) {
			return c.vowel, true
		}
	}
	return "", false
}

// before are the consonants of characters before a small vowel, where they differ from the
// character's own.
var before = map[string]string{
	"う": "β", "く": "kᵝ", "ぐ": "ɡᵝ", "つ": "ʦ", "て": "t", "で": "d", "と": "t", "ど": "d", "ふ": "ɸ", "ゔ": "v", "い": "j",
}

// palatal are the characters that the small ya, yu and yo follow, with their consonants.
var palatal = map[string]string{
	"き": "kʲ", "ぎ": "ɡʲ", "し": "ɕ", "じ": "ʥ", "ち": "ʨ", "ぢ": "ʥ", "に": "ɲ", "ひ": "ç", "び": "bʲ", "ぴ": "pʲ", "み": "mʲ",
	"り": "ɾʲ", "つ": "ʦʲ", "て": "tʲ", "で": "dʲ", "ふ": "ɸʲ", "ゔ": "bʲ",
}

// marks are the punctuation of phonemes for the Japanese.
var marks = map[rune]string{
	'。': ".", '、': ",", '？': "?", '！': "!", '「': "“", '」': "”", '『': "“", '』': "”", '：': ":", '；': ";", '（': "(", '）': ")",
	'・': " ", '，': ",", '〜': "—", '～': "—", '　': " ", '…': "…",
}

// Phonemes returns the phonemes of a text in kana, without accents: one symbol for a consonant, ʲ
// and ᵝ for palatal and rounded ones, ː for long vowels, ʔ for the first half of a double consonant.
// Other characters pass through.
func Phonemes(text string) string {
	letters := strings.Split(hiraganaOf(text), "")
	var out strings.Builder
	for i := 0; i < len(letters); {
		sound, n := syllable(letters[i:])
		out.WriteString(sound)
		i += n
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// hiraganaOf returns a text with hiragana for katakana and their narrow forms.
func hiraganaOf(text string) string {
	var b strings.Builder
	for _, r := range text {
		if m, ok := marks[r]; ok {
			b.WriteString(m)
			continue
		}
		b.WriteRune(r)
	}
	const first, last, distance = 'ァ', 'ヶ', 'ァ' - 'ぁ'
	return strings.Map(func(r rune) rune {
		if r >= first && r <= last {
			return r - distance
		}
		return r
	}, norm.NFKC.String(b.String()))
}

// syllable returns the sound of the first letters, and how many they are.
func syllable(letters []string) (string, int) {
	first, next := letters[0], ""
	if len(letters) > 1 {
		next = letters[1]
	}
	own, known := hiragana[first]
	switch {
	case first == "ー":
		return "ː", 1
	case first == "っ":
		return "ʔ", 1
	case first == "ん":
		return nasal(letters[1:]), 1
	case known && strings.Contains("ゃゅょ", next) && next != "":
		if c, ok := palatal[first]; ok {
			return c + map[string]string{"ゃ": "a", "ゅ": "ɨ", "ょ": "o"}[next], 2
		}
	case known && strings.Contains("ぁぃぅぇぉ", next) && next != "":
		if c := consonantBefore(first, next); c != "" {
			return c + hiragana[next], 2
		}
	}
	if known {
		return own, 1
	}
	return first, 1
}

// consonantBefore returns the consonant of a character before a small vowel, "" if it has none.
func consonantBefore(first, vowel string) string {
	soft, plain := palatal[first], before[first]
	switch {
	case vowel == "ぃ" && first == "ゔ":
		return "vʲ"
	case vowel == "ぃ" && soft != "", plain == "":
		return soft
	}
	return plain
}

// nasal returns the sound of ん before other letters.
func nasal(rest []string) string {
	if len(rest) == 0 {
		return "ɴ"
	}
	sound, _ := syllable(rest)
	r, _ := utf8.DecodeRuneInString(sound)
	switch r {
	case 'm', 'p', 'b':
		return "m"
	case 'k', 'ɡ':
		return "ŋ"
	case 'ɲ', 'ʨ', 'ʥ':
		return "ɲ"
	case 'n', 't', 'd', 'ɾ', 'z':
		return "n"
	}
	return "ɴ"
}
