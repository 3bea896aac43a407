package tokenizer

import "strings"

// byteCharacter is the table of byte-level vocabularies: the character that stands for a byte.
// Printing bytes stand for themselves, the others for U+0100 and the following characters.
var byteCharacter, characterByte = byteTables()

func byteTables() (table [256]rune, back map[rune]byte) {
	back = make(map[rune]byte, 256)
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if r < '!' || r > '~' && r < '¡' || r == 0xAD {
			r = next
			next++
		}
		table[b], back[r] = r, byte(b)
	}
	return table, back
}

// toByteCharacters returns the characters of the bytes of a text.
func toByteCharacters(text string) string {
	plain := true
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7F {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var b strings.Builder
	b.Grow(2 * len(text))
	for i := range len(text) {
		b.WriteRune(byteCharacter[text[i]])
	}
	return b.String()
}

// fromByteCharacters appends the bytes of a token. If a character is not in the table, it appends
// the token itself.
func fromByteCharacters(list []byte, token string) []byte {
	from := len(list)
	for _, r := range token {
		b, ok := characterByte[r]
		if !ok {
			return append(list[:from], token...)
		}
		list = append(list, b)
	}
	return list
}
