package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestBoundRunsDoNotAllocate checks that bound runs of every generated network leave Go's heap
// alone. Operators of ai.onnx.ml compute scores in Go around commands. They may allocate a little,
// but no more for many rows than for one.
func TestBoundRunsDoNotAllocate(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if testing.Short() {
		t.Skip("builds networks of a hundred megabytes: not in short runs")
	}
	for _, top := range topologies.All {
		t.Run(top.Name, func(t *testing.T) {
			s, inputs := open(t, save(t, top), nacre.Options{})
			b, err := s.Bind(context.Background(), inputs)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			most := 0.0
			if strings.HasPrefix(top.Name, "trees") {
				most = 40
			}
			checkAllocs(t, b, 3, most)
		})
	}
}

// checkAllocs runs b once and then runs times more. A run may allocate up to most times.
func checkAllocs(t *testing.T, b *nacre.Bound, runs int, most float64) {
	t.Helper()
	run := func() {
		if err := b.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(runs, run); n > most {
		t.Errorf("a run allocates %v times", n)
	}
}

// TestBoundStreamDoesNotAllocate checks that a bound stream of a decoder does not allocate for
// tokens while its caches have room.
func TestBoundStreamDoesNotAllocate(t *testing.T) {
	testenv.Need(t, bindings.Available())
	s := session(t, save(t, topologies.Topology{Name: "decoder",
		Build: func() *graph.Model { return topologies.Decoder(2, 64, 4, 16) }}), nacre.Options{})
	const room = 64
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{Room: room})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	token, err := nacre.NewTensor([]int64{1}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := st.Bind(context.Background(), map[string]*nacre.Tensor{"token": token})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const runs = room / 2
	checkAllocs(t, b, runs, 0)
	if st.Len() < runs {
		t.Errorf("the stream holds %d tokens after %d", st.Len(), runs)
	}
}
