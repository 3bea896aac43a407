package optest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	cpudevice "github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var tableRows = sync.OnceValue(func() []*op.Row { return standard.Registry().Rows() })

// FuzzModel changes models in a few places and compares sessions with and without passes: the
// verdict, the results, and the last rows of results. The models are the cases of the suite and, if
// their folder is named, the official ones.
func FuzzModel(f *testing.F) {
	testenv.Need(f, bindings.Available())
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		f.Add(uint16(r.Uint32()), randomScript(r))
	}
	// Go's fuzzer ends an input after ten seconds. The cases take long to make on a slow machine.
	casesOf()
	officials()
	f.Fuzz(func(t *testing.T, base uint16, data []byte) { tryMutant(t, base, data) })
}

var (
	mutants = flag.Int("mutants", 200, "how many models TestModels makes")
	seed    = flag.Uint64("seed", 3, "which models TestModels makes")
)

// TestModels is FuzzModel for a few hundred models, or as many as the flag says.
func TestModels(t *testing.T) {
	testenv.Need(t, bindings.Available())
	r := rand.New(rand.NewPCG(*seed, 4))
	ran := 0
	for range *mutants {
		if tryMutant(t, uint16(r.Uint32()), randomScript(r)) {
			ran++
		}
	}
	t.Logf("%d of %d models ran", ran, *mutants)
	if ran < *mutants/10 {
		t.Errorf("only %d of %d models ran", ran, *mutants)
	}
}

func randomScript(r *rand.Rand) []byte {
	data := make([]byte, 4+r.IntN(14))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// tryMutant makes a mutant and compares its sessions. It reports whether the mutant ran.
func tryMutant(t testing.TB, base uint16, data []byte) bool {
	if len(data) > 200 {
		return false
	}
	s := &script{data: data}
	m := &mutant{}
	if files := officials(); len(files) > 0 && base&1 == 1 {
		m = ofFile(t, files[int(base>>1)%len(files)])
		m.model = copiedModel(m.model)
	} else {
		list := casesOf()
		c := list[int(base)%len(list)]
		versions := c.Versions(Rows()[c.Key()])
		m = ofCase(c, versions[s.pick(len(versions))], s.pick(256))
		m.model = copiedModel(m.model)
	}
	for !s.ended() {
		m.edit(s)
	}
	if graph.Validate(m.model) != nil {
		return false
	}
	ran, why := m.compare()
	if why != "" {
		var b strings.Builder
		_ = graph.Dump(&b, m.model)
		for name, v := range m.feeds {
			fmt.Fprintf(&b, "feed %s %.300v\n", name, v)
		}
		t.Errorf("%d %q: %s\n%.6000s", base, data, why, b.String())
	}
	return ran
}

// outcome is the result of one way to run a model.
type outcome struct {
	err     error
	results map[string]tensor.Value
}

// Limits on the memory and the time of the runs of a mutant. Go's fuzzer ends an input after ten
// seconds.
const (
	mutantMemory = 64 << 20
	mutantTime   = 5 * time.Second
)

// run makes a session and runs it twice. It returns the results, and the last rows of results.
func (m *mutant) run(
	ctx context.Context, plain bool, feeds func(byname.Session) map[string]tensor.Value,
) (o outcome, err error) {
	packs := cpudevice.NewPacks()
	defer packs.Close()
	options := runtime.Options{Threads: 1, NoOptimize: plain, Packs: packs, MemoryLimit: mutantMemory}
	p, err := runtime.Compile(ctx, m.model, options)
	if err != nil {
		return outcome{err: err}, nil
	}
	e, err := p.NewSession(options)
	if err != nil {
		return o, err
	}
	defer e.Close()
	s := byname.Session{Session: e}
	in := feeds(s)
	o.results, o.err = s.RunValues(ctx, in)
	again, err := s.RunValues(ctx, in)
	if (err == nil) != (o.err == nil) {
		return o, fmt.Errorf("the first run gives %v, the second %v", o.err, err)
	}
	if o.err == nil && !m.impure() {
		if err := sameResults(o.results, again, 0); err != nil {
			return o, fmt.Errorf("two runs differ: %w", err)
		}
	}
	if o.err != nil || plain {
		return o, nil
	}
	return o, m.lastRows(ctx, p, o, options, in)
}

// lastRows runs a program for the last rows of all outputs that have rows.
func (m *mutant) lastRows(
	ctx context.Context, p *runtime.Program, whole outcome, options runtime.Options, in map[string]tensor.Value,
) error {
	var names []string
	var outputs []int
	for i, v := range m.model.Graph.Outputs {
		x, ok := whole.results[v.Name].(*tensor.Tensor)
		made := slices.ContainsFunc(m.model.Graph.Nodes,
			func(n *graph.Node) bool { return slices.Contains(n.Outputs, v.Name) })
		if ok && made && len(x.Shape()) >= 2 && x.Shape()[len(x.Shape())-2] > 0 && x.DType().Bits()%8 == 0 &&
			x.DType() != tensor.String && !slices.Contains(names, v.Name) {
			names, outputs = append(names, v.Name), append(outputs, i)
		}
	}
	if names == nil || m.impure() {
		return nil
	}
	q, err := p.LastRows(ctx, outputs)
	if errors.Is(err, graph.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("last rows: %w", err)
	}
	e, err := q.NewSession(options)
	if err != nil {
		return err
	}
	defer e.Close()
	s := byname.Session{Session: e}
	got, err := s.RunValues(ctx, in)
	if err != nil {
		return fmt.Errorf("last rows: %w", err)
	}
	want := map[string]tensor.Value{}
	for name, v := range whole.results {
		if want[name] = v; slices.Contains(names, name) {
			want[name] = lastRow(v.(*tensor.Tensor))
		}
	}
	if err := sameResults(want, got, tolerance); err != nil {
		return fmt.Errorf("last rows of %q: %w", names, err)
	}
	return nil
}

// lastRow copies the last row of each matrix.
func lastRow(x *tensor.Tensor) *tensor.Tensor {
	shape := slices.Clone(x.Shape())
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	shape[len(shape)-2] = 1
	y := tensor.New(x.DType(), shape...)
	row := x.DType().Bytes(columns)
	for i := 0; row > 0 && i < len(y.Bytes())/row; i++ {
		copy(y.Bytes()[i*row:(i+1)*row], x.Bytes()[((i+1)*rows-1)*row:])
	}
	return y
}

// compare reports whether the model runs, and the fault of its sessions; "" for none.
func (m *mutant) compare() (ran bool, why string) {
	ctx, cancel := context.WithTimeout(context.Background(), mutantTime)
	defer cancel()
	plain, err := m.run(ctx, true, m.inputs)
	if err != nil && ctx.Err() == nil {
		return false, "without passes: " + err.Error()
	}
	fast, err := m.run(ctx, false, m.inputs)
	if err != nil && !errors.Is(err, graph.ErrMemory) && ctx.Err() == nil {
		return false, "with passes: " + err.Error()
	}
	for _, o := range []outcome{plain, fast} {
		if errors.Is(o.err, guard.ErrInternal) {
			return false, o.err.Error()
		}
		if errors.Is(o.err, graph.ErrMemory) || ctx.Err() != nil {
			return false, ""
		}
	}
	switch {
	case (plain.err == nil) != (fast.err == nil):
		return false, fmt.Sprintf("without passes %v, with passes %v", plain.err, fast.err)
	case plain.err != nil || m.impure():
		return plain.err == nil, ""
	}
	if err := sameResults(plain.results, fast.results, tolerance); err != nil {
		return true, "results differ: " + err.Error()
	}
	return true, ""
}

// impure reports whether nodes may give different results each time.
func (m *mutant) impure() bool { return impure(m.model.Graph) }

func impure(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool {
		row, _, err := standard.Registry().Find(n)
		return err == nil && row.Impure ||
			slices.ContainsFunc(n.Attrs, func(a *graph.Attr) bool { return a.Graph != nil && impure(a.Graph) })
	})
}

// inputs returns the inputs of a run: the mutant's own if they have the declared type, otherwise
// numbers.
func (m *mutant) inputs(s byname.Session) map[string]tensor.Value {
	in := map[string]tensor.Value{}
	for _, v := range s.Inputs() {
		have := m.feeds[v.Name]
		if v.Type.Kind != graph.TensorType {
			in[v.Name] = have
			continue
		}
		t, ok := have.(*tensor.Tensor)
		shape := tensor.Shape{}
		for i, d := range v.Type.Dims {
			n, known := d.Value()
			if !known {
				n = 2
				if ok && i < len(t.Shape()) {
					n = t.Shape()[i]
				}
			}
			shape = append(shape, n)
		}
		if v.Type.Dims == nil && ok {
			shape = t.Shape()
		}
		if shape.Check() != nil || shape.Len() > 1<<16 {
			continue
		}
		if !ok || t.DType() != v.Type.DType || !t.Shape().Equal(shape) {
			t = filled(v.Type.DType, shape)
		}
		in[v.Name] = t
	}
	return in
}

// tolerance bounds the difference of results with and without passes, relative to the largest.
const tolerance = 1e-3

func sameResults(want, got map[string]tensor.Value, tolerance float64) error {
	for name, w := range want {
		if err := sameValue(w, got[name], tolerance); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
	}
	return nil
}

func sameValue(want, got tensor.Value, tolerance float64) error {
	w, ok := want.(*tensor.Tensor)
	if !ok {
		if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b {
			return fmt.Errorf("%.200s, want %.200s", b, a)
		}
		return nil
	}
	g, _ := got.(*tensor.Tensor)
	return cases.Near(w, g, tolerance, false)
}
