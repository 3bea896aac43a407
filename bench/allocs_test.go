package bench

import (
	"context"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestBoundRunsDoNotAllocate checks that runs of every generated network that is bound
// to memory leave Go's heap alone.
func TestBoundRunsDoNotAllocate(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if testing.Short() {
		t.Skip("builds networks of a hundred megabytes: not in short runs")
	}
	for _, top := range Topologies {
		t.Run(top.Name, func(t *testing.T) {
			s, inputs := open(t, save(t, top), nacre.Options{})
			b, err := s.Bind(inputs)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			run := func() {
				if err := b.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			run()
			const runs = 3
			if n := testing.AllocsPerRun(runs, run); n != 0 {
				t.Errorf("a run allocates %v times", n)
			}
		})
	}
}
