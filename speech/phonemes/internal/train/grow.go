package main

import (
	"math"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

// example is one letter of a word: its features and its class.
type example struct {
	features [letters.Features]byte
	class    byte
}

// tree is a decision while it grows.
type tree struct {
	feature, value byte
	class          byte
	yes, no        *tree // nil: a leaf
	wrong          int   // examples of another class
}

// grower grows trees. A branch must save price errors for each of its decisions.
type grower struct {
	price  float64
	counts [letters.Values][letters.Values]int32
	used   []byte // values that examples have
}

// grow returns the tree of examples, whose order changes.
func (g *grower) grow(list []example) *tree {
	var all [letters.Values]int32
	for i := range list {
		all[list[i].class]++
	}
	t := &tree{}
	most := int32(-1)
	var classes []byte
	for c, n := range all {
		if n > 0 {
			classes = append(classes, byte(c))
		}
		if n > most {
			most, t.class = n, byte(c)
		}
	}
	t.wrong = len(list) - int(most)
	if float64(t.wrong) <= g.price {
		return t
	}
	feature, value, gain := g.question(list, &all, classes)
	if gain <= 1e-9 {
		return t
	}
	k := 0
	for i := range list {
		if list[i].features[feature] == value {
			list[i], list[k] = list[k], list[i]
			k++
		}
	}
	yes, no := g.grow(list[:k]), g.grow(list[k:])
	saved, decisions := t.wrong-yes.errors()-no.errors(), 1+yes.decisions()+no.decisions()
	if float64(saved) < g.price*float64(decisions) {
		return t
	}
	t.feature, t.value, t.yes, t.no = feature, value, yes, no
	return t
}

// question returns the question that tells most about the class, in bits.
func (g *grower) question(list []example, all *[letters.Values]int32, classes []byte) (
	feature, value byte, gain float64,
) {
	n := float64(len(list))
	before := n * math.Log2(n)
	for _, c := range classes {
		before -= xlog(all[c])
	}
	for f := range letters.Features {
		g.used = g.used[:0]
		var seen [letters.Values]int32
		for i := range list {
			v := list[i].features[f]
			if seen[v] == 0 {
				g.used = append(g.used, v)
			}
			seen[v]++
			g.counts[v][list[i].class]++
		}
		for _, v := range g.used {
			yes := seen[v]
			no := int32(len(list)) - yes
			after := xlog(yes) + xlog(no)
			for _, c := range classes {
				k := g.counts[v][c]
				after -= xlog(k) + xlog(all[c]-k)
				g.counts[v][c] = 0
			}
			if no > 0 && before-after > gain {
				feature, value, gain = byte(f), v, before-after
			}
		}
	}
	return feature, value, gain
}

// logs has n log2 n of small numbers.
var logs = func() (l [1 << 12]float64) {
	for i := 1; i < len(l); i++ {
		l[i] = float64(i) * math.Log2(float64(i))
	}
	return l
}()

func xlog(n int32) float64 {
	if int(n) < len(logs) {
		return logs[n]
	}
	return float64(n) * math.Log2(float64(n))
}

func (t *tree) errors() int {
	if t.yes == nil {
		return t.wrong
	}
	return t.yes.errors() + t.no.errors()
}

func (t *tree) decisions() int {
	if t.yes == nil {
		return 0
	}
	return 1 + t.yes.decisions() + t.no.decisions()
}

// flat appends the tree to nodes in the order of a file.
func (t *tree) flat(nodes []letters.Node) []letters.Node {
	if t.yes == nil {
		return append(nodes, letters.Node{Feature: letters.Leaf, Value: t.class})
	}
	at := len(nodes)
	nodes = t.yes.flat(append(nodes, letters.Node{Feature: t.feature, Value: t.value}))
	nodes[at].No = uint32(len(nodes))
	return t.no.flat(nodes)
}
