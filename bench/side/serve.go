package side

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/generate"
)

// Options are the model that Serve opens, and how.
type Options struct {
	Model   string
	Threads int
	Sizes   map[string]int // of open extents
}

// Serve opens a model in Nacre and answers requests until the input ends: "run", "bound", "memory"
// and "forget" as peers/onnxruntime.py does, and
//
//	stream [N]        the seconds of a run of a stream, as the mean of N
//	generate P TOKENS the seconds of TOKENS tokens after a prompt of P
//	profile           the steps that take longest, as a list of report.Steps in JSON
func Serve(o Options, in io.Reader, out io.Writer) error {
	before, _ := memory()
	start := time.Now()
	m, err := nacre.Open(o.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: o.Threads})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(out, "ready", time.Since(start).Seconds())
	v := &server{session: s, sizes: o.Sizes, before: before}
	defer v.close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer, err := v.answer(strings.Fields(lines.Text()))
		if err != nil {
			return fmt.Errorf("%s: request %q: %w", o.Model, lines.Text(), err)
		}
		fmt.Fprintln(out, answer)
	}
	return nil
}

// server is a session that answers.
type server struct {
	session *nacre.Session
	sizes   map[string]int
	before  int // bytes held before the model was opened

	inputs map[string]*nacre.Tensor
	bound  *nacre.Bound
	stream *Stream
}

func (v *server) close() {
	if v.bound != nil {
		v.bound.Close()
	}
	if v.stream != nil {
		v.stream.Close()
	}
}

// answer returns the answer to a request.
func (v *server) answer(request []string) (string, error) {
	if len(request) == 0 {
		return "", fmt.Errorf("nothing is asked")
	}
	var numbers []int
	for _, text := range request[1:] {
		n, err := strconv.Atoi(text)
		if err != nil {
			return "", err
		}
		numbers = append(numbers, n)
	}
	switch {
	case request[0] == "memory":
		held, most := memory()
		return fmt.Sprint(held-v.before, most-v.before), nil
	case request[0] == "forget":
		return "forgotten", forget()
	case request[0] == "profile":
		return v.profile()
	case request[0] == "generate" && len(numbers) == 2:
		return mean(1, func() error { return continued(v.session, numbers[0], numbers[1]) })
	}
	run, err := v.run(request[0])
	if err != nil {
		return "", err
	}
	n := 1
	if len(numbers) > 0 {
		n = numbers[0]
	}
	return mean(n, run)
}

// mean returns the seconds of a run, as the mean of n.
func mean(n int, run func() error) (string, error) {
	if n < 1 {
		return "", fmt.Errorf("%d runs are asked for; 1 is the least", n)
	}
	start := time.Now()
	for range n {
		if err := run(); err != nil {
			return "", err
		}
	}
	return fmt.Sprint(time.Since(start).Seconds() / float64(n)), nil
}

// run returns a run of a kind.
func (v *server) run(kind string) (func() error, error) {
	ctx := context.Background()
	var err error
	if v.inputs == nil && kind != "stream" {
		if v.inputs, err = Ramps(v.session, v.sizes); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "run":
		return func() error {
			out, err := v.session.Run(ctx, v.inputs)
			for _, t := range out {
				t.Release()
			}
			return err
		}, nil
	case "bound":
		if v.bound == nil {
			if v.bound, err = v.session.Bind(ctx, v.inputs); err != nil {
				return nil, err
			}
		}
		return func() error { return v.bound.Run(ctx) }, nil
	case "stream":
		if v.stream == nil {
			if v.stream, err = NewStream(v.session, v.sizes); err != nil {
				return nil, err
			}
		}
		return v.stream.Run, nil
	}
	return nil, fmt.Errorf("no request %q", kind)
}

// continued generates tokens after a prompt. Both numbers count tokens.
func continued(s *nacre.Session, prompt, tokens int) error {
	g, err := generate.New(context.Background(), s, generate.Options{})
	if err != nil {
		return err
	}
	for _, err := range g.Tokens(context.Background(), Ascending(prompt), generate.Sampling{MaxTokens: tokens}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Ascending returns a prompt of n tokens.
func Ascending(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i % 97)
	}
	return list
}

// profile returns the costliest steps of the fastest of a few runs.
func (v *server) profile() (string, error) {
	var best *nacre.Profile
	var least time.Duration
	for range 5 {
		p, err := v.profiled()
		if err != nil {
			return "", err
		}
		total := time.Duration(0)
		for _, s := range p.Steps() {
			total += s.Own
		}
		if best == nil || total < least {
			best, least = p, total
		}
	}
	data, err := json.Marshal(costly(best))
	return string(data), err
}

// costly returns the groups of steps of one operator with the same kernels that take longest, each
// with its longest step.
func costly(p *nacre.Profile) []report.Steps {
	var list []report.Steps
	all := 0.0
	for _, s := range p.Steps() {
		t := s.Own.Seconds()
		all += t
		i := slices.IndexFunc(list, func(g report.Steps) bool { return g.Op == s.Op && g.How == s.How })
		if i < 0 {
			i, list = len(list), append(list, report.Steps{Op: s.Op, How: s.How})
		}
		g := &list[i]
		g.Count++
		g.Seconds += t
		if t >= g.Longest {
			g.Longest, g.Node, g.Inputs = t, s.Node, s.Inputs
		}
	}
	slices.SortStableFunc(list, func(a, b report.Steps) int { return cmp.Compare(b.Seconds, a.Seconds) })
	list = list[:min(len(list), groups)]
	for i := range list {
		list[i].Share = list[i].Seconds / all
	}
	return list
}

// groups is the number of groups of steps in a profile.
const groups = 3

// profiled returns the profile of one run.
func (v *server) profiled() (*nacre.Profile, error) {
	if v.stream != nil {
		_, p, err := v.stream.stream.Profile(context.Background(), values(v.stream.inputs))
		return p, err
	}
	if _, err := v.run("run"); err != nil {
		return nil, err
	}
	_, p, err := v.session.Profile(context.Background(), values(v.inputs))
	return p, err
}

func values(tensors map[string]*nacre.Tensor) map[string]nacre.Value {
	list := make(map[string]nacre.Value, len(tensors))
	for name, t := range tensors {
		list[name] = t
	}
	return list
}
