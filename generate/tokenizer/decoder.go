package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A decoder changes the tokens of a text on their way to it.
type decoder interface {
	decode(tokens []string) []string
}

// The decoders, one type for each kind of a file.
type (
	decodeBytes     struct{ strict bool } // text that is not UTF-8 becomes empty
	decodeMetaspace struct {
		mark string
		keep bool // blanks before the first token stay
	}
	decodeWordPiece struct {
		prefix  string
		cleanup bool
	}
	decodeSuffix   struct{ suffix string }
	decodeFallback struct{}
	decodeFuse     struct{}
	decodeEach     struct{ normalizer }
	decodeStrip    struct {
		content     rune
		start, stop int
	}
	decodeCTC struct {
		pad, word string
		cleanup   bool
	}
)

func (d decodeBytes) decode(tokens []string) []string {
	var list []byte
	for _, token := range tokens {
		list = fromByteCharacters(list, token)
	}
	if d.strict && !utf8.Valid(list) {
		return nil
	}
	return []string{lossy(list)}
}

func (d decodeMetaspace) decode(tokens []string) []string {
	for i, token := range tokens {
		blank := " "
		if i == 0 && !d.keep {
			blank = ""
		}
		tokens[i] = strings.ReplaceAll(token, d.mark, blank)
	}
	return tokens
}

func (d decodeWordPiece) decode(tokens []string) []string {
	for i, token := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(token, d.prefix); ok {
				token = rest
			} else {
				token = " " + token
			}
		}
		if d.cleanup {
			token = cleanup(token)
		}
		tokens[i] = token
	}
	return tokens
}

// cleanup takes away the blanks that splitting put before punctuation of English.
func cleanup(text string) string {
	for _, rule := range [][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
		{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		text = strings.ReplaceAll(text, rule[0], rule[1])
	}
	return text
}

func (d decodeSuffix) decode(tokens []string) []string {
	for i, token := range tokens {
		blank := " "
		if i == len(tokens)-1 {
			blank = ""
		}
		tokens[i] = strings.ReplaceAll(token, d.suffix, blank)
	}
	return tokens
}

// decode joins runs of byte tokens to characters. A run that is not UTF-8 becomes a
// U+FFFD for each byte.
func (decodeFallback) decode(tokens []string) []string {
	var list []string
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case utf8.Valid(run):
			list = append(list, string(run))
		default:
			list = append(list, strings.Repeat("\uFFFD", len(run)))
		}
		run = run[:0]
	}
	for _, token := range tokens {
		if b, ok := byteToken(token); ok {
			run = append(run, b)
			continue
		}
		flush()
		list = append(list, token)
	}
	flush()
	return list
}

// byteToken returns the byte of a token such as <0x0A>.
func byteToken(token string) (byte, bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}

func (decodeFuse) decode(tokens []string) []string {
	return []string{strings.Join(tokens, "")}
}

func (d decodeEach) decode(tokens []string) []string {
	for i, token := range tokens {
		tokens[i] = d.normalize(token)
	}
	return tokens
}

func (d decodeStrip) decode(tokens []string) []string {
	for i, token := range tokens {
		for n := 0; n < d.start; n++ {
			rest, ok := strings.CutPrefix(token, string(d.content))
			if !ok {
				break
			}
			token = rest
		}
		for n := 0; n < d.stop; n++ {
			rest, ok := strings.CutSuffix(token, string(d.content))
			if !ok {
				break
			}
			token = rest
		}
		tokens[i] = token
	}
	return tokens
}

// decode joins equal tokens in a row, as texts read from sound need.
func (d decodeCTC) decode(tokens []string) []string {
	var list []string
	for i, token := range tokens {
		if i > 0 && token == tokens[i-1] {
			continue
		}
		if d.pad != "" {
			token = strings.ReplaceAll(token, d.pad, "")
		}
		if d.cleanup {
			token = cleanup(token)
			if d.word != "" {
				token = strings.ReplaceAll(token, d.word, " ")
			}
		}
		if token != "" {
			list = append(list, token)
		}
	}
	return list
}
