package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfile profiles a model with scopes, as text, as JSON and as a page.
func TestProfile(t *testing.T) {
	path, dir := layered(t), t.TempDir()
	html, trace := filepath.Join(dir, "p.html"), filepath.Join(dir, "p.json")
	code, text, stderr := call("profile", path, "--dim", "rows=3", "--count", "3", "--html", html, "--trace", trace)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"median of 3 runs", "operator", "MatMul", "net/layer.0..2", "  layer.1", "longest steps", "cpu "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	page, err := os.ReadFile(html)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(page); !strings.Contains(s, `"layer":["net/layer.0..2","layer.1"]`) || !strings.Contains(s, `"ms":`) {
		t.Error("the page has no steps with layers")
	}
	if steps, err := readTrace(trace); err != nil || len(steps) < 4 {
		t.Errorf("the trace has %d steps, %v", len(steps), err)
	}
	var r printedProfile
	_, text, _ = call("profile", path, "--count", "1", "--json")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, s := range r.Steps {
		sum += s.Own
	}
	if len(r.Steps) < 4 || math.Abs(sum-r.MS) > 1e-9 || r.Runs != 1 {
		t.Errorf("the profile is %+v", r)
	}
	if code, _, stderr := call("profile", path, "--count", "0"); code != exitUsage {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
