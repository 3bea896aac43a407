package tokenizer

// A scratch is the memory to merge a word in: a list of symbols, linked so that joined ones are
// left out, and a heap of possible merges.
type scratch struct {
	symbols []symbol
	heap    []candidate
	paths   []path
	extra   []int32 // ids before they are replaced
	work    *work
	placed  bool   // models fill places
	places  []span // the bytes of the word that each token covers
}

// place notes that the next token covers bytes from..to of the word.
func (s *scratch) place(from, to int) {
	if s.placed {
		s.places = append(s.places, span{int32(from), int32(to)})
	}
}

// A symbol is a token of the word, with its size in bytes. A symbol joined to its left neighbour has
// the id -1.
type symbol struct{ id, size, prev, next int32 }

// A candidate is a merge at a place of the word. Its key orders by rank, then by place.
type candidate struct {
	key uint64
	id  int32
}

func (s *scratch) add(id int32, size int) {
	n := int32(len(s.symbols))
	s.symbols = append(s.symbols, symbol{id: id, size: int32(size), prev: n - 1, next: n + 1})
}

// merge joins the symbols until no merge is left, in O(n log n) steps for n symbols.
func (s *scratch) merge(merges map[uint64]merge) {
	n := int32(len(s.symbols))
	if n < 2 {
		return
	}
	s.heap = s.heap[:0]
	for i := range n - 1 {
		s.offer(merges, i)
	}
	for len(s.heap) > 0 {
		s.work.steps(1)
		top := s.pop()
		at := int32(uint32(top.key))
		left := &s.symbols[at]
		if left.id < 0 || left.next >= n {
			continue
		}
		right := &s.symbols[left.next]
		if m, ok := merges[pair(left.id, right.id)]; !ok || m.id != top.id {
			continue
		}
		left.id, right.id = top.id, -1
		left.size += right.size
		left.next = right.next
		if left.next < n {
			s.symbols[left.next].prev = at
			s.offer(merges, at)
		}
		if left.prev >= 0 {
			s.offer(merges, left.prev)
		}
	}
}

// offer puts the merge of a symbol and the next one on the heap, if there is one.
func (s *scratch) offer(merges map[uint64]merge, at int32) {
	left := &s.symbols[at]
	if m, ok := merges[pair(left.id, s.symbols[left.next].id)]; ok {
		s.push(candidate{uint64(uint32(m.rank))<<32 | uint64(uint32(at)), m.id})
	}
}

func (s *scratch) push(c candidate) {
	h := append(s.heap, c)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= c.key {
			break
		}
		h[i], i = h[up], up
	}
	h[i] = c
	s.heap = h
}

func (s *scratch) pop() candidate {
	h := s.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	s.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].key < h[down].key {
			down++
		}
		if h[down].key >= last.key {
			break
		}
		h[i], i = h[down], down
	}
	h[i] = last
	return top
}
