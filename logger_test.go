package nacre_test

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// logged returns a logger of a level and the text that it writes.
func logged(level slog.Level) (*slog.Logger, *bytes.Buffer) {
	b := &bytes.Buffer{}
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})), b
}

// TestLogger logs what sessions do at each level.
func TestLogger(t *testing.T) {
	m := opened(t, &graph.Graph{Inputs: []*graph.Value{rowInput("x", "n", 2)}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{standardNode("Exp", "x", "y")}})
	for _, c := range []struct {
		level slog.Level
		want  []string
	}{
		{slog.LevelError, nil},
		{slog.LevelWarn, []string{`level=WARN msg="run refused" model=test.onnx error=".*MemoryLimit.*"`}},
		{slog.LevelInfo, []string{`level=INFO msg="session made" model=test.onnx took=\S+ format=onnx nodes=1`,
			`level=WARN msg="run refused" model=test.onnx error=".*"`}},
		{slog.LevelDebug, []string{`level=INFO msg="session made" .*`, `level=DEBUG msg="plan made" model=test.onnx took=\S+ steps=1 bytes=16`,
			`level=DEBUG msg="plan made" .* bytes=8000000`, `level=WARN msg="run refused" .*`}},
	} {
		l, text := logged(c.level)
		s := ready(t, m, nacre.Options{Logger: l, MemoryLimit: 1 << 20})
		for _, rows := range []int{2, 2, 1000000} {
			_, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, rows, 2)})
			if (err != nil) != (rows > 2) {
				t.Errorf("%d rows: %v", rows, err)
			}
		}
		if err := s.Trim(); err != nil {
			t.Error(err)
		}
		got := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		if text.Len() == 0 {
			got = nil
		}
		if len(got) != len(c.want) {
			t.Errorf("level %v: %d lines, want %d:\n%s", c.level, len(got), len(c.want), text)
			continue
		}
		for i, line := range got {
			if !regexp.MustCompile("^" + c.want[i] + "$").MatchString(line) {
				t.Errorf("level %v: %s, want %s", c.level, line, c.want[i])
			}
		}
	}
}

// TestLoggerIsQuiet runs a Bound with a logger whose level is off. A run allocates nothing.
func TestLoggerIsQuiet(t *testing.T) {
	m := opened(t, &graph.Graph{Inputs: []*graph.Value{rowInput("x", "n", 2)}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{standardNode("Exp", "x", "y")}})
	l, text := logged(slog.LevelError)
	s := ready(t, m, nacre.Options{Logger: l, Threads: 1})
	ctx := context.Background()
	b, err := s.Bind(ctx, map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, 3, 2)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if n := testing.AllocsPerRun(100, func() {
		if err := b.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}); n > 0 || text.Len() > 0 {
		t.Errorf("a run allocates %v times, and logs %q", n, text)
	}
}

// TestLoggerWaits has a run wait for the memory of another.
func TestLoggerWaits(t *testing.T) {
	budget, err := nacre.NewMemoryBudget(100)
	if err != nil {
		t.Fatal(err)
	}
	l, text := logged(slog.LevelDebug)
	g, s := gated(t, nacre.Options{Logger: l, MemoryBudget: budget})
	run := func(done chan error) {
		_, err := s.Run(t.Context(), map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, 8, 2)})
		done <- err
	}
	done := make(chan error, 2)
	go run(done)
	eventually(t, "the first runs", func() bool { return g.running.Load() == 1 })
	go run(done)
	eventually(t, "the second waits", func() bool { return s.Stats().Waiting == 1 })
	close(g.open)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	want := `level=DEBUG msg="run waited" model=test.onnx for=(memory|"a turn") waited=\S+` // a turn with one CPU
	if got := text.String(); len(regexp.MustCompile(want).FindAllString(got, -1)) != 1 {
		t.Errorf("got %s, want one line %s", got, want)
	}
}

// TestLoggerOfWarm logs each plan when it is made, once, and before any run.
func TestLoggerOfWarm(t *testing.T) {
	m := opened(t, &graph.Graph{Inputs: []*graph.Value{rowInput("x", "n", 2)}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{standardNode("Exp", "x", "y")}})
	l, text := logged(slog.LevelDebug)
	s := ready(t, m, nacre.Options{Logger: l, Threads: 1})
	x := func(rows int) map[string]*nacre.Tensor {
		return map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, rows, 2)}
	}
	for i, f := range []func() error{
		func() error { return s.Warm(t.Context(), map[string]int{"n": 1}, map[string]int{"n": 2}) },
		func() error { _, err := s.Plan(t.Context(), x(3)); return err },
		func() error {
			b, err := s.Bind(t.Context(), x(4))
			if err == nil {
				err = b.Close()
			}
			return err
		},
		func() error { _, err := s.Run(t.Context(), x(2)); return err },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(text.String(), "plan made"), []int{2, 3, 4, 4}[i]; got != want {
			t.Errorf("after call %d %d plans are logged, want %d:\n%s", i, got, want, text)
		}
	}
}
