package vulkan_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestOneClock checks that the steps of a device are within the host's calls of it, and that a trace
// has a line for each.
func TestOneClock(t *testing.T) {
	p := newPair(t)
	_, prof, err := p.distant.Profile(t.Context(), map[string]tensor.Value{"x": random(rand.New(rand.NewPCG(3, 4)), 9, 20)})
	if err != nil {
		t.Fatal(err)
	}
	if len(prof.Waits) == 0 {
		t.Fatal("no call of the device is noted")
	}
	offloaded := 0
	for _, s := range prof.Steps {
		within := false
		for _, w := range prof.Waits {
			within = within || s.Start >= w.Start && s.Start+s.Time <= w.Start+w.Time
		}
		if s.Offloaded {
			offloaded++
		}
		if s.Offloaded != within {
			t.Errorf("%s from %v for %v is within a call of the device: %v; calls %v", s.Op, s.Start, s.Time, within, prof.Waits)
		}
	}
	if offloaded < 3 {
		t.Errorf("%d steps are the device's", offloaded)
	}
	var trace bytes.Buffer
	if err := prof.WriteTrace(&trace); err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Phase string `json:"ph"`
		TID   int    `json:"tid"`
	}
	if err := json.Unmarshal(trace.Bytes(), &events); err != nil {
		t.Fatal(err)
	}
	lines, names := map[int]int{}, 0
	for _, e := range events {
		if e.Phase == "M" {
			names++
		} else {
			lines[e.TID]++
		}
	}
	if len(lines) != 2 || names != 2 {
		t.Errorf("events by line are %v, and %d lines have names", lines, names)
	}
}

// TestCompare times the ways to compute steps on a device. A convolution has several.
func TestCompare(t *testing.T) {
	defer vulkan.AlwaysTransformed()()
	r := rand.New(rand.NewPCG(5, 6))
	n := node("Conv", "xw", "y", extents("pads", 1, 1, 1, 1))
	m := &graph.Model{Graph: &graph.Graph{Name: "conv", Nodes: []*graph.Node{n},
		Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{1, 16, 16, 16}))}},
		Outputs:      []*graph.Value{{Name: "y"}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: random(r, 16, 16, 3, 3)}}}}
	s, err := engine.New(m, engine.Options{Accelerator: accelerator(t, open(t, vulkan.Options{Everything: true})), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.Plan(t.Context(), []tensor.Value{tensor.New(tensor.F32, 1, 16, 16, 16)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Compare(t.Context(), p, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || len(list[0].Ways) < 2 {
		t.Fatalf("steps %+v", list)
	}
	taken := 0
	for _, w := range list[0].Ways {
		if w.Err != nil || w.Time <= 0 || !strings.HasPrefix(w.How, "vulkan ") {
			t.Errorf("%+v", w)
		}
		if w.Taken {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d ways are taken: %+v", taken, list[0].Ways)
	}
}
