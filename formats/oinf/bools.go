package oinf

import (
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// boolRange is a range of booleans in a file.
type boolRange struct {
	at, n int
	what  string
	set   func(clean []byte) // replaces the booleans by a clean copy
	first int                // offset of the first that is neither 0 nor 1; set by spoiled
}

// boolean records booleans for spoiled and normalize.
func (r *reader) boolean(at, n int, what string, set func(clean []byte)) {
	r.bools = append(r.bools, boolRange{at: at, n: n, what: what, set: set})
}

// spoiled returns the ranges with values other than 0 and 1, in the order of their offsets. It
// looks at each byte once, even if ranges share it.
func (r *reader) spoiled() []boolRange {
	slices.SortStableFunc(r.bools, func(a, b boolRange) int { return a.at - b.at })
	var found []boolRange
	next := 0 // no byte from the start of the range up to here is spoiled
	for _, b := range r.bools {
		if next = max(next, b.at); next < b.at+b.n {
			i := container.Index(r.Budget, r.data[next:b.at+b.n], spoils)
			if next += i; i < 0 {
				next = b.at + b.n
			}
		}
		if !r.Goes() {
			return nil
		}
		if next < b.at+b.n {
			b.first = next
			found = append(found, b)
		}
	}
	return found
}

// spoils reports whether a byte is neither 0 nor 1.
func spoils(c byte) bool { return c > 1 }

// normalize gives each spoiled range a copy in which every nonzero byte is 1. Ranges that share
// bytes share the copy.
func (r *reader) normalize() {
	list := r.spoiled()
	for len(list) > 0 {
		begin, end, n := list[0].at, list[0].at+list[0].n, 1
		for n < len(list) && list[n].at < end {
			end = max(end, list[n].at+list[n].n)
			n++
		}
		if !r.Take(begin, end-begin) {
			return
		}
		clean := make([]byte, end-begin)
		_ = pieces.Each(r.Budget, len(clean), pieces.Bytes, func(from, to int) {
			for i, v := range r.data[begin+from : begin+to] {
				clean[from+i] = min(v, 1)
			}
		})
		for _, b := range list[:n] {
			b.set(clean[b.at-begin : b.at-begin+b.n : b.at-begin+b.n])
		}
		list = list[n:]
	}
}
