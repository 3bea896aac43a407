package plan_test

import (
	"bytes"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// expanded adds a 1x1 convolution and a depthwise convolution of its result, and returns both
// results.
func (n *network) expanded(x string, channels, filters int) (between, y string) {
	between = n.add("Relu", nil, n.add("Conv", nil, x, n.weight(filters, channels, 1, 1), n.weight(filters)))
	return between, n.add("Relu", nil, n.depthwise(between, filters))
}

// TestJoin computes two convolutions in one step if nothing else reads the value between them, and
// compares the result with one step for each.
func TestJoin(t *testing.T) {
	testenv.Need(t, bindings.Available())
	cases := []struct {
		name   string
		joined int
		build  func(n *network) []string
	}{
		{"a block", 1, func(n *network) []string {
			_, y := n.expanded("x", 12, 40)
			return []string{y}
		}},
		{"two blocks with a residual", 2, func(n *network) []string {
			_, y := n.expanded("x", 12, 40)
			y = n.add("Add", nil, n.add("Conv", nil, y, n.weight(12, 40, 1, 1)), "x")
			_, y = n.expanded(y, 12, 33)
			return []string{y}
		}},
		{"what is between is a result", 0, func(n *network) []string {
			between, y := n.expanded("x", 12, 40)
			return []string{between, y}
		}},
		{"another node reads what is between", 0, func(n *network) []string {
			between, y := n.expanded("x", 12, 40)
			return []string{n.add("Add", nil, y, n.depthwise(between, 40))}
		}},
		{"a pool is between", 0, func(n *network) []string {
			y := n.pool("MaxPool", n.add("Conv", nil, "x", n.weight(40, 12, 1, 1)))
			return []string{n.depthwise(y, 40)}
		}},
		{"the first meets more than a pixel", 0, func(n *network) []string {
			y := n.add("Conv", []*graph.Attr{graph.IntsAttr("pads", 1, 1, 1, 1)}, "x", n.weight(40, 12, 3, 3))
			return []string{n.depthwise(y, 40)}
		}},
	}
	for _, c := range cases {
		n := newNetwork(2, 12, 20, 23)
		m, in := n.model(c.build(n)...), n.input()
		plain, err := runLayouts(m, runtime.Options{Threads: 2}, device.LayoutsPlain, in)
		if err != nil {
			t.Fatal(err)
		}
		one, err := runLayouts(m, runtime.Options{Threads: 1}, device.LayoutsBlocked, in)
		if err != nil {
			t.Fatal(err)
		}
		joined := 0
		for i := range one.plan.Steps {
			if one.plan.Steps[i].OpName() == "nacre.ExpandConv-1" {
				joined++
			}
		}
		if joined != c.joined {
			t.Errorf("%s: %d steps of two convolutions, not %d", c.name, joined, c.joined)
		}
		two, err := runLayouts(m, runtime.Options{Threads: 2}, device.LayoutsBlocked, in)
		if err != nil {
			t.Fatal(err)
		}
		for name := range plain.out {
			if at := differs(one.out[name], plain.out[name], 1e-4); at != "" {
				t.Errorf("%s, %s: %s", c.name, name, at)
			}
			if !bytes.Equal(one.out[name].Bytes(), two.out[name].Bytes()) {
				t.Errorf("%s, %s: two threads compute other bits than one", c.name, name)
			}
		}
	}
}
