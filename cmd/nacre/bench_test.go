package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// benched calls bench with --json.
func benched(t *testing.T, args ...string) (r timing) {
	t.Helper()
	code, stdout, stderr := call(append([]string{"bench", digits, "--json"}, args...)...)
	if code != exitDone {
		t.Fatalf("%q: exit code %d, %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBench(t *testing.T) {
	testenv.Need(t, bindings.Available())
	r := benched(t, "--dim", "batch=2", "--count", "3", "--warmup", "1")
	if r.Count != 3 || r.MinMS <= 0 || r.OpenMS <= 0 || r.FirstMS <= 0 || r.RunBytes <= 0 || len(r.Ops) == 0 ||
		r.Inputs[0] != "image float32[2,1,8,8]" {
		t.Errorf("got %+v", r)
	}
	if r = benched(t, "--callers", "3", "--count", "7", "--threads", "1"); r.Count != 7 || r.Callers != 3 || r.Rate <= 0 {
		t.Errorf("callers: got %+v", r)
	}
	if r = benched(t, "--duration", "1ns", "--callers", "2"); r.Count < 1 || r.Count > 2 {
		t.Errorf("duration: got %+v", r)
	}
	if r = benched(t, "--cold", "--count", "2"); r.Count != 2 || !r.Cold || r.OpenMS <= 0 || len(r.Ops) != 0 {
		t.Errorf("cold: got %+v", r)
	}
	code, stdout, stderr := call("bench", digits, "--count", "1")
	if code != exitDone || !strings.Contains(stdout, "p50") || !strings.Contains(stdout, "iB") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"--callers", "0"}, {"--duration", "-1s"}, {"--duration", "1s", "--count", "2"},
		{"--cold", "--callers", "2"}, {"--kernels", "--cold"}, {"--node", "a"}} {
		if code, _, stderr := call(append([]string{"bench", digits}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestRanks compares ranks with the definition: the least of n times that p of 100 do not exceed.
func TestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 99, 100, 101, 1000} {
		times := make([]float64, n)
		for i := range times {
			times[i] = float64(r.IntN(50))
		}
		rank := func(percent int) float64 {
			for least := 0.0; ; least++ {
				covered := 0
				for _, x := range times {
					if x <= least {
						covered++
					}
				}
				if covered > 0 && 100*covered >= percent*n {
					return least
				}
			}
		}
		x := &timing{GFLOP: 1}
		if err := x.set(times, []float64{3, 1, 2}, time.Second); err != nil {
			t.Fatal(err)
		}
		got, want := [...]float64{x.MinMS, x.MedianMS, x.P90MS, x.P99MS, x.OpenMS, x.Rate},
			[...]float64{rank(0), rank(50), rank(90), rank(99), 2, float64(n)}
		if got != want || x.Count != n {
			t.Errorf("of %d times: %v, want %v", n, got, want)
		}
	}
}

// TestBenchStopped ends a measurement after 5 runs.
func TestBenchStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls atomic.Int32
	f := &benchFlags{count: 1000, callers: 2}
	times, err := f.sample(ctx, func(ctx context.Context) (float64, error) {
		if calls.Add(1) > 5 {
			cancel(errReported)
			return 0, context.Canceled
		}
		return 1, nil
	}, &bytes.Buffer{})
	if len(times) != 5 || endOf(ctx, err) != errReported {
		t.Errorf("%d runs, %v", len(times), err)
	}
}
