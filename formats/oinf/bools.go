package oinf

import (
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
)

// boolRange is booleans somewhere in a file.
type boolRange struct {
	at, n int
	what  string
	set   func(clean []byte) // gives whose they are others
	first int                // that is neither 0 nor 1; as spoiled finds it
}

// boolean notes booleans for spoiled and normalize.
func (r *reader) boolean(at, n int, what string, set func(clean []byte)) {
	r.bools = append(r.bools, boolRange{at: at, n: n, what: what, set: set})
}

// spoiled returns the ranges that hold something other than 0 and 1, by where they
// begin. It looks at each byte once, however often ranges share it.
func (r *reader) spoiled() []boolRange {
	slices.SortStableFunc(r.bools, func(a, b boolRange) int { return a.at - b.at })
	var found []boolRange
	next := 0 // nothing from where the range begins to here is spoiled
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

// normalize gives the ranges that are spoiled a copy in which everything but 0 is 1;
// those that share bytes share the copy.
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
		_ = container.Pieces(r.Budget, r.data[begin:end], func(at int, piece []byte) {
			for i, v := range piece {
				clean[at+i] = min(v, 1)
			}
		})
		for _, b := range list[:n] {
			b.set(clean[b.at-begin : b.at-begin+b.n : b.at-begin+b.n])
		}
		list = list[n:]
	}
}
