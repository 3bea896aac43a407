package vulkan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestOpeningOfStep checks that the session's device computes the positions of a decoder's step ahead
// of the commands, which become fewer. The commands stay one submission, recorded once for a room.
func TestOpeningOfStep(t *testing.T) {
	const tokens, room, rooms = 24, 16, 2 // 16 and 32 rows
	size := topologies.LlamaSize{Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Words: 100}
	want := greedy(t, nil, size, room, tokens)
	var commands [2]int
	for i, o := range []vulkan.Options{{Everything: true}, {}} {
		d := open(t, o)
		if got := greedy(t, accelerator(t, d), size, room, tokens); !slices.Equal(got, want) {
			t.Errorf("%+v: tokens %v, want %v", o, got, want)
		}
		if hasNoLongs(t, d) {
			return
		}
		if n := d.Recordings(); n != 1+rooms {
			t.Errorf("%+v: %d recordings for a prompt and %d rooms", o, n, rooms)
		}
		commands[i], _ = d.Recorded()
	}
	if commands[1] > commands[0]-7 {
		t.Errorf("a step has %d commands, and %d if the device computes all", commands[1], commands[0])
	}
}

// TestOpening checks where the nodes of a graph run. Integers from the inputs open the run on the
// session's device, also if the file has them last. Other nodes stay, such as those on many numbers and
// those on integers that the device computes.
func TestOpening(t *testing.T) {
	types := func(d tensor.DType, dims ...int) graph.Type {
		list := graph.Dims{}
		for _, n := range dims {
			list = append(list, graph.Known(n))
		}
		return graph.TensorOf(d, list)
	}
	m := &graph.Model{Graph: &graph.Graph{
		Name: "opening",
		Inputs: []*graph.Value{{Name: "x", Type: types(tensor.F32, 4, 2000)}, {Name: "i", Type: types(tensor.I64, 4)},
			{Name: "m", Type: types(tensor.I64, 4, 2000)}},
		Initializers: []*graph.Initializer{{Name: "1", Tensor: tensorOf(t, []int64{1}, 1)},
			{Name: "3", Tensor: tensorOf(t, []int64{3}, 1)}},
		Nodes: []*graph.Node{
			node("Relu", "x", "r"), node("ArgMax", "r", "a", ints("axis", 0), ints("keepdims", 0)),
			node("Add", "a1", "b"), node("Mul", "b3", "c"), node("Gather", "rc", "g", ints("axis", 1)),
			node("Add", "m1", "n"), node("Cast", "n", "f", ints("to", 1)), node("Mul", "fr", "h"),
			node("Add", "i1", "j"), node("Mul", "j3", "k"), node("Gather", "hk", "l", ints("axis", 1)),
		},
		Outputs: []*graph.Value{{Name: "g", Type: types(tensor.F32, 4, 2000)}, {Name: "l", Type: types(tensor.F32, 4, 4)}},
	}}
	in := map[string]*tensor.Tensor{"i": tensorOf(t, []int64{5, 0, 600, 31}, 4)}
	x, many := make([]float32, 8000), make([]int64, 8000)
	for i := range x {
		x[i], many[i] = float32(i%7-3), int64(i%5)
	}
	in["x"], in["m"] = tensorOf(t, x, 4, 2000), tensorOf(t, many, 4, 2000)
	want, err := session(t, m, nil).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, vulkan.Options{})
	s := session(t, m, accelerator(t, d))
	got, err := s.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if at := differ(got[name], want[name], 0); at >= 0 {
			t.Errorf("element %d of %s differs", at, name)
		}
	}
	if hasNoLongs(t, d) {
		return
	}
	pl, err := s.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var opening []string
	for i := range pl.Steps {
		if !pl.Steps[i].Offloaded() {
			opening = append(opening, pl.Steps[i].Node.Outputs...)
		}
	}
	if len(pl.Segments) != 2 || pl.Segments[0].Offloaded || !slices.Equal(opening, []string{"j", "k"}) {
		t.Errorf("the session's device computes %q in %d segments of\n%v", opening, len(pl.Segments), pl)
	}
	if !strings.Contains(pl.String(), "fewer commands") {
		t.Errorf("the plan does not say why:\n%v", pl)
	}
}
