package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// BenchmarkBound times bound runs of networks and operators with short runs, on one thread, in
// blocks of a hundred. The peer's inputs and outputs are bound too.
func BenchmarkBound(b *testing.B) {
	for _, top := range topologies.All {
		if top.Kind != topologies.Short && top.Kind != topologies.Operator {
			continue
		}
		b.Run(top.Name, func(b *testing.B) {
			path := save(b, top)
			s, inputs := open(b, path, nacre.Options{Threads: 1})
			bound, err := s.Bind(context.Background(), inputs)
			if err != nil {
				b.Fatal(err)
			}
			defer bound.Close()
			peer, err := startPeer(b, path, 1)
			alone(b, err)
			versus(b, 100, func() error { return bound.Run(context.Background()) }, peer, "bound")
		})
	}
}

// decoding is the ways to run a decoder on one more token. Rows is the length of its cache.
var decoding = []struct {
	name string
	step func(b *testing.B, s *nacre.Session, rows int) func() error
}{
	{"run", func(b *testing.B, s *nacre.Session, rows int) func() error {
		inputs, err := side.Ramps(s, map[string]int{"past": rows})
		if err != nil {
			b.Fatal(err)
		}
		return func() error {
			_, err := s.Run(context.Background(), inputs)
			return err
		}
	}},
	{"stream", streamStep},
}

// streamStep runs the token in a bound stream with about the given number of rows.
func streamStep(b *testing.B, s *nacre.Session, rows int) func() error {
	st, err := side.NewStream(s, map[string]int{"past": rows})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	return st.Run
}

// BenchmarkDecoder times one token of a small decoder after a few and after many, on one thread.
// The peer gets its cache in bound memory.
func BenchmarkDecoder(b *testing.B) {
	path := save(b, topologies.Topology{Name: "decoder",
		Build: func() *graph.Model { return topologies.Decoder(24, 64, 4, 256) }})
	for _, way := range decoding {
		for _, rows := range []int{1, 200, 2000} {
			b.Run(fmt.Sprintf("%s/rows=%d", way.name, rows), func(b *testing.B) {
				s := session(b, path, nacre.Options{Threads: 1})
				peer, err := startPeer(b, path, 1, fmt.Sprint("past=", rows), fmt.Sprint("total=", rows+1))
				alone(b, err)
				versus(b, 10, way.step(b, s, rows), peer, "bound")
			})
		}
	}
}

// BenchmarkPositions decodes 2,048 tokens one by one with a stream, on one thread. It reports the
// time of a token at several positions: the median of the 64 before.
func BenchmarkPositions(b *testing.B) {
	path := save(b, topologies.Topology{Name: "decoder",
		Build: func() *graph.Model { return topologies.Decoder(24, 64, 4, 256) }})
	s := session(b, path, nacre.Options{Threads: 1})
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	token, err := nacre.NewTensor([]int64{1}, 1, 1)
	if err != nil {
		b.Fatal(err)
	}
	bound, err := st.Bind(context.Background(), map[string]*nacre.Tensor{"token": token})
	if err != nil {
		b.Fatal(err)
	}
	defer bound.Close()
	const last, window = 2048, 64
	var times [last][]float64
	for b.Loop() {
		st.Reset()
		for i := range times {
			start := time.Now()
			if err := bound.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], 1e6*time.Since(start).Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	for at := window; at <= last; at *= 2 {
		b.ReportMetric(median(slices.Concat(times[at-window:at]...)), fmt.Sprintf("us@%d", at))
	}
}

// BenchmarkCallers times a hundred runs shared by few goroutines and by many, of sessions of one
// thread. As many threads share the peer's runs.
func BenchmarkCallers(b *testing.B) {
	path := save(b, topologies.Topology{Name: "mobilenetv3", Build: topologies.MobileNetV3})
	const runs = 100
	for _, callers := range []int{2, 50} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, inputs := open(b, path, nacre.Options{Threads: 1})
			peer, err := startPeer(b, path, 1)
			alone(b, err)
			versus(b, 1, func() error { return shared(callers, runs, s, inputs) }, peer,
				fmt.Sprintf("many %d %d", callers, runs))
		})
	}
}

// shared lets goroutines run a session until all runs are done.
func shared(callers, runs int, s *nacre.Session, inputs map[string]*nacre.Tensor) error {
	var done sync.WaitGroup
	var started atomic.Int64
	failed := make(chan error, callers)
	for range callers {
		done.Go(func() {
			for started.Add(1) <= int64(runs) {
				if _, err := s.Run(context.Background(), inputs); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	done.Wait()
	close(failed)
	return <-failed
}
