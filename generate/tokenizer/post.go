package tokenizer

import "fmt"

// A template is a post-processor. It puts ids of special tokens before and after the ids of a text.
type template struct {
	before, after []int32

	once  bool   // of a pair, only the first text has tokens before it
	one   []slot // of one text; nil: by before and after
	two   []slot // of a pair; nil: by before, after and once
	wrong error  // of a pair
	idle  bool   // no tokens are put around texts
	trim  bool   // offsets leave out blanks at the ends of tokens
	blank bool   // with trim: the first token keeps its first blank, which no text has
}

func (t template) process(w *work, ids []int32) []int32 {
	n := len(t.before) + len(ids) + len(t.after)
	w.steps(n)
	w.hold(4 * n)
	list := make([]int32, 0, n)
	list = append(list, t.before...)
	list = append(list, ids...)
	return append(list, t.after...)
}

// A slot is a part of an encoding: a text, or special tokens.
type slot struct {
	text int // 0 and 1 for the texts, special for special tokens
	ids  []int32
	kind int32 // the type of the tokens
	all  bool  // with special tokens, kind is the type in all parts of an overflow, too
}

// special is the text of slots of special tokens.
const special = -1

// single returns the slots of one text.
func (t template) single() []slot {
	if t.one != nil {
		return t.one
	}
	return []slot{{text: special, ids: t.before}, {}, {text: special, ids: t.after}}
}

// pair returns the slots of two texts.
func (t template) pair() []slot {
	if t.two != nil {
		return t.two
	}
	list := append(t.single(), slot{text: special, ids: t.before, kind: 1}, slot{text: 1, kind: 1},
		slot{text: special, ids: t.after, kind: 1})
	if t.once {
		list[3].ids = nil
	}
	return list
}

// slots returns the slots of a text or a pair. Of several post-processors for one text, each is
// around the ones before it.
func (t *Tokenizer) slots(pair bool) ([]slot, error) {
	list := []slot{{}}
	if pair {
		list = append(list, slot{text: 1, kind: 1})
	}
	found := false
	for _, p := range t.post {
		switch {
		case p.idle:
		case pair && found:
			return nil, fmt.Errorf("tokenizer: post_processor: several steps put tokens around texts, which is not supported for pairs")
		case pair && p.wrong != nil:
			return nil, fmt.Errorf("tokenizer: post_processor: %w", p.wrong)
		case pair:
			list = p.pair()
		default:
			var around []slot
			for _, s := range p.single() {
				if s.text == special {
					around = append(around, s)
					continue
				}
				for i := range list {
					if list[i].text != special {
						list[i].kind = s.kind
					}
				}
				around = append(around, list...)
			}
			list = around
		}
		found = found || !p.idle
	}
	return list, nil
}
