package report

import (
	"path/filepath"
	"strings"
	"testing"
)

// sample returns two networks on one thread and two, one of them below its goal, and a product that
// two peers have.
func sample() *Results {
	side := func(name string, ms float64) Side {
		return Side{Name: name, Best: ms / 1e3, Median: 2 * ms / 1e3, Rounds: 3, Opened: 1, Peak: 1e6 * ms}
	}
	steps := []Steps{{Op: "Conv-17", Count: 2, Share: 0.75, Inputs: "float32[1,3]", How: "cpu gemm", Seconds: 2e-3,
		Longest: 1e-3}}
	return &Results{
		Date: "2026-01-02", CPU: "a CPU", Cores: 2, Commit: "abc", Missing: []string{"oneDNN: no program"},
		Ceilings: []Ceiling{{1, 100e9, 400e9, 10e9}, {2, 200e9, 800e9, 20e9}},
		Rows: []Row{
			{Group: Networks, Name: "fast", Threads: 1, Operations: 100e6, Bytes: 5e6, Goal: 1.2, Sides: []Side{side("Nacre", 2), side("ORT", 4)}},
			{Group: Networks, Name: "fast", Threads: 2, ScaleGoal: 1.9, Sides: []Side{side("Nacre", 1.6), side("ORT", 2)}},
			{Group: Networks, Name: "slow", Threads: 1, Goal: 1.2, Sides: []Side{side("Nacre", 4), side("ORT", 4)}, Costly: steps},
			{Group: Networks, Name: "broken", Threads: 1, Error: "ORT: no such operator"},
			{Group: Products, Name: "p", Threads: 1, Wide: true, Operations: 50e6, Sides: []Side{side("Nacre", 1), side("ORT", 3), side("OpenBLAS", 2)}},
			{Group: Products, Name: "q", Threads: 1, Int8: true, Operations: 100e6, Sides: []Side{side("Nacre", 1), side("ORT", 1)}},
		},
	}
}

func TestRatios(t *testing.T) {
	r := sample()
	for i, want := range []struct {
		best, memory, scale, fma float64
		missed                   bool
	}{{2, 0.5, 0, 0.5, false}, {1.25, 0.8, 1.25, 0, false}, {1, 1, 0, 0, true}, {}, {2, 1.0 / 3, 0, 1, false}, {1, 1, 0, 0.25, false}} {
		row := &r.Rows[i]
		fma, _ := r.Shares(row)
		if row.Best() != want.best || row.Median() != want.best || row.Memory() != want.memory ||
			row.Missed() != want.missed {
			t.Errorf("row %d: best %g, median %g, memory %g, missed %v", i, row.Best(), row.Median(), row.Memory(), row.Missed())
		}
		if r.Scale(row) != want.scale || fma != want.fma {
			t.Errorf("row %d: scale %g, share of the ceiling %g", i, r.Scale(row), fma)
		}
	}
}

func TestText(t *testing.T) {
	text := sample().Text()
	for _, want := range []string{
		"left out: oneDNN: no program", "2.00    2.00        1.20", "below 1.20", "1.25 below 1.90", "50%", "ORT: no such operator",
		"slow, 1 threads\n  75% Conv-17 x 2, cpu gemm: 1 ms of 2 with float32[1,3]\n", "3/6",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestMarkdown(t *testing.T) {
	want := "| network | one thread | two threads |\n|---|---|---|\n| broken | - | - |\n| fast | 2.00 | 1.25 |\n| slow | 1.00 | - |\n"
	if got := sample().Markdown(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestSave(t *testing.T) {
	folder := t.TempDir()
	if _, err := Newest(folder); err == nil {
		t.Error("results were found in an empty folder")
	}
	r := sample()
	for _, name := range []string{"2026-01-02-abc.json", "2025-12-31-fff.json", "2026-01-03-abc-operators.json"} {
		if err := r.Save(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	path, err := Newest(folder)
	if err != nil || filepath.Base(path) != "2026-01-02-abc.json" {
		t.Fatal(path, err)
	}
	again, err := Load(path)
	if err != nil || again.Text() != r.Text() {
		t.Errorf("%v\n%s", err, again.Text())
	}
	r.Rows[0].Sides[0].Best = 0
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("a run that takes no time was read")
	}
}
