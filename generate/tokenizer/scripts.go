package tokenizer

import (
	"sort"
	"sync"
	"unicode"
)

// scripts is the pre-tokenizer that splits between characters of different scripts. Characters of
// no script, such as blanks, belong to the word before them, and are left out at the beginning. The
// Japanese syllables count as Han.
type scripts struct{}

func (scripts) split(w *work, p piece, emit func(piece)) {
	w.steps(len(p.text))
	from, last := -1, ""
	for i, r := range p.text {
		script := scriptOf(r)
		if script == "" || script == last {
			continue
		}
		if from >= 0 {
			emit(p.cut(from, i))
		}
		from, last = i, script
	}
	if from >= 0 {
		emit(p.cut(from, len(p.text)))
	}
}

// A scriptRange is a range of characters of one script.
type scriptRange struct {
	low, high rune
	name      string
}

var scriptRanges = sync.OnceValue(func() []scriptRange {
	var list []scriptRange
	for name, t := range unicode.Scripts {
		for _, r := range t.R16 {
			list = appendRange(list, rune(r.Lo), rune(r.Hi), rune(r.Stride), name)
		}
		for _, r := range t.R32 {
			list = appendRange(list, rune(r.Lo), rune(r.Hi), rune(r.Stride), name)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].low < list[j].low })
	return list
})

func appendRange(list []scriptRange, low, high, stride rune, name string) []scriptRange {
	if stride == 1 {
		return append(list, scriptRange{low, high, name})
	}
	for r := low; r <= high; r += stride {
		list = append(list, scriptRange{r, r, name})
	}
	return list
}

// scriptOf returns the script of a character in the package tokenizers. For a blank and for
// characters of no script it returns "".
func scriptOf(r rune) string {
	switch r {
	case ' ':
		return ""
	case 'ー':
		return "Han"
	case 0x589, 0x61c: // full stop of Armenian, mark of Arabic
		return "Common"
	case 0x953, 0x954: // accents
		return "Devanagari"
	}
	newer := sort.Search(len(withoutScript), func(i int) bool { return withoutScript[i][1] >= r })
	if newer < len(withoutScript) && withoutScript[newer][0] <= r {
		return ""
	}
	list := scriptRanges()
	i := sort.Search(len(list), func(i int) bool { return list[i].high >= r })
	if i == len(list) || list[i].low > r {
		return ""
	}
	switch name := list[i].name; name {
	case "Hiragana", "Katakana":
		return "Han"
	default:
		return name
	}
}
