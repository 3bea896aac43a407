package optest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// cpu evaluates nodes as a session does, with hostile memory: it holds rubbish, and requests may
// fail.
type cpu struct {
	registry *op.Registry
	isa      bindings.ISA
	pool     *bindings.Pool
	variable bool
	inPlace  int // the input, from 1, whose memory output 0 reuses; 0 for none
	fail     int // the request of Run, from 1, that fails; 0 for none
	requests int
}

var errMemory = errors.New("no memory, as the test asks")

func (d *cpu) eval(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	packs := cpudevice.NewPacks()
	defer packs.Close()
	dev, err := cpudevice.New(d.isa, d.pool, d.pool.Threads(), packs)
	if err != nil {
		return nil, err
	}
	d.requests = 0
	if d.inPlace > 0 {
		in = slices.Clone(in)
		in[d.inPlace-1] = in[d.inPlace-1].Clone()
	}
	once := device.Once{Device: dev, Over: d.inPlace, Variable: d.variable,
		New: func(t tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
			if d.requests++; d.requests == d.fail {
				return nil, errMemory
			}
			return rubbish(t, shape), nil
		}}
	return once.Eval(d.registry, n, in)
}

// rubbish returns a tensor of useless elements with clear unused bits.
func rubbish(d tensor.DType, shape tensor.Shape) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Bytes() {
		t.Bytes()[i] = 0xa5
	}
	for i := range t.Strings() {
		t.Strings()[i] = "rubbish"
	}
	return t
}

func TestCPU(t *testing.T) {
	testenv.Need(t, bindings.Available())
	avx2, err := bindings.ParseISA("avx2")
	if err != nil {
		t.Fatal(err)
	}
	registry, all := standard.Registry(), bindings.DetectISA()
	for _, setting := range []struct {
		name    string
		isa     bindings.ISA
		threads int
	}{{"scalar", 0, 1}, {"avx2", avx2 & all, 2}, {"all", all, 1}, {"all", all, 2}} {
		t.Run(fmt.Sprintf("%s/%d", setting.name, setting.threads), func(t *testing.T) {
			pool, err := bindings.NewPool(setting.threads)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			d := &cpu{registry: registry, isa: setting.isa, pool: pool}
			Run(t, d.eval)
			d.variable = true
			Run(t, d.eval)
		})
	}
}

// TestInPlace gives output 0 the memory of every input that it may reuse.
func TestInPlace(t *testing.T) {
	testenv.Need(t, bindings.Available())
	d := &cpu{registry: standard.Registry(), isa: bindings.DetectISA()}
	eachCase(func(c *cases.Case, row *op.Row, version int) {
		for _, k := range row.InPlace {
			if c.Fails != nil || k >= len(c.In) || c.In[k] == nil || c.Want[0] == nil || c.In[k].DType() == tensor.String {
				continue
			}
			from, to := c.In[k], c.Want[0]
			if !from.Shape().Equal(to.Shape()) || from.DType().Bits() != to.DType().Bits() {
				continue
			}
			d.inPlace = k + 1
			if err := c.Check(d.eval, version); err != nil {
				t.Errorf("%s over input %d: %v", c.Name(), k, err)
			}
		}
	})
}

// TestInputsStay checks that operators do not write to their inputs.
func TestInputsStay(t *testing.T) {
	testenv.Need(t, bindings.Available())
	d := &cpu{registry: standard.Registry(), isa: bindings.DetectISA()}
	eachCase(func(c *cases.Case, row *op.Row, version int) {
		before := make([]*tensor.Tensor, len(c.In))
		for i, x := range c.In {
			if x != nil {
				before[i] = x.Clone()
			}
		}
		_, _ = d.eval(c.Node(version), c.In)
		for i, x := range c.In {
			if x != nil && (!bytes.Equal(x.Bytes(), before[i].Bytes()) || !slices.Equal(x.Strings(), before[i].Strings())) {
				t.Errorf("%s: input %d has changed", c.Name(), i)
			}
		}
	})
}

// TestMemoryFails makes every request for memory fail once.
func TestMemoryFails(t *testing.T) {
	testenv.Need(t, bindings.Available())
	d := &cpu{registry: standard.Registry(), isa: bindings.DetectISA()}
	eachCase(func(c *cases.Case, row *op.Row, version int) {
		if c.Fails != nil {
			return
		}
		d.fail, d.requests = 0, 0
		if _, err := d.eval(c.Node(version), c.In); err != nil {
			return
		}
		for d.fail = 1; d.fail <= d.requests; d.fail++ {
			_, err := d.eval(c.Node(version), c.In)
			if !errors.Is(err, errMemory) {
				t.Errorf("%s: request %d fails and the error is %v", c.Name(), d.fail, err)
			}
		}
	})
}

// eachCase calls f for every case of an operator with a row, in its first version.
func eachCase(f func(c *cases.Case, row *op.Row, version int)) {
	rows := Rows()
	for _, c := range Cases() {
		if row := rows[c.Key()]; row != nil {
			if v := c.Versions(row); len(v) > 0 {
				f(c, row, v[0])
			}
		}
	}
}

// TestCasesAreWhole checks that every case has an expectation and holds for a version of its
// operator.
func TestCasesAreWhole(t *testing.T) {
	rows := Rows()
	for _, c := range Cases() {
		row := rows[c.Key()]
		switch {
		case (c.Want == nil) == (c.Fails == nil):
			t.Errorf("%s: one of Want and Fails must be there", c.Name())
		case c.Fails != nil && !slices.Contains(kinds, c.Fails):
			t.Errorf("%s: no kind of error is called %q", c.Name(), c.Fails)
		case row == nil:
			t.Errorf("%s: there is no such operator", c.Name())
		case len(c.Versions(row)) == 0:
			t.Errorf("%s: holds for no version", c.Name())
		}
	}
}

// answered returns the operators with stored answers of ONNX Runtime. The tests of op/standard
// compare with them.
func answered(t *testing.T) map[string]bool {
	files, err := filepath.Glob(filepath.Join("..", "..", "op", "standard", "testdata", "microsoft", "*.json"))
	if err != nil || files == nil {
		t.Fatalf("no answers: %v", err)
	}
	found := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Op, Domain string }
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, a := range list {
			found[(&cases.Case{Domain: a.Domain, Op: a.Op}).Key()] = true
		}
	}
	return found
}

// TestEveryRowHasCases checks that the suite covers every row of the operator table with every
// version and element type. Rows with stored answers of ONNX Runtime need no cases.
func TestEveryRowHasCases(t *testing.T) {
	type seen struct {
		versions map[int]bool
		types    map[tensor.DType]bool
	}
	rows, answered := Rows(), answered(t)
	covered := map[string]*seen{}
	for _, c := range Cases() {
		row := rows[c.Key()]
		if row == nil {
			continue
		}
		s := covered[c.Key()]
		if s == nil {
			s = &seen{map[int]bool{}, map[tensor.DType]bool{}}
			covered[c.Key()] = s
		}
		for _, v := range c.Versions(row) {
			s.versions[v] = s.versions[v] || c.Fails == nil
		}
		if row.Typed < len(c.In) && c.In[row.Typed] != nil {
			s.types[c.In[row.Typed].DType()] = true
		}
	}
	for name, row := range rows {
		// Cases have only tensors as inputs and outputs. Package runtime tests operators on other
		// values and operators that run graphs, with whole models.
		if row.DynamicOutputs {
			continue
		}
		s := covered[name]
		if s == nil {
			if !answered[name] {
				t.Errorf("%s has no case", name)
			}
			continue
		}
		for i, v := range row.Since {
			next := 1 << 30
			if i+1 < len(row.Since) {
				next = row.Since[i+1]
			}
			found := false
			for w, ok := range s.versions {
				found = found || ok && w >= v && w < next
			}
			if !found {
				t.Errorf("%s has no case in version %d", name, v)
			}
		}
		types := row.Types
		if types == nil {
			types = tensor.DTypes()
		}
		for _, d := range types {
			if !s.types[d] && row.In[1] != 0 {
				t.Errorf("%s has no case with elements of type %v", name, d)
			}
		}
	}
}
