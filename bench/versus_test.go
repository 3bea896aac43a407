package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// versus times runs in turn with a peer's runs of a request, in blocks of n runs. It needs a Python
// with ONNX Runtime (NACRE_PYTHON, or .venv/bin/python at the root). "ort-ratio" is the median time
// of ONNX Runtime over Nacre's: above one, Nacre is faster. "ort-best-ratio" is the ratio of the
// best blocks, which other work on the machine disturbs less.
func versus(b *testing.B, n int, run func() error, p *peer, request string) {
	b.Helper()
	if n > 1 {
		request = fmt.Sprint(request, " ", n)
	}
	block := func() float64 {
		start := time.Now()
		for range n {
			if err := run(); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start).Seconds() / float64(n)
	}
	for range 2 {
		block()
		p.seconds(b, request)
	}
	ours, theirs := make([]float64, 0, b.N), make([]float64, 0, b.N)
	for b.Loop() {
		ours = append(ours, block())
		theirs = append(theirs, p.seconds(b, request))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e3*median(ours), "ms")
	if p != nil {
		b.ReportMetric(1e3*median(theirs), "ort-ms")
		b.ReportMetric(median(theirs)/median(ours), "ort-ratio")
		b.ReportMetric(slices.Min(theirs)/slices.Min(ours), "ort-best-ratio")
	}
}

// alone logs that there is no peer.
func alone(b *testing.B, err error) {
	if err != nil {
		b.Logf("%v: Nacre alone is timed", err)
	}
}
