package moe

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// routing chooses k experts for every row of router logits [rows,experts], and their shares.
type routing struct {
	k      int
	all    bool // softmax over all experts; if false, over the chosen
	scaled bool // shares are scaled to a sum of 1
	mixer  bool // two experts, with shares by SparseMixer
}

// Route is a row that an expert computes, and the weight of its result.
type Route struct {
	Row   int
	Share float32
}

func readRouting(n *op.Node) (routing, error) {
	o := routing{k: n.Int("k", 1), scaled: n.Bool("normalize_routing_weights", false),
		mixer: n.Bool("use_sparse_mixer", false)}
	if o.k < 1 {
		return o, graph.Errorf(graph.ErrFormat, "k is %d, not 1 or more", o.k)
	}
	if o.mixer && o.k != 2 {
		return o, graph.Errorf(graph.ErrFormat, "k is %d with use_sparse_mixer, which chooses 2", o.k)
	}
	return o, nil
}

// Routes returns the rows of every expert in ascending order. If weights is not nil, it provides
// the shares instead of the logits. A row without a positive share is left out, for example if its
// logits are NaN.
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

// choose sets places to the indices of the largest numbers in descending order, with the last of
// equals first. It ignores NaNs and returns the number of indices.
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

// sparseMix sets the shares of both choices by SparseMixer (https://arxiv.org/abs/2310.00811). A
// share comes from a softmax over the logits that are at most 2% worse than the choice, without an
// earlier choice.
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

// scaleShares divides shares by their sum. If the sum is 0, it sets them to 0.
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
