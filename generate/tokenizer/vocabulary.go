package tokenizer

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
)

// maxToken bounds the bytes of one token. It keeps the search for the longest token at each place
// of a text linear.
const maxToken = 1 << 10

// maxHoles bounds how far ids without a token may exceed the number of tokens.
const maxHoles = 1 << 20

// A vocabulary maps tokens to ids and back.
type vocabulary struct {
	list    []string // by id
	known   []bool
	places  places           // of the known tokens in list
	others  map[string]int32 // tokens that list lacks
	longest int              // bytes of the longest token
}

// places finds strings of a list. It takes less memory than a map from strings, and the garbage
// collector does not look into it.
type places struct {
	seed  maphash.Seed
	slots []int32 // place + 1 of a string, in the first free slot from its hash on; 0 for none
	count int     // strings
}

// newPlaces returns the places of the known strings. Of equal strings the last is found.
func newPlaces(list []string, known []bool) places {
	p := places{seed: maphash.MakeSeed(), slots: make([]int32, 2<<bits.Len(uint(max(len(list), 1)-1)))}
	for i, text := range list {
		if !known[i] {
			continue
		}
		at := p.slot(list, text)
		if p.slots[at] == 0 {
			p.count++
		}
		p.slots[at] = int32(i) + 1
	}
	return p
}

// slot returns the slot of a string, or a free one. At least half of the slots are free.
func (p *places) slot(list []string, text string) int {
	at := int(maphash.String(p.seed, text) & uint64(len(p.slots)-1))
	for p.slots[at] != 0 && list[p.slots[at]-1] != text {
		at = (at + 1) & (len(p.slots) - 1)
	}
	return at
}

// listVocabulary returns a vocabulary with places in a list as ids. Of equal tokens the last has
// the id.
func listVocabulary(tokens []string) *vocabulary {
	v := &vocabulary{list: tokens, known: slices.Repeat([]bool{true}, len(tokens))}
	v.places = newPlaces(tokens, v.known)
	for _, token := range tokens {
		v.longest = max(v.longest, len(token))
	}
	return v
}

// newVocabulary checks ids and makes the table of tokens.
func newVocabulary(w *work, ids map[string]int64) (*vocabulary, error) {
	v := &vocabulary{others: map[string]int32{}}
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
		if !v.known[id] || token < v.list[id] {
			v.list[id], v.known[id] = token, true
		}
		v.longest = max(v.longest, len(token))
	}
	for token, id := range ids {
		if v.list[id] != token {
			v.others[token] = int32(id)
		}
	}
	v.places = newPlaces(v.list, v.known)
	return v, nil
}

func (v *vocabulary) id(token string) (int32, bool) {
	if len(v.places.slots) > 0 {
		if place := v.places.slots[v.places.slot(v.list, token)]; place > 0 {
			return place - 1, true
		}
	}
	id, ok := v.others[token]
	return id, ok
}

// all returns every token with its id.
func (v *vocabulary) all() iter.Seq2[string, int32] {
	return func(yield func(string, int32) bool) {
		for i, token := range v.list {
			if id, _ := v.id(token); v.known[i] && int(id) == i && !yield(token, id) {
				return
			}
		}
		for token, id := range v.others {
			if !yield(token, id) {
				return
			}
		}
	}
}

// len returns the number of tokens.
func (v *vocabulary) len() int { return v.places.count + len(v.others) }

func (v *vocabulary) token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(v.list) || !v.known[id] {
		return "", false
	}
	return v.list[id], true
}
