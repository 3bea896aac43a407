package main

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestMeasure measures a device. Every rate is above 0, and the rates of products are beside
// ceilings.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("measures a device: not in short runs")
	}
	d, err := vulkan.Open("0", vulkan.Options{})
	testenv.Need(t, err)
	defer d.Close()
	rows, err := measure(d)
	if err != nil {
		t.Fatal(err)
	}
	bounded := 0
	for _, r := range rows {
		if !(r.rate > 0) {
			t.Errorf("%s: the rate is %v", r.what, r.rate)
		}
		if r.ceiling > 0 {
			bounded++
		}
	}
	if len(rows) < 6 || bounded < 3 {
		t.Errorf("%d rows, %d of them with ceilings", len(rows), bounded)
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
