package main

import (
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
	b, err := open("0", true)
	testenv.Need(t, err)
	defer b.close()
	rows, err := b.measure()
	if err != nil {
		t.Fatal(err)
	}
	bounded, text := 0, table("quick", rows)
	for _, r := range rows {
		if !(r.rate > 0) {
			t.Errorf("%s: the rate is %v", r.what, r.rate)
		}
		if r.ceiling > 0 {
			bounded++
		}
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
	rows := []row{{what: "copy", rate: 100, unit: "GB/s"}, {"gemv", 65, 100, "GB/s", "copy", 0.7},
		{"gemm", 80, 100, "GFLOP/s", "multiply-adds", 0.6}}
	text := table("a device", rows)
	for _, want := range []string{"a device\n", "65% of copy", "below 70%", "80% of multiply-adds", "60%"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
}
