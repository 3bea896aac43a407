package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// BenchmarkPlanning times the networks before their first run, on one thread. "open-ms" is the best
// time from the file to a session that has a plan, and "plan-ms" the best time of another plan in
// the session. "ort-ratio" is the best time of ONNX Runtime over open-ms. With -short Nacre is
// timed alone.
func BenchmarkPlanning(b *testing.B) {
	decoder := topologies.Topology{Name: "decoder_24", Build: func() *graph.Model {
		return topologies.Llama(topologies.LlamaSize{Layers: 24, Width: 256, Heads: 4, KVHeads: 2, Hidden: 704, Words: 1024})
	}}
	for _, top := range append(slices.Clone(topologies.All), decoder) {
		if top.Kind == topologies.Operator {
			continue
		}
		b.Run(top.Name, func(b *testing.B) {
			path := save(b, top)
			var opened, planned, theirs []float64
			for b.Loop() {
				open, plan := planning(b, path)
				opened, planned = append(opened, open), append(planned, plan)
				if testing.Short() {
					continue
				}
				peer, err := startPeer(b, path, 1, "batch=1", "sequence=1", "past_sequence=1")
				if err != nil {
					b.Fatal(err)
				}
				theirs = append(theirs, peer.Opened)
				peer.Close()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1e3*slices.Min(opened), "open-ms")
			b.ReportMetric(1e3*slices.Min(planned), "plan-ms")
			if theirs != nil {
				b.ReportMetric(slices.Min(theirs)/slices.Min(opened), "ort-ratio")
			}
		})
	}
}

// planning returns the seconds to open a model with a session that has a plan, and the seconds of a
// further plan. Open extents are 1.
func planning(t testing.TB, path string) (open, plan float64) {
	t.Helper()
	start := time.Now()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	types := s.Inputs()
	for i := range types {
		for k, d := range types[i].Shape {
			if d.Size < 0 || d.Symbol != "" {
				types[i].Shape[k] = nacre.Dim{Size: 1}
			}
		}
	}
	if _, err := s.PlanTypes(t.Context(), types); err != nil {
		t.Fatal(err)
	}
	open = time.Since(start).Seconds()
	if err := s.Trim(); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	if _, err := s.PlanTypes(t.Context(), types); err != nil {
		t.Fatal(err)
	}
	return open, time.Since(start).Seconds()
}
