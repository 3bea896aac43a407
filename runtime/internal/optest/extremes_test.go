package optest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// extremes are integers that make sums, products and quotients of attributes overflow.
var extremes = []int64{math.MinInt64, math.MaxInt64, -1, 0, 1 << 31, 1 << 62, -1 << 31, 7}

// extremeFloats are numbers that do not convert to an integer or an extent.
var extremeFloats = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32,
	-math.MaxFloat32, 0, -1}

// TestExtremes gives the operators of all cases numbers at the ends of their types, as attributes
// and as inputs, other attributes, and operands of other extents, ranks and kinds. A run may
// succeed or be refused, and meets no defect. A complete run takes more cases of each operator.
func TestExtremes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	most, each := 1, 1
	if testenv.Complete() {
		most, each = 60, 4
	}
	rows, ran := optest.Rows(), 0
	taken, met := map[string]int{}, map[string]int{}
	for _, c := range optest.Cases() {
		row := rows[c.Key()]
		if c.Fails != nil || size(c) > 1<<14 || taken[c.Key()] >= most {
			continue
		}
		taken[c.Key()]++
		for _, version := range c.Versions(row) {
			for k, m := range mutants(c, version) {
				key := fmt.Sprint(c.Key(), m.what)
				if met[key] >= each {
					continue
				}
				met[key]++
				ran++
				var defect *guard.Defect
				switch err := m.run(t, k%2 == 0); {
				case errors.As(err, &defect):
					t.Errorf("%s in version %d with %s: %v\n%s", c.Name(), version, m.what, err, defect.Stack())
				case errors.Is(err, guard.ErrInternal):
					t.Errorf("%s in version %d with %s: %v", c.Name(), version, m.what, err)
				}
			}
		}
	}
	if ran < 20*len(rows) {
		t.Errorf("%d runs of %d operators", ran, len(rows))
	}
	t.Logf("%d runs of %d operators", ran, len(rows))
}

func size(c *cases.Case) int {
	n := 0
	for _, t := range c.In {
		if t != nil {
			n += t.Len()
		}
	}
	return n
}

func hash(name string, version, k int) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, name, version, k)
	return h.Sum32()
}

// mutant is a node and its inputs with one change.
type mutant struct {
	what string
	node *graph.Node
	in   []tensor.Value
}

func mutants(c *cases.Case, version int) (list []mutant) {
	node := c.Node(version)
	in := make([]tensor.Value, len(c.In))
	for i, t := range c.In {
		if t != nil {
			in[i] = t
		}
	}
	for i, a := range node.Attrs {
		for what, changed := range attrsLike(a) {
			n := *node
			n.Attrs = slices.Clone(node.Attrs)
			if n.Attrs[i] = changed; changed == nil {
				n.Attrs = slices.Delete(n.Attrs, i, i+1)
			}
			list = append(list, mutant{a.Name + " " + what, &n, in})
		}
	}
	for i, t := range c.In {
		if t != nil {
			in[i] = t
		}
	}
	for i, a := range node.Attrs {
		for at := range max(min(len(a.Ints), 3), 1) {
			if a.Kind != graph.AttrInt && (a.Kind != graph.AttrInts || at == len(a.Ints)) {
				continue
			}
			for _, v := range extremes {
				changed, n := *a, *node
				n.Attrs = slices.Clone(node.Attrs)
				if n.Attrs[i] = &changed; a.Kind == graph.AttrInt {
					changed.Int = v
				} else {
					changed.Ints = slices.Clone(a.Ints)
					changed.Ints[at] = v
				}
				list = append(list, mutant{fmt.Sprintf("%s[%d] = %d", a.Name, at, v), &n, in})
			}
		}
	}
	for i, t := range c.In {
		if t == nil {
			continue
		}
		for what, v := range operandsLike(t) {
			changed := slices.Clone(in)
			changed[i] = v
			list = append(list, mutant{fmt.Sprintf("input %d of %s", i, what), node, changed})
		}
	}
	slices.SortStableFunc(list, func(a, b mutant) int {
		return cmp.Compare(hash(a.what, version, 0), hash(b.what, version, 0))
	})
	return list
}

// attrsLike returns attributes to replace a with; nil removes it.
func attrsLike(a *graph.Attr) map[string]*graph.Attr {
	list := map[string]*graph.Attr{"left out": nil}
	change := func(what string, f func(b *graph.Attr)) {
		b := *a
		b.Ints, b.Floats, b.Strs = slices.Clone(a.Ints), slices.Clone(a.Floats), slices.Clone(a.Strs)
		f(&b)
		list[what] = &b
	}
	each := func(n int, what string, f func(b *graph.Attr, at int)) {
		for at := range min(n, 3) {
			change(fmt.Sprintf("[%d] = %s", at, what), func(b *graph.Attr) { f(b, at) })
		}
	}
	for _, v := range extremes {
		if a.Kind == graph.AttrInt {
			change(fmt.Sprint("= ", v), func(b *graph.Attr) { b.Int = v })
		}
		each(len(a.Ints), fmt.Sprint(v), func(b *graph.Attr, at int) { b.Ints[at] = v })
	}
	for _, v := range extremeFloats {
		if a.Kind == graph.AttrFloat {
			change(fmt.Sprint("= ", v), func(b *graph.Attr) { b.Float = v })
		}
		each(len(a.Floats), fmt.Sprint(v), func(b *graph.Attr, at int) { b.Floats[at] = v })
	}
	for _, v := range []string{"", "\xff\x00", "%)[{(", "SAME_UPPER"} {
		if a.Kind == graph.AttrString {
			change(fmt.Sprintf("= %q", v), func(b *graph.Attr) { b.Str = []byte(v) })
		}
		each(len(a.Strs), fmt.Sprintf("%q", v), func(b *graph.Attr, at int) { b.Strs[at] = []byte(v) })
	}
	change("empty", func(b *graph.Attr) { b.Ints, b.Floats, b.Strs = nil, nil, nil })
	change("longer", func(b *graph.Attr) {
		b.Ints, b.Floats, b.Strs = append(b.Ints, 1), append(b.Floats, 1), append(b.Strs, []byte("a"))
	})
	change("another kind", func(b *graph.Attr) { b.Kind = (a.Kind + 1) % (graph.AttrType + 1) })
	return list
}

// operandsLike returns values to replace t with.
func operandsLike(t *tensor.Tensor) map[string]tensor.Value {
	d, shape := t.DType(), t.Shape()
	list := map[string]tensor.Value{
		"no axes":         tensor.New(d),
		"no elements":     tensor.New(d, 0),
		"many axes":       tensor.New(d, slices.Repeat([]int{1}, 40)...),
		"a sequence":      &tensor.Sequence{Items: []tensor.Value{t}},
		"an empty option": &tensor.Optional{},
		"a sequence of maps": &tensor.Sequence{Items: []tensor.Value{
			&tensor.Map{Keys: tensor.New(tensor.I64, 2), Values: tensor.New(tensor.F32, 2)}}},
	}
	for a := range shape {
		zero := shape.Clone()
		zero[a] = 0
		list[fmt.Sprintf("extent 0 of axis %d", a)] = tensor.New(d, zero...)
		for _, by := range []int{-1, 1} {
			other := shape.Clone()
			if other[a] += by; other[a] > 0 && d.Bits() >= 8 && t.Len() > 0 {
				list[fmt.Sprintf("extent %+d of axis %d", by, a)] = resized(t, other)
			}
		}
	}
	if t.Len() == 0 || t.Len() > 64 {
		return list
	}
	for _, at := range []int{0, t.Len() - 1} {
		element := func(v any, set func(changed *tensor.Tensor)) {
			changed := t.Clone()
			set(changed)
			list[fmt.Sprintf("element %d = %v", at, v)] = changed
		}
		for _, v := range extremes {
			switch d {
			case tensor.I64:
				element(v, func(x *tensor.Tensor) { tensor.View[int64](x)[at] = v })
			case tensor.I32:
				element(v, func(x *tensor.Tensor) { tensor.View[int32](x)[at] = int32(v) })
			}
		}
		for _, v := range extremeFloats {
			switch d {
			case tensor.F32:
				element(v, func(x *tensor.Tensor) { tensor.View[float32](x)[at] = v })
			case tensor.F64:
				element(v, func(x *tensor.Tensor) { tensor.View[float64](x)[at] = float64(v) * 1e10 })
			}
		}
	}
	return list
}

// resized returns a tensor of another shape that repeats the elements of t.
func resized(t *tensor.Tensor, shape tensor.Shape) *tensor.Tensor {
	r := tensor.New(t.DType(), shape...)
	for at, from := 0, t.Bytes(); at < len(r.Bytes()); at += len(from) {
		copy(r.Bytes()[at:], from)
	}
	for i := range r.Strings() {
		r.Strings()[i] = t.Strings()[i%t.Len()]
	}
	return r
}

// run makes a model of the node and runs it. The inputs are constants if fixed is set.
func (m mutant) run(t testing.TB, fixed bool) error {
	g := &graph.Graph{Nodes: []*graph.Node{m.node}}
	in := map[string]tensor.Value{}
	for i, name := range m.node.Inputs {
		if name == "" || i >= len(m.in) || m.in[i] == nil {
			continue
		}
		x, ok := m.in[i].(*tensor.Tensor)
		if ok && fixed && i > 0 {
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: x})
			continue
		}
		v := graph.Type{}
		if !fixed {
			v = op.TypeOf(m.in[i])
			v.Dims = nil
		}
		g.Inputs = append(g.Inputs, &graph.Value{Name: name, Type: v})
		in[name] = m.in[i]
		if ok {
			var free func()
			in[name], free = fenced(t, x)
			defer free()
		}
	}
	for _, name := range m.node.Outputs {
		if name != "" {
			g.Outputs = append(g.Outputs, &graph.Value{Name: name})
		}
	}
	s, err := byname.New(&graph.Model{File: "extremes", Graph: g},
		runtime.Options{Threads: 1, MemoryLimit: 16 << 20, NoOptimize: fixed})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = s.RunValues(ctx, in)
	return err
}
