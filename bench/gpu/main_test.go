package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestQuick makes the quick measurements. Every rate is above 0, kernels and products are beside
// ceilings, and there are rows for networks, tokens and the host's time of them.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("measures a device: not in short runs")
	}
	b, err := open("0", options{quick: true})
	testenv.Need(t, err)
	defer b.close()
	lines := 0
	rows := b.measure(func(row) { lines++ })
	bounded, text := 0, table("quick", rows)
	for _, r := range rows {
		if !(r.rate > 0) || r.err != nil {
			t.Errorf("%s: the rate is %v: %v", r.what, r.rate, r.err)
		}
		if r.ceiling > 0 {
			bounded++
		}
	}
	if lines != len(rows) {
		t.Errorf("%d lines of progress for %d rows", lines, len(rows))
	}
	if want := 3 + len(allKernels(true)); bounded < want {
		t.Errorf("%d rows have ceilings, want %d", bounded, want)
	}
	for _, want := range []string{"copy", "4-bit product", "perceptron, a run", "float16", "opening", "tokens", "host's time"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
}

func TestTable(t *testing.T) {
	rows := []row{{what: "copy", rate: 100, unit: "GB/s"}, {"gemv", 65, 100, "GB/s", "copy", 0.7, nil},
		{"gemm", 80, 100, "GFLOP/s", "multiply-adds", 0.6, nil}, {what: "norm", err: errors.New("the device is lost")}}
	text := table("a device", rows)
	for _, want := range []string{"a device\n", "65% of copy", "below 70%", "80% of multiply-adds", "60%", "the device is lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
}
