package nacre_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// visit is an operator that copies its input and then calls a function.
type visit struct{ call func(c *op.Run) error }

func (o *visit) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

func (o *visit) Run(c *op.Run) error {
	copy(c.Out[0].Bytes(), c.In[0].Bytes())
	return o.call(c)
}

// visited returns options of sessions in which org.example.Visit calls a function.
func visited(t testing.TB, o nacre.Options, call func(c *op.Run) error) nacre.Options {
	t.Helper()
	o.Threads, o.Operators = 1, standard.Registry()
	err := o.Operators.Register(op.Row{
		Domain: "org.example", Name: "Visit", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Impure: true,
		New: func(*op.Node) (op.Op, error) { return &visit{call}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// visiting computes y = x by org.example.Visit.
func visiting() *graph.Graph {
	return &graph.Graph{
		Inputs: []*graph.Value{vectorOf("x", "n")}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{{Domain: "org.example", Op: "Visit", Version: 1, Inputs: []string{"x"}, Outputs: []string{"y"}}},
	}
}

func vectorInput(t testing.TB, name string, n int) map[string]*nacre.Tensor {
	t.Helper()
	x, err := nacre.Zeros(nacre.Float32, n)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*nacre.Tensor{name: x}
}

// admitted returns the number of runs that may be under way at a time.
func admitted() int { return max(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

// until waits until a condition holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// crowd is runs of a session that wait within their operator until open is called.
type crowd struct {
	session *nacre.Session
	inside  chan struct{} // has an element for each run that is in the operator
	opened  chan struct{}
	ended   sync.WaitGroup
}

func newCrowd(t *testing.T, o nacre.Options) *crowd {
	t.Helper()
	c := &crowd{inside: make(chan struct{}, 1000), opened: make(chan struct{})}
	c.session = ready(t, opened(t, visiting()), visited(t, o, func(*op.Run) error {
		c.inside <- struct{}{}
		<-c.opened
		return nil
	}))
	return c
}

// enter starts n runs on inputs of this length and returns when all are in the operator.
func (c *crowd) enter(t *testing.T, n, length int) {
	t.Helper()
	c.start(t, context.Background(), n, length)
	for range n {
		<-c.inside
	}
}

// start starts n runs. All must succeed.
func (c *crowd) start(t *testing.T, ctx context.Context, n, length int) {
	t.Helper()
	in := vectorInput(t, "x", length)
	for range n {
		c.ended.Go(func() {
			if _, err := c.session.Run(ctx, in); err != nil {
				t.Error(err)
			}
		})
	}
}

// open lets all runs end.
func (c *crowd) open() {
	close(c.opened)
	c.ended.Wait()
}

// TestRunsWait makes runs wait while as many as admitted are under way.
func TestRunsWait(t *testing.T) {
	const bound = 3
	c := newCrowd(t, nacre.Options{MaxWaiting: bound})
	nothing := func(*op.Run) error { return nil }
	impatient := ready(t, c.session.Model(), visited(t, nacre.Options{MaxWait: time.Nanosecond}, nothing))
	hurried := ready(t, c.session.Model(), visited(t, nacre.Options{MaxWaiting: -1}, nothing))
	in := vectorInput(t, "x", 5)
	if _, err := hurried.Run(context.Background(), in); err != nil {
		t.Errorf("nobody is there: %v", err)
	}
	c.enter(t, admitted(), 5)
	c.start(t, context.Background(), bound-1, 5)
	ctx, cancel := context.WithCancel(context.Background())
	given := make(chan error)
	go func() {
		_, err := c.session.Run(ctx, in)
		given <- err
	}()
	until(t, "runs do not wait", func() bool { return c.session.Stats().Waiting == bound })
	for name, s := range map[string]*nacre.Session{"line": c.session, "impatient": impatient, "hurried": hurried} {
		_, err := s.Run(context.Background(), in)
		if !errors.Is(err, nacre.ErrBusy) || !strings.Contains(err.Error(), "test.onnx") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	cancel()
	err := <-given
	if !errors.Is(err, context.Canceled) || errors.Is(err, nacre.ErrBusy) || !strings.Contains(err.Error(), "waited") {
		t.Errorf("a run that waits and is cancelled: got %v", err)
	}
	st := c.session.Stats()
	if st.Waiting != bound-1 || st.Running != admitted() || st.Refused != 2 || st.Runs != 0 ||
		st.RunBytes == 0 || st.Plans != 1 {
		t.Errorf("while runs wait: %+v", st)
	}
	c.open()
	st = c.session.Stats()
	calm := st.Failed == 0 && st.Waiting+st.Running+st.RunBytes == 0
	if st.Runs != admitted()+bound-1 || !calm || st.RunTime <= 0 || st.WaitTime <= 0 || st.IdleBytes < 0 {
		t.Errorf("in the end: %+v", st)
	}
}

// TestOperatorsRunSessions starts as many runs as are admitted. Each operator then runs another
// session, and all must end.
func TestOperatorsRunSessions(t *testing.T) {
	budget, err := nacre.NewMemoryBudget(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	inner := ready(t, opened(t, twoHeads()), nacre.Options{Threads: 1, Outputs: []string{"low"}, MemoryBudget: budget})
	in := vectorInput(t, "c", 7)
	for _, tt := range []struct {
		name string
		run  func(c *op.Run) error
	}{
		{"the context of the run", func(c *op.Run) error {
			_, err := inner.Run(c.Context(), in)
			return err
		}},
		{"a context made of it, on other goroutines", func(c *op.Run) error {
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			errs := make(chan error)
			for range 4 {
				go func() {
					_, err := inner.Run(ctx, in)
					errs <- err
				}()
			}
			return errors.Join(<-errs, <-errs, <-errs, <-errs)
		}},
		{"a context of its own", func(*op.Run) error {
			_, err := inner.Run(context.Background(), in)
			return err
		}},
		{"a Bound", func(c *op.Run) error {
			b, err := inner.Bind(context.Background(), in)
			if err != nil {
				return err
			}
			return errors.Join(b.Run(c.Context()), b.Run(context.Background()), b.Close())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all, ended sync.WaitGroup
			all.Add(admitted())
			call := func(c *op.Run) error {
				all.Done()
				all.Wait() // until no place is left
				return tt.run(c)
			}
			outer := ready(t, opened(t, visiting()), visited(t, nacre.Options{MemoryBudget: budget}, call))
			x := vectorInput(t, "x", 3)
			for range admitted() {
				ended.Go(func() {
					if _, err := outer.Run(context.Background(), x); err != nil {
						t.Error(err)
					}
				})
			}
			ended.Wait()
		})
	}
	if st := inner.Stats(); st.Runs != 8*admitted() || st.Refused+st.Failed+st.Running+st.StreamBytes+st.RunBytes != 0 {
		t.Errorf("the inner session: %+v", st)
	}
}

// TestContextOutsideARun checks the context of operators that are computed before runs.
func TestContextOutsideARun(t *testing.T) {
	c := &op.Run{}
	if ctx := c.Context(); ctx == nil || op.Within(ctx) {
		t.Error("the context outside a run is one of a run")
	}
	c.Ctx = t.Context()
	if !op.Within(context.WithValue(c.Context(), c, 1)) || op.Within(t.Context()) {
		t.Error("the context of a run is not known")
	}
}

// TestMemoryBudget makes runs wait for memory that others hold.
func TestMemoryBudget(t *testing.T) {
	const n = 1 << 18
	budget, err := nacre.NewMemoryBudget(5 * n) // one result has 4n bytes
	if err != nil {
		t.Fatal(err)
	}
	c := newCrowd(t, nacre.Options{MemoryBudget: budget})
	other := ready(t, opened(t, twoHeads()), nacre.Options{Threads: 1, Outputs: []string{"low"}, MemoryBudget: budget})
	for range 3 { // memory that one session keeps is freed for the other
		if _, err := other.Run(context.Background(), vectorInput(t, "c", n)); err != nil {
			t.Fatal(err)
		}
	}
	c.enter(t, 1, n)
	if got := budget.Used(); got < 4*n || got > budget.Limit() {
		t.Errorf("%d bytes of %d are taken", got, budget.Limit())
	}
	c.start(t, context.Background(), 1, n)
	until(t, "a run does not wait for memory", func() bool { return c.session.Stats().Waiting == 1 })
	_, err = other.Run(context.Background(), vectorInput(t, "c", 2*n))
	if !errors.Is(err, nacre.ErrMemory) || !strings.Contains(err.Error(), "MemoryBudget") {
		t.Errorf("a run that never fits: got %v", err)
	}
	if _, err := other.Bind(context.Background(), vectorInput(t, "c", n)); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("a Bound that does not fit: got %v", err)
	}
	c.open()
	b, err := other.Bind(context.Background(), vectorInput(t, "c", n/8))
	if err != nil {
		t.Fatal(err)
	}
	if st := other.Stats(); st.StreamBytes < n/2 {
		t.Errorf("a Bound takes %d bytes", st.StreamBytes)
	}
	if _, err := c.session.Run(context.Background(), vectorInput(t, "x", n+n/8)); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("a run for which a Bound leaves no room: got %v", err)
	}
	closeAll(t, b, c.session, other)
	if budget.Used() != 0 {
		t.Errorf("%d bytes are taken after all is closed", budget.Used())
	}
}

// TestMemoryBudgetOfStreams checks that states take bytes of the budget.
func TestMemoryBudgetOfStreams(t *testing.T) {
	budget, err := nacre.NewMemoryBudget(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nacre.Decode("test.onnx", decoderFile(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s := ready(t, m, nacre.Options{Threads: 1, MemoryBudget: budget})
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: 16})
	if err != nil {
		t.Fatal(err)
	}
	step(t, st)
	one := s.Stats().StreamBytes
	fork, err := st.Fork()
	if err != nil {
		t.Fatal(err)
	}
	if two := s.Stats().StreamBytes; one == 0 || two < one*3/2 || budget.Used() < two {
		t.Errorf("a stream takes %d bytes, it and a fork %d of %d", one, two, budget.Used())
	}
	var forks []io.Closer
	for err == nil && len(forks) <= budget.Limit()/one {
		var f *nacre.Stream
		if f, err = st.Fork(); err == nil {
			forks = append(forks, f)
		}
	}
	if !errors.Is(err, nacre.ErrMemory) || budget.Used() > budget.Limit() {
		t.Errorf("a fork that does not fit: got %v; %d bytes are taken", err, budget.Used())
	}
	closeAll(t, forks...)
	fork.Reset()
	large, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := tryStep(large); !errors.Is(err, nacre.ErrMemory) {
		t.Errorf("a stream that does not fit: got %v", err)
	}
	closeAll(t, st, fork, large, s)
	if n := s.Stats().StreamBytes; n != 0 || budget.Used() != 0 {
		t.Errorf("%d bytes, %d of the budget, are taken after all is closed", n, budget.Used())
	}
}

func TestServingOptions(t *testing.T) {
	m := opened(t, twoHeads())
	for _, o := range []nacre.Options{{MaxWaiting: -2}, {MaxWait: -1}, {MemoryBudget: &nacre.MemoryBudget{}}} {
		if _, err := m.NewSession(o); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := nacre.NewMemoryBudget(n); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("a budget of %d: got %v", n, err)
		}
	}
	if b := nacre.DefaultMemoryBudget(); b != nil && (b.Limit() <= 0 || b != nacre.DefaultMemoryBudget()) {
		t.Errorf("the budget of the process has %d bytes", b.Limit())
	}
}

// TestStatsOfFailures counts runs that fail.
func TestStatsOfFailures(t *testing.T) {
	broken := errors.New("broken")
	s := ready(t, opened(t, visiting()),
		visited(t, nacre.Options{MemoryLimit: 1 << 16}, func(*op.Run) error { return broken }))
	for range 2 {
		if _, err := s.Run(context.Background(), vectorInput(t, "x", 2)); !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	if _, err := s.Run(context.Background(), vectorInput(t, "x", 1<<20)); !errors.Is(err, nacre.ErrMemory) {
		t.Error(err)
	}
	if st := s.Stats(); st.Runs != 2 || st.Failed != 2 || st.Refused != 1 || st.Running != 0 || st.RunBytes != 0 {
		t.Errorf("%+v", st)
	}
}

// decoderFile returns a file with a state that grows by the rows of an input.
func decoderFile(t testing.TB) []byte {
	t.Helper()
	rows := func(name, n string) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol(n), graph.Known(64)})}
	}
	concat := standardNode("Concat", "past_key_values.0.key", "present.0.key",
		&graph.Attr{Name: "axis", Kind: graph.AttrInt})
	concat.Inputs = append(concat.Inputs, "x")
	sum := standardNode("ReduceSum", "present.0.key", "y")
	return encoded(&graph.Graph{
		Inputs:  []*graph.Value{rows("x", "new"), rows("past_key_values.0.key", "past")},
		Outputs: []*graph.Value{{Name: "y"}, rows("present.0.key", "total")},
		Nodes:   []*graph.Node{concat, sum},
	})
}

func step(t testing.TB, st *nacre.Stream) {
	t.Helper()
	if err := tryStep(st); err != nil {
		t.Fatal(err)
	}
}

// tryStep gives a stream of decoderFile one row.
func tryStep(st *nacre.Stream) error {
	x, err := nacre.Zeros(nacre.Float32, 1, 64)
	if err != nil {
		return err
	}
	_, err = st.Run(context.Background(), map[string]*nacre.Tensor{"x": x})
	return err
}
