package bindings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestRBFVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {2, 16, 16}, {5, 3, 17}, {7, 40, 130}, {300, 20, 65}, {0, 4, 4}, {4, 0, 4}} {
		rows, width, n := s[0], s[1], s[2]
		stride := (n + MLPad - 1) / MLPad * MLPad
		x, v := randomFloats(r, rows*width), randomFloats(r, width*stride)
		for _, gamma := range []float32{0.3, 0, -0.01, 50} {
			checkVariants(t, "f32_rbf", fmt.Sprint(s, gamma), rows*n, 1e-30, 3e-4, func(k Kernel, p *Pool, out []float32) {
				RBFF32(k, p, x, rows, width, v, n, gamma, out)
			})
			out := make([]float32, rows*n)
			RBFF32(scalarOf(t, "f32_rbf"), nil, x, rows, width, v, n, gamma, out)
			for i, got := range out {
				sum := 0.0
				for f := range width {
					d := float64(x[i/n*width+f]) - float64(v[f*stride+i%n])
					sum += d * d
				}
				if want := math.Exp(-float64(gamma) * sum); math.Abs(float64(got)-want) > 1e-30+1e-4*want {
					t.Fatalf("%v gamma %v: element %d is %v, not %v", s, gamma, i, got, want)
				}
			}
		}
	}
}

// randomForest grows trees of random shape whose leaves have votes, or for one
// target weights.
func randomForest[T float32 | float64](r *rand.Rand, trees, depth, features, targets int, missing bool) *Forest[T] {
	f := &Forest[T]{Targets: targets, Missing: missing}
	if targets > 1 {
		f.First = []uint32{0}
	}
	var grow func(depth int) uint32
	grow = func(depth int) uint32 {
		at := uint32(len(f.Nodes))
		f.Nodes = append(f.Nodes, TreeNode[T]{Next: [2]uint32{at, at}})
		if depth == 0 || r.IntN(5) == 0 {
			w := T(r.Float32() - 0.5)
			if targets == 1 {
				f.Nodes[at].Value = w
				return at
			}
			switch v := any(&f.Nodes[at].Value).(type) {
			case *float32:
				*v = math.Float32frombits(uint32(len(f.First) - 1))
			case *float64:
				*v = math.Float64frombits(uint64(len(f.First) - 1))
			}
			for range r.IntN(4) {
				f.Target, f.Weight = append(f.Target, uint32(r.IntN(targets))), append(f.Weight, T(r.Float32()-0.5))
			}
			f.First = append(f.First, uint32(len(f.Target)))
			return at
		}
		n := TreeNode[T]{Value: T(r.IntN(9) - 4), Feature: uint32(r.IntN(features))}
		if missing && r.IntN(2) == 0 {
			n.Feature |= TreeNaNFirst
		}
		n.Next = [2]uint32{grow(depth - 1), grow(depth - 1)}
		f.Nodes[at] = n
		return at
	}
	for range trees {
		f.Roots = append(f.Roots, grow(depth))
	}
	return f
}

// forestScores is what a forest gives, node by node.
func forestScores[T float32 | float64](f *Forest[T], x []T, rows, features int) ([]T, []byte) {
	out, seen := make([]T, rows*f.Targets), make([]byte, rows*f.Targets)
	vote := func(i int, w T) {
		switch {
		case seen[i] == 0:
			out[i] = w
		case f.Aggregate == TreeMin:
			out[i] = min(out[i], w)
		case f.Aggregate == TreeMax:
			out[i] = max(out[i], w)
		default:
			out[i] += w
		}
		seen[i] = 1
	}
	for r := range rows {
		for _, at := range f.Roots {
			for f.Nodes[at].Next[0] != at {
				n := &f.Nodes[at]
				v := x[r*features+int(n.Feature&^TreeNaNFirst)]
				if v <= n.Value || v != v && n.Feature&TreeNaNFirst != 0 {
					at = n.Next[0]
				} else {
					at = n.Next[1]
				}
			}
			if f.First == nil {
				vote(r, f.Nodes[at].Value)
				continue
			}
			k := 0
			switch v := any(f.Nodes[at].Value).(type) {
			case float32:
				k = int(math.Float32bits(v))
			case float64:
				k = int(uint32(math.Float64bits(v)))
			}
			for i := f.First[k]; i < f.First[k+1]; i++ {
				vote(r*f.Targets+int(f.Target[i]), f.Weight[i])
			}
		}
	}
	return out, seen
}

func checkForests[T float32 | float64](t *testing.T, op string, run func(f *Forest[T], p *Pool, x []T, rows, features int, out []T, seen []byte)) {
	r, pool := rand.New(rand.NewPCG(9, 10)), newTestPool(t)
	for _, s := range [][4]int{{1, 1, 0, 1}, {1, 40, 6, 3}, {15, 3, 4, 2}, {16, 1, 9, 5}, {53, 7, 5, 4}, {700, 20, 4, 9}, {0, 2, 2, 2}, {3, 0, 1, 1}} {
		rows, trees, depth, features := s[0], s[1], s[2], s[3]
		x := make([]T, rows*features)
		for i := range x {
			if x[i] = T(r.IntN(11) - 5); r.IntN(9) == 0 {
				x[i] = T(math.NaN())
			}
		}
		for _, targets := range []int{1, 3} {
			for mode := range 6 {
				f := randomForest[T](r, trees, depth, features, targets, mode%2 == 0)
				f.Aggregate = mode / 2
				want, wantSeen := forestScores(f, x, rows, features)
				for _, k := range Variants(op) {
					if k.ISA()&^DetectISA() != 0 {
						continue
					}
					for _, p := range []*Pool{nil, pool} {
						f.Kernel = k
						out, seen := make([]T, len(want)), make([]byte, len(want))
						for i := range out {
							out[i], seen[i] = 99, 99
						}
						if f.First == nil {
							seen = nil
						}
						run(f, p, x, rows, features, out, seen)
						for i, v := range out {
							if v != want[i] || seen != nil && seen[i] != wantSeen[i] {
								t.Fatalf("%s/%s %v targets %d mode %d: element %d is %v, not %v", op, k.Variant(), s, targets, mode, i, v, want[i])
							}
						}
					}
				}
			}
		}
	}
}

func TestForests(t *testing.T) {
	checkForests(t, "f32_descend", ForestF32)
	checkForests(t, "f64_descend", ForestF64)
}
