package cpu

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/ml"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestRBF compares all variants to the scalar one, and that to the formula.
func TestRBF(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {2, 16, 16}, {5, 3, 17}, {7, 40, 130}, {300, 20, 65}, {0, 4, 4},
		{2, 3, 20000}, {2, 40000, 40}} {
		rows, width, n := s[0], s[1], s[2]
		x, v := rounded(tensor.F32, normals(r, rows*width, 0, 2)), rounded(tensor.F32, normals(r, n*width, 0, 2))
		vectors, err := tensor.FromBytes(tensor.F32, tensor.Shape{n, width}, stored(tensor.F32, v))
		if err != nil {
			t.Fatal(err)
		}
		m := &ml.LinearMap{Weights: vectors}
		for _, gamma := range []float32{0.3, 0, -0.01, 50} {
			if width > 1000 {
				gamma /= 1000
			}
			w := rbfWords(m, gamma, rows)
			list := numbersOf(t, w)
			scalar := partOf(t, "f32_rbf", 0)
			packed := bindings.Alloc(scalar.Packed(list, 1))
			scalar.Pack(list, 1, vectors.Bytes(), packed)
			out := []output{{at: 2, dtype: tensor.F32, n: rows * n}}
			in := [][]byte{stored(tensor.F32, x), packed, nil}
			checkVariants(t, "f32_rbf", fmt.Sprint(s, gamma), w, pool, 1e-30, 3e-4, out, in...)
			for i, got := range runOutputs(t, scalar, w, pool, out, in...) {
				sum := 0.0
				for f := range width {
					d := x[i/n*width+f] - v[i%n*width+f]
					sum += d * d
				}
				if want := math.Exp(-float64(gamma) * sum); math.Abs(got-want) > 1e-30+3e-4*want && want < math.MaxFloat32 {
					t.Fatalf("%v gamma %v: element %d is %v, not %v", s, gamma, i, got, want)
				}
			}
			bindings.Free(packed)
		}
	}
}

// TestDistances compares all variants to the scalar one, and that to the formula, on vectors that
// are not packed.
func TestDistances(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(17, 18))
	for _, s := range [][3]int{
		{1, 1, 1}, {3, 5, 7}, {2, 16, 16}, {5, 3, 17}, {7, 40, 130}, {300, 20, 65}, {9, 90, 203},
		{0, 4, 4}, {2, 0, 3}, {2, 40000, 40},
	} {
		rows, width, n := s[0], s[1], s[2]
		x, v := rounded(tensor.F32, normals(r, rows*width, 0, 2)), rounded(tensor.F32, normals(r, n*width, 0, 2))
		for _, function := range []int{rbfSquare, rbfRoot} {
			var w words
			w.int(rows, width, n)
			w.float(0)
			w.int(function)
			w.bool(false)
			out := []output{{at: 2, dtype: tensor.F32, n: rows * n}}
			in := [][]byte{stored(tensor.F32, x), stored(tensor.F32, v), nil}
			checkVariants(t, "f32_rbf", fmt.Sprint(s, function), w, pool, 1e-30, 3e-4, out, in...)
			for i, got := range runOutputs(t, partOf(t, "f32_rbf", 0), w, pool, out, in...) {
				want := 0.0
				for f := range width {
					d := x[i/n*width+f] - v[i%n*width+f]
					want += d * d
				}
				if function == rbfRoot {
					want = math.Sqrt(want)
				}
				if math.Abs(got-want) > 3e-4*want {
					t.Fatalf("%v, function %d: element %d is %v, not %v", s, function, i, got, want)
				}
			}
		}
	}
}

// randomForest grows trees of random shape. Leaves have votes, or weights if there is one target.
func randomForest[T float32 | float64](r *rand.Rand, trees, depth, features, targets int, missing bool) *treeLists[T] {
	f := &treeLists[T]{missing: missing}
	if targets > 1 {
		f.first = []uint32{0}
	}
	var grow func(depth int) uint32
	grow = func(depth int) uint32 {
		at := uint32(len(f.nodes))
		f.nodes = append(f.nodes, treeNode[T]{next: [2]uint32{at, at}})
		if depth == 0 || r.IntN(5) == 0 {
			w := T(r.Float32() - 0.5)
			if targets == 1 {
				f.nodes[at].value = w
				return at
			}
			*(*uint32)(unsafe.Pointer(&f.nodes[at].value)) = uint32(len(f.first) - 1)
			for range r.IntN(4) {
				f.target, f.weight = append(f.target, uint32(r.IntN(targets))), append(f.weight, T(r.Float32()-0.5))
			}
			f.first = append(f.first, uint32(len(f.target)))
			return at
		}
		n := treeNode[T]{value: T(r.IntN(9) - 4), feature: uint32(r.IntN(features))}
		if missing && r.IntN(2) == 0 {
			n.feature |= treeNaNFirst
		}
		n.next = [2]uint32{grow(depth - 1), grow(depth - 1)}
		f.nodes[at] = n
		return at
	}
	for range trees {
		f.roots = append(f.roots, grow(depth))
	}
	return f
}

// scores returns the results of a forest, computed node by node.
func (f *treeLists[T]) scores(x []T, rows, features, targets int, how ml.TreeAggregate) ([]T, []byte) {
	out, seen := make([]T, rows*targets), make([]byte, rows*targets)
	vote := func(i int, w T) {
		switch {
		case seen[i] == 0:
			out[i] = w
		case how == ml.TreeMin:
			out[i] = min(out[i], w)
		case how == ml.TreeMax:
			out[i] = max(out[i], w)
		default:
			out[i] += w
		}
		seen[i] = 1
	}
	for r := range rows {
		for _, at := range f.roots {
			for f.nodes[at].next[0] != at {
				n := &f.nodes[at]
				v := x[r*features+int(n.feature&^treeNaNFirst)]
				if v <= n.value || v != v && n.feature&treeNaNFirst != 0 {
					at = n.next[0]
				} else {
					at = n.next[1]
				}
			}
			if f.first == nil {
				vote(r, f.nodes[at].value)
				continue
			}
			k := *(*uint32)(unsafe.Pointer(&f.nodes[at].value))
			for i := f.first[k]; i < f.first[k+1]; i++ {
				vote(r*targets+int(f.target[i]), f.weight[i])
			}
		}
	}
	return out, seen
}

func checkForests[T float32 | float64](t *testing.T, name string) {
	r, pool := rand.New(rand.NewPCG(9, 10)), testPool(t)
	for _, s := range [][4]int{{1, 1, 0, 1}, {1, 40, 6, 3}, {15, 3, 4, 2}, {16, 1, 9, 5}, {53, 7, 5, 4}, {700, 20, 4, 9},
		{0, 2, 2, 2}, {3, 0, 1, 1}} {
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
				how := ml.TreeAggregate(mode / 2)
				want, wantSeen := f.scores(x, rows, features, targets, how)
				w := (&forest{counts: [forestLists]int{forestRoots: trees}, missing: f.missing}).words(graph.Known(rows),
					graph.Known(features), targets, how)
				for _, k := range runnable(t, name) {
					for _, p := range []*bindings.Pool{nil, pool} {
						y, intact := guardedBytes(len(memoryOf(want)), len(memoryOf(make([]T, 1))))
						seen, seenIntact := guardedBytes(rows*targets, 1)
						if f.first == nil {
							seen = nil
						}
						if _, failed := runCommand(t, k, w, p, memoryOf(x), memoryOf(f.nodes), memoryOf(f.roots), memoryOf(f.first),
							memoryOf(f.target), memoryOf(f.weight), y, seen); failed {
							t.Fatalf("%s/%s failed", name, k.Variant())
						}
						if !intact() || !seenIntact() || !slices.Equal(viewAs[T](y), want) ||
							seen != nil && !slices.Equal(seen, wantSeen) {
							t.Fatalf("%s/%s %v targets %d mode %d: %v, not %v", name, k.Variant(), s, targets, mode, viewAs[T](y), want)
						}
					}
				}
			}
		}
	}
}

func TestForests(t *testing.T) {
	checkForests[float32](t, "f32_forest")
	checkForests[float64](t, "f64_forest")
}

// TestForestPacked checks that trees are packed once and found again.
func TestForestPacked(t *testing.T) {
	testPool(t)
	packs := NewPacks()
	defer packs.Close()
	d, err := New(0, nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	m := &ml.TreeModel{
		Nodes: []ml.TreeBranch{{Mode: ml.BranchGT, Value: 2, Yes: ^0, No: ^1, NaNYes: true}}, Roots: []int32{0},
		Votes: [][]ml.TreeVote{{{Weight: 5}}, {{Weight: 7}}}, Targets: 1, Features: 1,
	}
	b := d.calls(&op.Run{}).binder
	for _, double := range []bool{false, true, false} {
		f, err := b.forest(&ml.Forest{Model: m, Single: true}, double)
		if err != nil {
			t.Fatal(err)
		}
		if f.counts != [forestLists]int{forestNodes: 3, forestRoots: 1} || f.missing {
			t.Errorf("double %v: %+v", double, f)
		}
		if o := f.operands(); o[forestNodes].Data == nil || o[forestFirst].Data != nil {
			t.Errorf("double %v: operands %+v", double, o)
		}
	}
	if len(packs.list) != 2 {
		t.Errorf("%d blocks are kept, not 2", len(packs.list))
	}
}

// TestMLExtents binds operators to samples with symbols as extents. The device must refuse rows
// that may differ in length and features that may be too few, because commands cannot report these.
func TestMLExtents(t *testing.T) {
	t.Parallel()
	testPool(t)
	leaf := []*graph.Attr{
		graph.IntsAttr("nodes_treeids", 0), graph.IntsAttr("nodes_nodeids", 0), graph.IntsAttr("nodes_featureids", 0),
		graph.IntsAttr("nodes_truenodeids", 0), graph.IntsAttr("nodes_falsenodeids", 0),
		graph.FloatsAttr("nodes_values", 0), graph.StringsAttr("nodes_modes", "LEAF"), graph.IntsAttr("target_ids", 0),
		graph.IntsAttr("target_treeids", 0), graph.IntsAttr("target_nodeids", 0), graph.FloatsAttr("target_weights", 7),
		graph.IntAttr("n_targets", 1),
	}
	tree := &graph.Node{Domain: "ai.onnx.ml", Op: "TreeEnsembleRegressor", Version: 1, Attrs: leaf}
	distances := &graph.Node{Domain: "com.microsoft", Op: "CDist", Version: 1}
	rows, columns, others := graph.Symbol("rows"), graph.Symbol("columns"), graph.Symbol("others")
	for _, c := range []struct {
		node   *graph.Node
		in     []graph.Dims
		binder string // "" if the device refuses
	}{
		{tree, []graph.Dims{{rows, graph.Known(5)}}, "trees alone"},
		{tree, []graph.Dims{{rows, columns}}, "trees"},
		{distances, []graph.Dims{{rows, columns}, {others, columns}}, "distances"},
		{distances, []graph.Dims{{rows, graph.Known(5)}, {rows, graph.Known(5)}}, "distances"},
		{distances, []graph.Dims{{rows, columns}, {rows, others}}, ""},
		{distances, []graph.Dims{{rows, graph.Known(5)}, {rows, columns}}, ""},
	} {
		node, list := *c.node, []*op.Value{}
		for i, dims := range c.in {
			node.Inputs = append(node.Inputs, string(rune('a'+i)))
			list = append(list, &op.Value{Type: graph.TensorOf(tensor.F32, dims)})
		}
		node.Outputs = []string{"y"}
		step, err := bound(t, standard.Registry(), &node, list)
		var refusal *device.Refusal
		if c.binder == "" {
			if !errors.As(err, &refusal) {
				t.Errorf("%s of %v: got %v, want a refusal", node.Op, c.in, err)
			}
		} else if err != nil || step.Binder != c.binder {
			t.Errorf("%s of %v: got %v, %v, want a step of %q", node.Op, c.in, step, err, c.binder)
		}
	}
}
