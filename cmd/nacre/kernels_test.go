package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBenchKernels times the kernels of a small network.
func TestBenchKernels(t *testing.T) {
	code, stdout, stderr := call("bench", digits, "--kernels", "--json", "--count", "2", "--threads", "1")
	var list []kernelTiming
	if err := json.Unmarshal([]byte(stdout), &list); code != 0 || err != nil || len(list) == 0 {
		t.Fatal(code, err, stdout, stderr)
	}
	most := 0
	for _, k := range list {
		taken, met := 0, map[string]bool{}
		for _, w := range k.Ways {
			if w.Taken {
				taken++
			}
			if met[w.How] || w.Error != "" || w.MS <= 0 {
				t.Errorf("%s: %+v", k.Node, w)
			}
			met[w.How] = true
		}
		if taken != 1 {
			t.Errorf("%s: %d ways are taken", k.Node, taken)
		}
		most = max(most, len(k.Ways))
	}
	if most < 2 {
		t.Error("no step can be computed in two ways")
	}
	code, stdout, stderr = call("bench", digits, "--kernels", "--count", "1", "--node", list[0].Node)
	if lines := strings.Split(strings.TrimSpace(stdout), "\n"); code != 0 || len(lines) != 1+len(list[0].Ways) ||
		!strings.Contains(stdout, "  * ") {
		t.Errorf("one node: %d %s %s", code, stdout, stderr)
	}
	for say, args := range map[string][]string{"no step \"none\"": {"--kernels", "--node", "none"},
		"--node is for": {"--node", "none"}} {
		if code, _, stderr := call(append([]string{"bench", digits}, args...)...); code == 0 ||
			!strings.Contains(stderr, say) {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
}
