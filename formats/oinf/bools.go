package oinf

import "slices"

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
func spoiled(data []byte, list []boolRange) []boolRange {
	slices.SortStableFunc(list, func(a, b boolRange) int { return a.at - b.at })
	var found []boolRange
	next := 0 // nothing from where the range begins to here is spoiled
	for _, b := range list {
		next = max(next, b.at)
		for next < b.at+b.n && data[next] <= 1 {
			next++
		}
		if next < b.at+b.n {
			b.first = next
			found = append(found, b)
		}
	}
	return found
}

// normalize gives the ranges that are spoiled a copy in which everything but 0 is 1;
// those that share bytes share the copy.
func normalize(data []byte, list []boolRange) {
	list = spoiled(data, list)
	for len(list) > 0 {
		begin, end, n := list[0].at, list[0].at+list[0].n, 1
		for n < len(list) && list[n].at < end {
			end = max(end, list[n].at+list[n].n)
			n++
		}
		clean := make([]byte, end-begin)
		for i, v := range data[begin:end] {
			clean[i] = min(v, 1)
		}
		for _, b := range list[:n] {
			b.set(clean[b.at-begin : b.at-begin+b.n : b.at-begin+b.n])
		}
		list = list[n:]
	}
}
