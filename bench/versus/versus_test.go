package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/bench/turns"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestMain runs the tests, or serves a model to one of them.
func TestMain(m *testing.M) {
	if side.Serving() {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestRows checks that names are unique and that goals belong to rows.
func TestRows(t *testing.T) {
	list, err := rows(filepath.Join("..", "shapes"))
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, r := range list {
		if met[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		met[r.name] = true
	}
	for name := range goals {
		if !met[name] {
			t.Errorf("there is a goal for %s, and no such row", name)
		}
	}
	for name := range scales {
		if !met[name] {
			t.Errorf("there is a goal for two threads of %s, and no such row", name)
		}
	}
}

// TestWork counts the operations and bytes of small networks.
func TestWork(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, c := range []struct {
		name              string
		model             *graph.Model
		sizes             map[string]int
		operations, bytes float64
	}{
		{"dense", topologies.Perceptron(4, 16, 3), nil, 2 * (4*16 + 16*3), 4 * (4 + 4*16 + 16 + 16*3 + 3 + 3)},
		{"product", topologies.Product(tensor.F64, 3, 5, 7, "none"), nil, 2 * 3 * 5 * 7, 8 * (3*7 + 7*5 + 3*5)},
		{"recurrent", topologies.Recurrent("GRU", 2, 1, 1, 4, 8), nil, 2 * 2 * 3 * 8 * (4 + 8), 4 * (2*4 + 3*8*(4+8) + 2*3*8 + 8 + 2*8 + 8)},
		{"decoder", topologies.Decoder(1, 16, 4, 32), map[string]int{"past": 3},
			2 * (4*16*16 + 2*16*64 + 16*32 + 2*16*4),
			8 + 4*(4*16*16+2*16*64+16*32+4*16+64+16+32+6*16+1+2+1+2*3*16+32+2*4*16) + 8*(4+3)},
	} {
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := formats.Save(path, c.model, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		operations, bytes, err := work(c.model, path, c.sizes)
		if err != nil {
			t.Fatal(err)
		}
		if operations != c.operations {
			t.Errorf("%s: %g operations, want %g", c.name, operations, c.operations)
		}
		if bytes != c.bytes {
			t.Errorf("%s: %g bytes, want %g", c.name, bytes, c.bytes)
		}
	}
}

// TestCompare times a stream against itself: two processes of this program.
func TestCompare(t *testing.T) {
	testenv.Need(t, bindings.Available())
	self := func(name string) peer {
		p := nacrePeer(os.Args[0])
		p.name = name
		return p
	}
	o := options{Options: turns.Options{Bounds: turns.Bounds{Rounds: 3}}, threads: []int{1}}
	c := &comparison{options: o, folder: t.TempDir(), sides: []peer{self("Nacre"), self("other")}}
	var err error
	if c.ceilings, err = newCeilings(o.threads); err != nil {
		t.Fatal(err)
	}
	defer c.ceilings.free()
	r := row{
		group: report.Networks, name: "decoder", request: "stream", sizes: []string{"past=3"}, goals: [2]float64{1e9},
		build: func() *graph.Model { return topologies.Decoder(1, 16, 4, 32) },
	}
	broken := r
	broken.request = "unknown"
	if failed := c.compare(t.Context(), []row{r, broken}); failed != 1 {
		t.Errorf("%d rows failed, want that of the unknown request", failed)
	}
	found := c.finished().Rows[0]
	if found.Error != "" || len(found.Sides) != 2 || found.Sides[1].Rounds != o.Rounds || found.Best() <= 0 {
		t.Fatalf("%+v", found)
	}
	if len(found.Costly) == 0 || found.Costly[0].Op == "" {
		t.Error("the goal is missed, and no step is named")
	}
	if fma, read := c.results.Shares(&found); fma <= 0 || read <= 0 {
		t.Errorf("shares of the ceilings are %g and %g", fma, read)
	}
}

// TestMissingPeers names the peers that are not installed.
func TestMissingPeers(t *testing.T) {
	found, _, missing := peers(options{Options: turns.Options{Python: filepath.Join(t.TempDir(), "python")},
		programs: t.TempDir()})
	if len(found) != 0 || len(missing) != 3 {
		t.Errorf("%d peers were found and %q are missing", len(found), missing)
	}
	if err := exec.Command(os.Args[0], side.ServeWord, "no-model.onnx", "1").Run(); err == nil {
		t.Error("a side opened a model that is not there")
	}
}
