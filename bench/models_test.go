package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/topologies"
)

// BenchmarkModel times every generated network on one thread and on two.
func BenchmarkModel(b *testing.B) {
	for _, top := range topologies.All {
		path := save(b, top)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", top.Name, threads), func(b *testing.B) {
				s, inputs := open(b, path, nacre.Options{Threads: threads})
				peer, err := startPeer(b, path, threads)
				alone(b, err)
				versus(b, 1, func() error {
					_, err := s.Run(context.Background(), inputs)
					return err
				}, peer, "run")
			})
		}
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func save(t testing.TB, top topologies.Topology) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), top.Name+".onnx")
	if err := formats.Save(path, top.Build(), formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, o nacre.Options) (*nacre.Session, map[string]*nacre.Tensor) {
	t.Helper()
	s := session(t, path, o)
	inputs, err := side.Ramps(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, inputs
}

func session(t testing.TB, path string, o nacre.Options) *nacre.Session {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		m.Close()
	})
	return s
}
