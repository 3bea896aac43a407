package speech

import (
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/speech/phonemes"
)

// clauses are characters after which a sentence is cut first.
const clauses = ",;:…—–،、，；："

// cut cuts sentences of more than maxSentence characters: after a clause, else between words, else
// anywhere.
func cut(text string, spans []phonemes.Span) []phonemes.Span {
	var list []phonemes.Span
	for _, s := range spans {
		for s.From < s.To {
			end := s.From + cutAt(text[s.From:s.To])
			list = append(list, phonemes.Span{From: s.From, To: end})
			s.From = end
		}
	}
	return list
}

// cutAt returns how many bytes of a sentence are spoken at once.
func cutAt(s string) int {
	if utf8.RuneCountInString(s) <= maxSentence {
		return len(s)
	}
	end, n := 0, 0
	for i := range s {
		if n == maxSentence {
			end = i
			break
		}
		n++
	}
	for _, marks := range []string{clauses, " \t\n"} {
		if i := strings.LastIndexAny(s[:end], marks); i > 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			return i + size
		}
	}
	return end
}
