package ml

import "github.com/nacre-ml/nacre/runtime/graph"

// A numbering finds entries by the numbers of their tree and node.
type numbering struct {
	runs map[int64]idRun    // by tree; nil if the entries of some tree do not form one run
	all  map[[2]int64]int32 // by tree and node; used if runs is nil
	tree int64              // of last
	last idRun
}

// idRun describes a tree with adjacent entries, numbered in steps of one.
type idRun struct {
	id        int64
	at, count int
}

// newNumbering numbers the entries. No two entries may have equal tree and node.
func newNumbering(trees, ids []int64) (*numbering, error) {
	n := &numbering{runs: map[int64]idRun{}}
	for i := 0; i < len(trees); {
		r := idRun{ids[i], i, 1}
		for i++; i < len(trees) && trees[i] == trees[r.at] && ids[i] == r.id+int64(r.count); i++ {
			r.count++
		}
		if _, twice := n.runs[trees[r.at]]; twice {
			return n, n.list(trees, ids)
		}
		n.runs[trees[r.at]] = r
	}
	return n, nil
}

// list records every entry separately.
func (n *numbering) list(trees, ids []int64) error {
	n.runs, n.all = nil, make(map[[2]int64]int32, len(trees))
	for i := range trees {
		key := [2]int64{trees[i], ids[i]}
		if _, twice := n.all[key]; twice {
			return graph.Errorf(graph.ErrFormat, "tree %d has two nodes %d", key[0], key[1])
		}
		n.all[key] = int32(i)
	}
	return nil
}

// find returns the index of an entry. It reports false if there is none.
func (n *numbering) find(tree, id int64) (at int32, ok bool) {
	if n.runs == nil {
		at, ok = n.all[[2]int64{tree, id}]
		return at, ok
	}
	if tree != n.tree || n.last.count == 0 {
		n.tree, n.last = tree, n.runs[tree]
	}
	// Differences wrap around, as do the numbers of a run.
	if k := uint64(id - n.last.id); k < uint64(n.last.count) {
		return int32(n.last.at + int(k)), true
	}
	return 0, false
}
