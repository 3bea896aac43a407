package plan_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// partsNetwork joins, splits, reshapes and adds values of 16 channels and multiples at random.
func partsNetwork(r *rand.Rand) *network {
	n := newNetwork(1, 16, 4, 4)
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 1}
	shape, err := tensor.From([]int64{1, -1, 4, 4}, 4)
	if err != nil {
		panic(err)
	}
	n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: "shape", Tensor: shape})
	type value struct {
		name   string
		blocks int
	}
	all := []value{{n.add("Relu", nil, "x"), 1}}
	pick := func() value { return all[r.IntN(len(all))] }
	for range 12 + r.IntN(20) {
		a, b := pick(), pick()
		switch r.IntN(6) {
		case 0:
			list, blocks := []string{a.name, b.name}, a.blocks+b.blocks
			for range r.IntN(3) {
				c := pick()
				list, blocks = append(list, c.name), blocks+c.blocks
			}
			if blocks <= 24 {
				all = append(all, value{n.add("Concat", []*graph.Attr{axis}, list...), blocks})
			}
		case 1:
			if a.blocks%2 == 0 {
				name := fmt.Sprint("split", len(n.g.Nodes))
				n.g.Nodes = append(n.g.Nodes, &graph.Node{Name: name, Op: "Split", Version: 17, Inputs: []string{a.name},
					Outputs: []string{name + "a", name + "b"}, Attrs: []*graph.Attr{axis}})
				all = append(all, value{name + "a", a.blocks / 2}, value{name + "b", a.blocks / 2})
			}
		case 2:
			all = append(all, value{n.add("Sigmoid", nil, a.name), a.blocks})
		case 3:
			if a.blocks == b.blocks {
				all = append(all, value{n.add("Add", nil, a.name, b.name), a.blocks})
			}
		case 4:
			all = append(all, value{n.add("Reshape", nil, a.name, "shape"), a.blocks})
		default:
			all = append(all, value{n.depthwise(a.name, 16*a.blocks), a.blocks})
		}
	}
	return n
}

// TestParts compares random networks that share memory between values with the same networks with
// every value as a result with memory of its own.
func TestParts(t *testing.T) {
	testenv.Need(t, bindings.Available())
	joined := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 41))
		n := partsNetwork(r)
		last := n.g.Nodes[len(n.g.Nodes)-1]
		in := n.input()
		o := runtime.Options{Threads: 1, NoOptimize: true}
		for _, policy := range []device.LayoutPolicy{device.LayoutsPlain, device.LayoutsBlocked} {
			shared := *n.g
			shared.Outputs = []*graph.Value{{Name: last.Outputs[0]}}
			apart := *n.g
			for _, node := range n.g.Nodes {
				for _, name := range node.Outputs {
					apart.Outputs = append(apart.Outputs, &graph.Value{Name: name})
				}
			}
			model := func(g *graph.Graph) *graph.Model {
				return &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
			}
			got, err := runLayouts(model(&shared), o, policy, in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := runLayouts(model(&apart), o, policy, in)
			if err != nil {
				t.Fatal(err)
			}
			name := last.Outputs[0]
			if d := differs(got.out[name], want.out[name], 0); d != "" {
				t.Fatalf("seed %d, policy %v: %s\n%v", seed, policy, d, got.plan)
			}
			joined += partsInPlace(got.plan)
		}
	}
	if joined < 100 {
		t.Errorf("%d parts were computed in place", joined)
	}
}

// partsInPlace counts the parts of joins and splits that are in place within the whole, so that no
// copy is needed.
func partsInPlace(pl *plan.Plan) (count int) {
	for i := range pl.Steps {
		st := &pl.Steps[i]
		for _, s := range st.Joins {
			part, whole := &pl.Slots[st.In[s.Operand]], &pl.Slots[st.Out[0]]
			if part.Place == plan.Arena && whole.Place == plan.Arena && part.Offset == whole.Offset+s.Offset {
				count++
			}
		}
		for _, s := range st.Splits {
			part, whole := &pl.Slots[st.Out[s.Operand]], &pl.Slots[st.In[0]]
			if part.Place == plan.Arena && whole.Place == plan.Arena && part.Offset == whole.Offset+s.Offset {
				count++
			}
		}
	}
	return count
}

// TestDenseBlock joins every value with all before it, as in DenseNet. All parts of the joins are
// in place.
func TestDenseBlock(t *testing.T) {
	testenv.Need(t, bindings.Available())
	n := newNetwork(1, 16, 4, 4)
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 1}
	list := []string{n.add("Relu", nil, "x")}
	y := list[0]
	for i := range 5 {
		y = n.add("Conv", nil, n.add("Sigmoid", nil, y), n.weight(16, 16*(i+1), 1, 1))
		list = append(list, y)
		y = n.add("Concat", []*graph.Attr{axis}, append([]string(nil), list...)...)
	}
	m := n.model(n.add("GlobalMaxPool", nil, y))
	s, err := byname.New(m, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := n.input()
	pl, err := s.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := partsInPlace(pl); got != 2+3+4+5+6 {
		t.Errorf("%d parts lie in place\n%v", got, pl)
	}
	if _, err := s.Run(context.Background(), in); err != nil {
		t.Fatal(err)
	}
}
