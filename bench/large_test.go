package bench

import (
	"testing"

	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// BenchmarkLarge makes a session of a float32 network of 550 MB and runs it once, in a process of
// its own, in turn with ONNX Runtime. Memory counts after that run. "ort-memory-ratio" is the
// memory that Nacre holds over the memory that ONNX Runtime holds, and "ort-peak-ratio" the ratio
// of the most that each held. "ort-open-ratio" is ONNX Runtime's median time to make the session
// over Nacre's.
func BenchmarkLarge(b *testing.B) {
	path := save(b, topologies.Topology{Name: "large", Build: func() *graph.Model { return topologies.Stack(33, 2048) }})
	side := func(p *peer) (opened, held, most float64) {
		p.run(b)
		held, most = p.memory(b)
		p.Close()
		return p.Opened, held, most
	}
	const sides, numbers = 2, 3
	var list [sides][numbers][]float64
	start := [sides]func() (*peer, error){
		func() (*peer, error) { return startSelf(b, path), nil },
		func() (*peer, error) { return startPeer(b, path, 1) },
	}
	for turn := 0; b.Loop(); turn++ {
		for k := range sides {
			i := (turn + k) % sides // the second finds memory that the first gave back
			p, err := start[i]()
			if alone(b, err); p == nil {
				continue
			}
			opened, held, most := side(p)
			for k, v := range []float64{opened, held, most} {
				list[i][k] = append(list[i][k], v)
			}
		}
	}
	ours, theirs := list[0], list[1]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e3*median(ours[0]), "open-ms")
	b.ReportMetric(median(ours[1])/1e6, "MB")
	b.ReportMetric(median(ours[2])/1e6, "peak-MB")
	if theirs[0] != nil {
		b.ReportMetric(median(theirs[0])/median(ours[0]), "ort-open-ratio")
		b.ReportMetric(median(theirs[1])/1e6, "ort-MB")
		b.ReportMetric(median(ours[1])/median(theirs[1]), "ort-memory-ratio")
		b.ReportMetric(median(ours[2])/median(theirs[2]), "ort-peak-ratio")
	}
}
