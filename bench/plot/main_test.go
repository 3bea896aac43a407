package main

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/bench/report"
)

// TestDraw draws two networks and reads the picture.
func TestDraw(t *testing.T) {
	side := func(name string, ms float64) report.Side {
		return report.Side{Name: name, Best: ms / 1e3, Median: ms / 900}
	}
	r := &report.Results{Date: "2026-01-02", CPU: "a CPU", Cores: 2, Commit: "abc"}
	for _, name := range []string{"first", "second"} {
		for threads := 1; threads <= 2; threads++ {
			r.Rows = append(r.Rows, report.Row{
				Group: report.Networks, Name: name, Threads: threads, Goal: 1.5, Sides: []report.Side{side("Nacre", 2), side("other", 3)},
			})
		}
	}
	path := filepath.Join(t.TempDir(), "results.json")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := draws(path); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(filepath.Dir(path), "results.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	text := `{"type": "q4_k", "layers": [{"name": "a", "to": "q4_k", "bits": 4.5, "error": 0.07}, {"name": "b", "to": "q6_k", "bits": 6.56, "error": 0.02}]}`
	if err := os.WriteFile(report, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := draws(report); err != nil {
		t.Fatal(err)
	}
	q, err := os.Open(filepath.Join(filepath.Dir(report), "report.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := png.Decode(q); err != nil {
		t.Fatal(err)
	}
	r.Rows = nil
	if _, _, err := picture(r); err == nil {
		t.Error("no networks were drawn")
	}
}
