package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestPlanIsWhatRuns compares plans of networks and of the official node tests with profiles of
// runs on inputs of the same types: the steps and the memory.
func TestPlanIsWhatRuns(t *testing.T) {
	dirs := []string{filepath.Join(testenv.OfficialData(t), "node"), testenv.Beside(t, "models")}
	compared := 0
	for k, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		cases, _, err := findCases(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			if k == 0 && testing.Short() && i%8 != 0 {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				comparePlan(t, c)
				compared++
			})
		}
	}
	if least := 100; compared < least {
		t.Errorf("only %d models were compared, not %d", compared, least)
	}
}

func comparePlan(t *testing.T, c testCase) {
	m, err := nacre.Open(c.model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	inputs, err := firstInputs(c, m)
	if err != nil {
		t.Fatal(err)
	}
	s, err := byname.New(m.Source(), runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	types := make([]graph.Type, len(s.Inputs()))
	for i, v := range s.Inputs() {
		types[i] = op.TypeOf(inputs[v.Name])
	}
	pl, err := s.PlanTypes(t.Context(), types)
	_, prof, failure := s.Profile(context.Background(), inputs)
	if failure != nil {
		t.Fatal(failure)
	}
	if err != nil {
		t.Fatal(err)
	}
	comparePlanned(t, pl.Listing(), prof)
}

// firstInputs returns the required inputs in a case's first set.
func firstInputs(c testCase, m *nacre.Model) (map[string]tensor.Value, error) {
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	sets, err := c.data(context.Background(), s)
	if err != nil {
		return nil, err
	}
	inputs := map[string]tensor.Value{}
	for name, v := range sets[0].inputs {
		if slices.ContainsFunc(s.Inputs(), func(v nacre.Info) bool { return v.Name == name && v.Required }) {
			inputs[name] = plain(v)
		}
	}
	return inputs, nil
}

func comparePlanned(t *testing.T, l *runtime.Listing, prof *runtime.Profile) {
	t.Helper()
	p := &planReader{T: t, ran: prof.Steps}
	p.steps(l, "", true)
	if l.Left == nil && len(p.ran) > 0 {
		t.Errorf("the plan ends before %s %s", p.ran[0].Op, p.ran[0].Node)
	}
	for _, s := range p.ran {
		if s.Within == "" && !slices.ContainsFunc(l.Left,
			func(n runtime.LeftNode) bool { return n.Node == s.Node && n.Op == s.Op }) {
			t.Errorf("%s %s ran, which the plan does not name", s.Op, s.Node)
		}
	}
	own := l.Memory.Arena + l.Memory.Scratch + l.Memory.Results
	switch {
	case l.Left == nil && !p.bodies && prof.Memory != l.Memory.Peak-l.Memory.Packed:
		t.Errorf("the run took %d bytes and the plan says %+v", prof.Memory, l.Memory)
	case prof.Memory < own:
		t.Errorf("the run took %d bytes and the steps planned ahead %d", prof.Memory, own)
	}
}

// planReader compares steps that ran with the steps of listings, in order.
type planReader struct {
	*testing.T
	ran    []runtime.StepTime // not read yet
	bodies bool
}

// steps compares the steps of a listing with the next steps that ran. If exact, all of the listing
// must have run.
func (p *planReader) steps(l *runtime.Listing, within string, exact bool) {
	p.Helper()
	for i, want := range l.Steps {
		if len(p.ran) == 0 || p.ran[0].Within != within {
			if exact {
				p.Errorf("step %d of %q, %s %s, did not run", i, within, want.Op, want.Node)
			}
			return
		}
		s := p.ran[0]
		p.ran = p.ran[1:]
		if s.Node != want.Node || s.Op != want.Op || s.How != want.How {
			p.Fatalf("step %d of %q: %s %s ran by %s, planned is %s %s by %s", i, within, s.Op, s.Node, s.How, want.Op,
				want.Node, want.How)
		}
		path := want.Node
		if within != "" {
			path = within + " > " + path
		}
		p.graphs(want.Bodies, path)
	}
}

// graphs compares the first run of each graph of a node with its listing, and skips later runs.
// These may have other extents.
func (p *planReader) graphs(list []runtime.ListedBody, path string) {
	p.Helper()
	p.bodies = p.bodies || list != nil
	for _, b := range list {
		if inside := path + "." + b.Name; b.Plan != nil && len(p.ran) > 0 && p.ran[0].Within == inside {
			p.steps(b.Plan, inside, true)
		}
	}
	for len(p.ran) > 0 && strings.HasPrefix(p.ran[0].Within, path+".") {
		if !slices.ContainsFunc(list, func(b runtime.ListedBody) bool {
			inside := path + "." + b.Name
			return p.ran[0].Within == inside || strings.HasPrefix(p.ran[0].Within, inside+" > ")
		}) {
			p.Errorf("%s ran in %q, which the plan does not name", p.ran[0].Node, p.ran[0].Within)
		}
		p.ran = p.ran[1:]
	}
}

func TestRunPlan(t *testing.T) {
	code, stdout, stderr := call("plan", digits)
	if code != 0 {
		t.Fatal(stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	last := lines[len(lines)-1]
	if lines[0] != "batch = 1 (assumed; --dim batch=N sets it)" || !strings.Contains(stdout, "Softmax-17") ||
		!strings.Contains(stdout, "\narena ") || !strings.HasPrefix(last, "memory of a run ") {
		t.Errorf("got %s", stdout)
	}
	file := write(t, filepath.Join(t.TempDir(), "x.npy"), npyBytes(t, seven(t)))
	for _, args := range [][]string{{"--input", "image=" + file}, {"--dim", "batch=1"}} {
		code, same, stderr := call(append([]string{"plan", digits}, args...)...)
		if code != 0 || lines[0]+"\n"+same != stdout {
			t.Errorf("%v: got %s %s", args, same, stderr)
		}
	}
	code, stdout, stderr = call("plan", digits, "--dim", "batch=7", "--json")
	var got struct {
		Assumed map[string]int
		Plan    runtime.Listing
	}
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil {
		t.Fatal(err, stderr)
	}
	if len(got.Plan.Steps) == 0 || got.Assumed != nil || got.Plan.Memory.Results != 7*10*4 || got.Plan.Memory.Peak == 0 {
		t.Errorf("got %s", stdout)
	}
	for say, args := range map[string][]string{
		`named "rows"`: {"--dim", "rows=7"}, "batch is 2": {"--dim", "batch=2", "--input", "image=" + file},
	} {
		if code, _, stderr := call(append([]string{"plan", digits}, args...)...); code == 0 ||
			!strings.Contains(stderr, say) {
			t.Errorf("%v: got %d %s", args, code, stderr)
		}
	}
}

// TestPlanOfStream prints the plan of a stream with a growing state.
func TestPlanOfStream(t *testing.T) {
	dims := func(list ...string) graph.Type {
		d := graph.Dims{}
		for _, x := range list {
			d = append(d, graph.ParseDim(x))
		}
		return graph.TensorOf(tensor.F32, d)
	}
	path := filepath.Join(t.TempDir(), "cache.onnx")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = onnx.Write(file, &graph.Model{IR: 10, Opsets: []graph.Opset{{Version: 21}}, Graph: &graph.Graph{
		Inputs:  []*graph.Value{{Name: "row", Type: dims("1", "8")}, {Name: "past", Type: dims("past_length", "8")}},
		Outputs: []*graph.Value{{Name: "present", Type: dims("total_length", "8")}},
		Nodes: []*graph.Node{{Op: "Concat", Version: 21, Inputs: []string{"past", "row"}, Outputs: []string{"present"},
			Attrs: []*graph.Attr{{Name: "axis", Kind: graph.AttrInt}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call("plan", path, "--stream")
	for _, want := range []string{"append: copy/", "past_length+1", "state, room 256, over past"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, %s: no %q in\n%s", code, stderr, want, stdout)
		}
	}
	if code, _, stderr := call("plan", digits, "--stream"); code == 0 || !strings.Contains(stderr, "states") {
		t.Error("a model without states:", stderr)
	}
}

// TestPlanTimings asks for the times of stages, as JSON and as a table.
func TestPlanTimings(t *testing.T) {
	code, stdout, stderr := call("plan", digits, "--timings", "--json")
	var out printedTimings
	if err := json.Unmarshal([]byte(stdout), &out); code != 0 || err != nil {
		t.Fatal(err, stderr)
	}
	var names []string
	sum := 0.0
	for _, s := range out.Stages {
		names, sum = append(names, s.Stage), sum+s.Seconds
		if s.Calls < 1 || s.Seconds < 0 {
			t.Errorf("stage %+v has no calls or a negative time", s)
		}
	}
	for _, want := range []string{
		"read", "lower", "optimise: inline_functions", "check", "optimise: fold_const", "compile",
		"plan: infer", "plan: layouts", "pack", "plan: bind", "plan: place",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("stages %q lack %q", names, want)
		}
	}
	if out.Model != digits || sum != out.Seconds {
		t.Errorf("model %q, %g seconds; want %q and %g", out.Model, out.Seconds, digits, sum)
	}
	if code, stdout, stderr := call("plan", digits, "--timings"); code != 0 ||
		!strings.Contains(stdout, "optimise: fold_const") {
		t.Errorf("the table lacks stages: %s %s", stdout, stderr)
	}
}
