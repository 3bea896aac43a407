package openinfer_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// events runs one step and returns the executed nodes as texts without times.
func events(t *testing.T, w written, inputs map[string]*nacre.Tensor) (list []string, raw []formats.ProgramEvent) {
	t.Helper()
	m, err := w.open(t)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newStepper(t, m, nacre.Options{NoOptimize: true})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]nacre.Value{}
	for name, x := range inputs {
		values[name] = x
	}
	profile := p.session.Profile
	if p.stream != nil {
		profile = p.stream.Profile
	}
	_, prof, err := profile(context.Background(), values)
	if err != nil {
		t.Fatal(err)
	}
	network, err := m.Network()
	if err != nil {
		t.Fatal(err)
	}
	var steps []formats.ProgramStep
	for _, s := range prof.Steps() {
		steps = append(steps, formats.ProgramStep{Node: s.Node, Within: s.Within, Nanos: s.Own.Nanoseconds()})
	}
	raw = formats.TraceProgram(network, steps)
	for _, e := range raw {
		list = append(list, e.Block+": "+e.Text)
	}
	return list, raw
}

const traced = `dynamic { x: f32[2]; p: bool; n: i32; }
volatile { y: f32[2]; }
persistent { c: i32; }
block entry {
  assign t: f32[2];
  op add(x, x) >> t;
  branch p yes no;
  loop twice (i in 0..2) { op add(t, y) >> y; }
  loop some (i in 0..n) { op add(t, y) >> y; branch p add1 no; }
  cache.increment c;
  return;
}
block yes { op relu(t) >> y; return; }
block no { return; }
block add1 { op add(y, y) >> y; }`

// TestTrace checks that a trace has exactly the executed nodes, with times.
func TestTrace(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, c := range []struct {
		p    bool
		n    int32
		want string
	}{
		{true, 2, `entry: assign t: f32[2]
entry: op add(x, x) >> t
entry: branch p yes no
yes: op relu(t) >> y
yes: return
entry: loop twice (i in 0..2)
entry: op add(t, y) >> y
entry: op add(t, y) >> y
entry: loop some (i in 0..n)
entry: op add(t, y) >> y
entry: branch p add1 no
add1: op add(y, y) >> y
entry: op add(t, y) >> y
entry: branch p add1 no
add1: op add(y, y) >> y
entry: cache.increment c
entry: return`},
		{false, 1, `entry: assign t: f32[2]
entry: op add(x, x) >> t
entry: branch p yes no
no: return
entry: loop twice (i in 0..2)
entry: op add(t, y) >> y
entry: op add(t, y) >> y
entry: loop some (i in 0..n)
entry: op add(t, y) >> y
entry: branch p add1 no
no: return
entry: cache.increment c
entry: return`},
		{false, 0, `entry: assign t: f32[2]
entry: op add(x, x) >> t
entry: branch p yes no
no: return
entry: loop twice (i in 0..2)
entry: op add(t, y) >> y
entry: op add(t, y) >> y
entry: loop some (i in 0..n)
entry: cache.increment c
entry: return`},
	} {
		inputs := map[string]*nacre.Tensor{"x": in([]int{2}, 1, 2), "p": nacre.Scalar(c.p), "n": nacre.Scalar(c.n)}
		list, raw := events(t, written{program: traced}, inputs)
		if got := strings.Join(list, "\n"); got != c.want {
			t.Errorf("p=%v n=%d: got\n%s\nwant\n%s", c.p, c.n, got, c.want)
		}
		for _, e := range raw {
			if ran := e.Kind == "OpExecute" || e.Kind == "CacheIncrement"; ran && e.Micros == [3]int64{} {
				t.Errorf("%v took no time", e)
			}
			if e.Micros[1] > 999 || e.Micros[2] > 999 {
				t.Errorf("%v: microseconds and nanoseconds are less than 1000", e)
			}
		}
	}
}

// TestTraceForm checks that a trace has the same members as the fixtures' traces.
func TestTraceForm(t *testing.T) {
	testenv.Need(t, bindings.Available())
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "oinf"), "upstream", "traces", "branching_trace.json"))
	if err != nil {
		testenv.SkipSamples(t, err)
	}
	_, raw := events(t, written{program: traced}, map[string]*nacre.Tensor{"x": in([]int{2}, 1, 2), "p": nacre.Scalar(true), "n": nacre.Scalar(int32(0))})
	ours, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []map[string]any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(ours, &got); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 || len(got) == 0 {
		t.Fatalf("%d and %d events", len(want), len(got))
	}
	for _, e := range got {
		for key, v := range want[0] {
			if _, ok := e[key]; !ok || len(e) != len(want[0]) {
				t.Fatalf("event %v lacks %q or has more than %v", e, key, v)
			}
		}
	}
	line := regexp.MustCompile(`^1 [0-9a-f-]{36} \[entry\] -- op add\(x, x\) >> t -- \(\d+ms \d+us \d+ns\)$`)
	if s := raw[1].String(); !line.MatchString(s) {
		t.Errorf("line %q", s)
	}
}
