package arith

import (
	"math/bits"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/runtime/op"
)

// group is a set of equal slices: the index of the first, and their number.
type group struct{ first, count int }

const (
	// groupBytes is the memory in bytes for finding and sorting one group.
	groupBytes = 128
	// uniqueStretch is the number of slices between two counts of memory and of work.
	uniqueStretch = 1 << 14
)

// groupTable finds groups by their keys.
type groupTable interface {
	// add sets the groups of slices from to to - 1 and appends new groups to list.
	add(list []group, of []int64, from, to int) []group
}

// findGroups sets the group of every slice and returns the groups in order of their first slices.
func findGroups(c *op.Run, of []int64, table groupTable) (list []group, err error) {
	for from := 0; from < len(of); from += uniqueStretch {
		if c.Stopped() {
			return nil, op.ErrStopped
		}
		to, before := min(from+uniqueStretch, len(of)), len(list)
		if err := c.Mem.Reserve(groupBytes * (to - from)); err != nil {
			return nil, err
		}
		list = table.add(list, of, from, to)
		if err := c.Mem.Reserve(-groupBytes * (to - from - (len(list) - before))); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// rowTable finds groups of slices that have any number of keys.
type rowTable struct {
	keys   *uniqueKeys
	groups map[string]int
}

func (t *rowTable) add(list []group, of []int64, from, to int) []group {
	for i := from; i < to; i++ {
		t.keys.pace.Work(64 + t.keys.width)
		k := t.keys.text(i)
		g, ok := t.groups[k]
		if !ok {
			g = len(list)
			t.groups[k], list = g, append(list, group{first: i})
		}
		list[g].count++
		of[i] = int64(g)
	}
	return list
}

// numberTable finds groups of slices with one key. It is a hash table with linear probing, at most
// half full.
type numberTable struct {
	keys  []uint64
	slots []numberSlot // a power of two
	shift int          // 64 minus the logarithm of len(slots)
	seed  uint64
}

// numberSlot is the key of a group and its number plus 1, or 0 for an empty slot.
type numberSlot struct {
	key   uint64
	group int
}

func newNumberTable(keys []uint64) *numberTable {
	const bits = 6
	return &numberTable{keys: keys, slots: make([]numberSlot, 1<<bits), shift: 64 - bits, seed: rand.Uint64()}
}

// home returns the first slot to probe for a key.
func (t *numberTable) home(k uint64) int {
	hi, lo := bits.Mul64(k^t.seed, 0x9e3779b97f4a7c15)
	return int(((hi ^ lo) * 0xd1342543de82ef95) >> (t.shift & 63))
}

// grow doubles the table.
func (t *numberTable) grow() {
	old := t.slots
	t.slots = make([]numberSlot, 2*len(old))
	t.shift--
	for _, s := range old {
		if s.group == 0 {
			continue
		}
		at := t.home(s.key)
		for t.slots[at].group != 0 {
			at = (at + 1) & (len(t.slots) - 1)
		}
		t.slots[at] = s
	}
}

func (t *numberTable) add(list []group, of []int64, from, to int) []group {
	slots := t.slots
	of = of[from:to]
	for i, k := range t.keys[from:to] {
		at := t.home(k) & (len(slots) - 1)
		for slots[at].key != k && slots[at].group != 0 {
			at = (at + 1) & (len(slots) - 1)
		}
		g := slots[at].group - 1
		if g < 0 {
			g = len(list)
			slots[at] = numberSlot{k, g + 1}
			list = append(list, group{first: from + i})
			if 2*len(list) > len(slots) {
				t.grow()
				slots = t.slots
			}
		}
		list[g].count++
		of[i] = int64(g)
	}
	return list
}
