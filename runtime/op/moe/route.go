package moe

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// routing chooses k experts for every row of router logits [rows,experts], and how
// much each counts.
type routing struct {
	k      int
	all    bool // shares are of all experts, not of the chosen
	scaled bool // to a sum of 1
	mixer  bool // two experts, each with its share of those hardly worse than it
}

// Route is a row that an expert computes, and how much its result counts.
type Route struct {
	Row   int
	Share float32
}

func readRouting(n *op.Node) (routing, error) {
	o := routing{k: n.Int("k", 1), scaled: n.Bool("normalize_routing_weights", false), mixer: n.Bool("use_sparse_mixer", false)}
	if o.k < 1 {
		return o, graph.Errorf(graph.ErrFormat, "k is %d, not 1 or more", o.k)
	}
	if o.mixer && o.k != 2 {
		return o, graph.Errorf(graph.ErrFormat, "k is %d with use_sparse_mixer, which chooses 2", o.k)
	}
	return o, nil
}

// Routes returns the rows that every expert computes, in ascending order. Weights,
// if there are any, are the shares instead of what follows from logits. Rows without
// a share, as those of logits that are no numbers, are left out.
func (o *routing) Routes(logits, weights []float32, experts int) [][]Route {
	list := make([][]Route, experts)
	chosen, shares := make([]int, o.k), make([]float32, o.k)
	for row := 0; (row+1)*experts <= len(logits); row++ {
		l := logits[row*experts:][:experts]
		n := choose(l, chosen)
		switch {
		case weights != nil:
			w := weights[row*experts:]
			for i, e := range chosen[:n] {
				shares[i] = w[e]
			}
		case o.mixer:
			sparseMix(l, chosen[:n], shares)
		default:
			o.soften(l, chosen[:n], shares)
		}
		if o.scaled {
			scaleShares(shares[:n])
		}
		for i, e := range chosen[:n] {
			if shares[i] > 0 {
				list[e] = append(list[e], Route{row, shares[i]})
			}
		}
	}
	return list
}

// choose sets the places of the largest numbers, in descending order and of equal
// ones the last first, and returns how many there are.
func choose(list []float32, places []int) int {
	n := 0
	for i, v := range list {
		if v != v {
			continue
		}
		at := n
		for at > 0 && v >= list[places[at-1]] {
			at--
		}
		if n < len(places) {
			n++
		}
		if at < n {
			copy(places[at+1:n], places[at:])
			places[at] = i
		}
	}
	return n
}

// soften sets shares by softmax.
func (o *routing) soften(logits []float32, chosen []int, shares []float32) {
	if len(chosen) == 0 {
		return
	}
	top, sum := float64(logits[chosen[0]]), 0.0
	if o.all {
		for _, v := range logits {
			sum += math.Exp(float64(v) - top)
		}
	}
	for i, e := range chosen {
		x := math.Exp(float64(logits[e]) - top)
		shares[i] = float32(x)
		if !o.all {
			sum += x
		}
	}
	for i := range chosen {
		shares[i] = float32(float64(shares[i]) / sum)
	}
}

// sparseMix sets the shares of the first choice and the second by SparseMixer
// (https://arxiv.org/abs/2310.00811): of softmax over the logits that are at most
// 2% worse than the choice, and that are no earlier choice.
func sparseMix(logits []float32, chosen []int, shares []float32) {
	const jitter = 0.01
	for i, e := range chosen {
		top, sum := float64(logits[e]), 0.0
		for j, v := range logits {
			if i == 1 && j == chosen[0] {
				continue
			}
			if x := float64(v); !((top-x)/max(math.Abs(x), top) > 2*jitter) {
				sum += math.Exp(x - top)
			}
		}
		shares[i] = float32(1 / sum)
	}
}

// scaleShares divides shares by their sum, unless that is 0.
func scaleShares(shares []float32) {
	sum := float32(0)
	for _, v := range shares {
		sum += v
	}
	for i := range shares {
		if sum == 0 {
			shares[i] = 0
		} else {
			shares[i] /= sum
		}
	}
}
