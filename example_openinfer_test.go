package nacre_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// A program of OpenInfer runs step by step. Its persistent variables keep their values over the
// steps of a Stream.
func ExampleNewModel() {
	dir, err := os.MkdirTemp("", "program")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, weights := filepath.Join(dir, "program.txt"), filepath.Join(dir, "model.oinf")
	err = os.WriteFile(program, []byte(`
dynamic { x: f32[N]; }
volatile { sum: f32[N]; }
persistent { total: f32[N]; }
block entry {
  cache.read total >> sum;
  op add(sum, x) >> sum;
  cache.write sum >> total;
  return;
}`), 0o666)
	if err != nil {
		log.Fatal(err)
	}
	sizes := &graph.Model{Graph: &graph.Graph{}, Sizes: []graph.Size{{Name: "N", Value: 2}}}
	if err := formats.Save(weights, sizes, formats.Options{}); err != nil {
		log.Fatal(err)
	}

	read, err := formats.LoadProgram(program, weights)
	if err != nil {
		log.Fatal(err)
	}
	m, err := nacre.NewModel(read)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	network, err := m.Network()
	if err != nil {
		log.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{NoOptimize: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	steps, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer steps.Close()
	for _, x := range [][]float32{{1, 2}, {10, 20}} {
		in, err := nacre.NewTensor(x, 2)
		if err != nil {
			log.Fatal(err)
		}
		out, prof, err := steps.Profile(context.Background(), map[string]nacre.Value{"x": in})
		if err != nil {
			log.Fatal(err)
		}
		sum := out["sum"].(*nacre.Tensor)
		fmt.Println(sum.Text(0), sum.Text(1))
		var ran []formats.ProgramStep
		for _, s := range prof.Steps() {
			ran = append(ran, formats.ProgramStep{Node: s.Node, Within: s.Within, Nanos: s.Own.Nanoseconds()})
		}
		events := formats.TraceProgram(network, ran)
		fmt.Println(len(events), "nodes, the second is", events[1].Text)
	}
	// Output:
	// 1 2
	// 4 nodes, the second is op add(sum, x) >> sum
	// 11 22
	// 4 nodes, the second is op add(sum, x) >> sum
}
