package tokenizer

import "fmt"

// maxToken bounds the bytes of one token. It keeps the search for the longest token at each place
// of a text linear.
const maxToken = 1 << 10

// maxHoles bounds how far ids without a token may exceed the number of tokens.
const maxHoles = 1 << 20

// A vocabulary maps tokens to ids and back.
type vocabulary struct {
	ids     map[string]int32
	list    []string
	known   []bool
	longest int // bytes of the longest token
}

// newVocabulary checks ids and makes the table of tokens.
func newVocabulary(w *work, ids map[string]int64) (*vocabulary, error) {
	v := &vocabulary{ids: make(map[string]int32, len(ids))}
	limit := int64(2*len(ids) + maxHoles)
	largest := int64(-1)
	for token, id := range ids {
		if id < 0 || id >= limit {
			return nil, fmt.Errorf("token %.60q has the id %d: a vocabulary of %d tokens may have ids from 0 to %d", token, id, len(ids), limit-1)
		}
		largest = max(largest, id)
	}
	w.hold(17 * int(largest+1))
	v.list = make([]string, largest+1)
	v.known = make([]bool, largest+1)
	for token, id := range ids {
		v.ids[token] = int32(id)
		if !v.known[id] || token < v.list[id] {
			v.list[id], v.known[id] = token, true
		}
		v.longest = max(v.longest, len(token))
	}
	return v, nil
}

func (v *vocabulary) id(token string) (int32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

func (v *vocabulary) token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(v.list) || !v.known[id] {
		return "", false
	}
	return v.list[id], true
}
