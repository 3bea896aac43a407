package plan

import (
	"slices"
	"sort"
)

// alignment is the alignment of values in the arena in bytes: a cache line.
const alignment = 64

func alignUp(n int) int { return (n + alignment - 1) / alignment * alignment }

// layout gives every buffer an offset such that buffers in use at the same step do not overlap. It
// places the largest first, each in the smallest gap that holds it (best fit).
func layout(list []*buffer) {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *buffer) int { return b.bytes - a.bytes })
	var placed []*buffer // by offset
	for _, b := range order {
		b.offset = bestGap(placed, b)
		at := sort.Search(len(placed), func(i int) bool { return placed[i].offset >= b.offset })
		placed = slices.Insert(placed, at, b)
	}
}

// bestGap returns the offset of the smallest gap that holds b between placed buffers in use at the
// same time. If no gap is large enough, it returns the end of these buffers.
func bestGap(placed []*buffer, b *buffer) int {
	best, bestSize, end := -1, 0, 0
	for _, o := range placed {
		if o.first > b.last || b.first > o.last {
			continue
		}
		if gap := o.offset - end; gap >= b.bytes && (best < 0 || gap < bestSize) {
			best, bestSize = end, gap
		}
		end = max(end, o.offset+o.bytes)
	}
	if best >= 0 {
		return best
	}
	return end
}
