package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite the files of expected results in testdata")

// TestConformance runs the official ONNX tests.
func TestConformance(t *testing.T) {
	dir := testenv.OfficialData(t)
	checkPassing(t, dir, "conformance.txt", compare.Tolerance{Rel: 1e-3, Abs: 1e-7})
}

// TestNetworks runs real networks, if a folder of them is beside the checkout.
func TestNetworks(t *testing.T) {
	dir := testenv.Samples(t, "models")
	checkPassing(t, dir, "networks.txt", compare.Tolerance{Rel: 1e-3, Abs: 1e-4})
}

// checkPassing runs the cases of a folder and compares the ones that pass with a list in testdata.
// It fails if a listed case fails, or a case passes that is not listed.
func checkPassing(t *testing.T, dir, list string, tol compare.Tolerance) {
	cases, _, err := findCases(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	list = filepath.Join("testdata", list)
	text, err := os.ReadFile(list)
	if err != nil && !*update {
		t.Fatal(err)
	}
	listed := strings.Fields(string(text))
	f := &conformanceFlags{tol: tol, timeout: 2 * time.Minute}
	var passed []string
	for _, c := range cases {
		if testing.Short() && c.rampOutput != "" {
			continue // whole networks
		}
		r := f.judge(context.Background(), c, nacre.Options{})
		if r.Passed {
			passed = append(passed, r.Name)
		}
		switch expected := slices.Contains(listed, c.name); {
		case *update:
		case expected && !r.Passed:
			t.Errorf("%s is in %s and fails: %s", r.Name, list, r.Reason)
		case !expected && r.Passed:
			t.Errorf("%s passes and is not in %s (go test ./cmd/nacre -update adds it)", r.Name, list)
		}
	}
	t.Logf("%d of %d pass", len(passed), len(cases))
	for _, name := range listed {
		if !*update && !slices.ContainsFunc(cases, func(c testCase) bool { return c.name == name }) {
			t.Errorf("%s is in %s and there is no such case", name, list)
		}
	}
	if *update && !testing.Short() {
		if err := os.WriteFile(list, []byte(strings.Join(passed, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
