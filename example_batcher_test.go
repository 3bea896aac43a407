package nacre_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/nacre-ml/nacre"
)

// Handlers of a service call Run of one batcher. While one run is under way, later calls gather, and
// then run together.
func ExampleBatcher() {
	m, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	b, err := nacre.NewBatcher(ctx, s, nacre.BatcherOptions{MaxRows: 16})
	if err != nil {
		log.Fatal(err) // the rows of the model are not independent
	}
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() {
			image, err := nacre.Zeros(nacre.Float32, 1, 1, 8, 8)
			if err != nil {
				log.Fatal(err)
			}
			out, err := b.Run(ctx, map[string]*nacre.Tensor{"image": image})
			if err != nil {
				log.Fatal(err)
			}
			if got := out["probabilities"].String(); got != "float32[1,10]" {
				log.Fatal(got)
			}
		})
	}
	wait.Wait()
	fmt.Println(s.Stats().Failed)
	// Output: 0
}
