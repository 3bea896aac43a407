package optest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bench/operators"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	cpudevice "github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// everyDeadline is the environment variable that selects operators: "all", or a part of their
// names.
const everyDeadline = "NACRE_TEST_DEADLINES"

// sampledDeadlines is the inverse share of operators tried in a run without the variable.
const sampledDeadlines = 100

// TestDeadlines grows the inputs of operators until a run takes long, then stops runs early. An
// operator that does not check for a stop takes the full time.
func TestDeadlines(t *testing.T) {
	testenv.Need(t, bindings.Available())
	list := growths(t)
	for _, inGo := range []bool{false, true} {
		t.Run(map[bool]string{false: "kernels", true: "go"}[inGo], func(t *testing.T) {
			d := newHeavyDevice(t, inGo)
			for _, g := range list {
				d.try(t, g)
			}
		})
	}
}

// isAsked reports whether an operator or a row is tried.
func isAsked(name string) bool {
	switch asked := os.Getenv(everyDeadline); asked {
	case "all":
		return true
	case "":
		h := fnv.New32()
		h.Write([]byte(name))
		return h.Sum32()%sampledDeadlines == 0
	default:
		return strings.Contains(name, asked)
	}
}

// heavyDevice runs nodes on a CPU with kernels, or only in Go.
type heavyDevice struct {
	device.Device
	only     bool
	registry *op.Registry
	bytes    int              // of outputs and scratch of a run
	made     []*tensor.Tensor // allocated by the run; later runs reuse those that fit
	idle     []*tensor.Tensor
}

func newHeavyDevice(t *testing.T, only bool) *heavyDevice {
	packs := cpudevice.NewPacks()
	t.Cleanup(packs.Close)
	cpu, err := cpudevice.New(bindings.DetectISA(), nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	return &heavyDevice{Device: cpu, only: only, registry: standard.Registry()}
}

// Bind refuses kernels for nodes that can run in Go, if d.only is set.
func (d *heavyDevice) Bind(b *device.Binding) (*device.Step, error) {
	if _, ok := b.Op.(op.Runner); d.only && ok {
		return nil, device.Refuse("the test wants Go")
	}
	return d.Device.Bind(b)
}

// growth is a node with inputs that grow.
type growth struct {
	name string
	node *graph.Node
	in   []*tensor.Tensor
}

// growths returns nodes of the operators that are tried: rows of bench/operators, or a case of the
// suite.
func growths(t *testing.T) []growth {
	rows, err := operators.Rows()
	if err != nil {
		t.Fatal(err)
	}
	var list []growth
	found := map[string]bool{}
	for i := range rows {
		if !isAsked(rows[i].Name) {
			found[rows[i].Op()] = true
			continue
		}
		m, err := rows[i].Build()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Graph.Nodes) != 1 || hasBody(m.Graph.Nodes[0]) {
			continue
		}
		n := m.Graph.Nodes[0]
		g := growth{name: rows[i].Name, node: n}
		for _, name := range n.Inputs {
			g.in = append(g.in, valueOf(m, name))
		}
		list = append(list, g)
		found[cases.RowKey(n.Domain, n.Op)] = true
	}
	known := Rows()
	for _, wide := range []bool{false, true} { // cases of common types first
		for _, c := range Cases() {
			row := known[c.Key()]
			if row == nil || c.Fails != nil || found[c.Key()] || !isAsked(c.Key()) || !wide && !isCommon(c) ||
				hasBody(&graph.Node{Attrs: c.Attrs}) {
				continue
			}
			if v := c.Versions(row); len(v) > 0 {
				list = append(list, growth{c.Key(), c.Node(v[len(v)-1]), c.In})
				found[c.Key()] = true
			}
		}
	}
	return list
}

func isCommon(c *cases.Case) bool {
	return len(c.In) > 0 && c.In[0] != nil && (c.In[0].DType() == tensor.F32 || c.In[0].DType() == tensor.String)
}

func hasBody(n *graph.Node) bool {
	return slices.ContainsFunc(n.Attrs, func(a *graph.Attr) bool { return a.Kind == graph.AttrGraph })
}

func valueOf(m *operators.Model, name string) *tensor.Tensor {
	for i, v := range m.Graph.Inputs {
		if v.Name == name {
			return m.Feeds[i]
		}
	}
	for _, init := range m.Graph.Initializers {
		if init.Name == name {
			return init.Tensor
		}
	}
	return nil
}

var errHeavy = errors.New("more memory than the test takes")

// mostHeavy bounds, in bytes, the inputs of a node, and the memory that it takes besides.
const mostHeavy = 32 << 20

// run runs a node until it ends, or until a flag is set after the duration end. late is how long
// the run continued after the flag was set.
func (d *heavyDevice) run(g growth, end time.Duration) (took, late time.Duration, err error) {
	flag, err := d.NewFlag()
	if err != nil {
		return 0, 0, err
	}
	set := make(chan time.Time, 1)
	timer := time.AfterFunc(end, func() {
		flag.Set()
		set <- time.Now()
	})
	d.bytes, d.idle, d.made = 0, d.made, nil
	begin := time.Now()
	_, err = device.Once{Device: d, Stop: flag, Limit: mostHeavy, New: d.make}.Eval(d.registry, g.node, g.in)
	took = time.Since(begin)
	if !timer.Stop() {
		late = time.Since(<-set) - (time.Since(begin) - took)
	}
	flag.Free()
	return took, late, err
}

func (d *heavyDevice) make(t tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if d.bytes += tensor.SizeOf(t, shape); d.bytes > mostHeavy {
		return nil, errHeavy
	}
	fits := func(x *tensor.Tensor) bool { return x.DType() == t && x.Shape().Equal(shape) }
	x := (*tensor.Tensor)(nil)
	if i := slices.IndexFunc(d.idle, fits); i >= 0 {
		x = d.idle[i]
		d.idle = slices.Delete(d.idle, i, i+1)
	} else {
		x = tensor.New(t, shape...)
	}
	d.made = append(d.made, x)
	return x, nil
}

const (
	heavy = 200 * time.Millisecond // the intended duration of a run
	never = time.Hour
)

// try grows a node and stops runs of it.
func (d *heavyDevice) try(t *testing.T, g growth) {
	took, _, err := d.run(g, never)
	if err != nil {
		return // no device, or another level, computes it
	}
	g, took = d.grow(g, took)
	if took < heavy/2 {
		return // it takes no time within the memory
	}
	t.Logf("%s: %v", g, took)
	for _, end := range []time.Duration{took / 8, took / 2} {
		bound := max((took-end)/3, 50*time.Millisecond)
		least := never
		for range 20 {
			if _, late, err := d.run(g, end); err != nil && !errors.Is(err, op.ErrStopped) {
				t.Errorf("%s: %v", g, err)
				return
			} else if least = min(least, late); least <= bound {
				break
			}
		}
		if least > bound {
			t.Errorf("%s: of %v, ended after %v, it ran on for %v", g, took, end, least)
		}
	}
}

// String names the node with its inputs.
func (g growth) String() string {
	text := g.name
	for _, x := range g.in {
		if x == nil {
			text += " -"
			continue
		}
		text += fmt.Sprintf(" %v%v", x.DType(), x.Shape())
	}
	for _, a := range g.node.Attrs {
		text += fmt.Sprintf(" %s=%v%v", a.Name, a.Int, a.Ints)
	}
	return text
}
