// Command device runs a model on the CPU and on a Vulkan device with the same random inputs. It
// prints the largest difference of the results and the time of runs.
//
//	device model.onnx [vulkan device]
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 || len(os.Args) > 3 {
		log.Fatal("usage: device model.onnx [vulkan device]")
	}
	name := ""
	if len(os.Args) == 3 {
		name = os.Args[2]
	}
	if err := run(os.Args[1], name); err != nil {
		log.Fatal(err)
	}
}

func run(file, name string) error {
	m, err := nacre.Open(file)
	if err != nil {
		return err
	}
	defer m.Close()
	d, err := vulkan.Open(name, vulkan.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	fmt.Println(d.Info().Name)
	var inputs map[string]*nacre.Tensor
	var results []map[string]*nacre.Tensor
	for _, way := range []struct {
		name    string
		options nacre.Options
	}{{"cpu", nacre.Options{}}, {"vulkan", nacre.Options{Device: d}}} {
		s, err := m.NewSession(way.options)
		if err != nil {
			return err
		}
		defer s.Close()
		if inputs == nil {
			if inputs, err = randomInputs(s); err != nil {
				return err
			}
		}
		out, best, err := timed(s, inputs)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		fmt.Printf("%-8s %v\n", way.name, best)
		results = append(results, out)
	}
	for _, o := range m.Outputs() {
		most, err := difference(results[0][o.Name], results[1][o.Name])
		if err != nil {
			return err
		}
		fmt.Printf("%s differs by %.3g at most\n", o.Name, most)
	}
	return nil
}

// randomInputs returns random numbers from 0 to 1 for float32 inputs, and zeros for others. Open
// extents are 1.
func randomInputs(s *nacre.Session) (map[string]*nacre.Tensor, error) {
	open := map[string]int{}
	for _, v := range s.Inputs() {
		for _, d := range v.Shape {
			if d.Symbol != "" {
				open[d.Symbol] = 1
			}
		}
	}
	inputs, err := s.ZeroInputs(open)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range inputs {
		if x.DType() != nacre.Float32 {
			continue
		}
		numbers, err := nacre.Data[float32](x)
		if err != nil {
			return nil, err
		}
		for i := range numbers {
			numbers[i] = r.Float32()
		}
	}
	return inputs, nil
}

// timed runs the model ten times and returns the results and the shortest time.
func timed(
	s *nacre.Session, inputs map[string]*nacre.Tensor,
) (out map[string]*nacre.Tensor, best time.Duration, err error) {
	var list []time.Duration
	for range 10 {
		start := time.Now()
		if out, err = s.Run(context.Background(), inputs); err != nil {
			return nil, 0, err
		}
		list = append(list, time.Since(start))
	}
	return out, slices.Min(list), nil
}

// difference returns the largest absolute difference of two tensors' elements.
func difference(x, y *nacre.Tensor) (most float64, err error) {
	a, err := nacre.Float32s(x)
	if err != nil {
		return 0, err
	}
	b, err := nacre.Float32s(y)
	if err != nil {
		return 0, err
	}
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most, nil
}
