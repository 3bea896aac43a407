package bench

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// BenchmarkVulkanGemm multiplies square matrices on the first Vulkan device, of every element type
// and at every level of features, by the device's own clock. It reports the rate of multiply-adds,
// counted as two operations, and names the shader.
func BenchmarkVulkanGemm(b *testing.B) {
	for level := vulkan.L0; level <= vulkan.L3; level++ {
		d, err := vulkan.Open("0", vulkan.Options{Level: level})
		testenv.Need(b, err)
		n := 4096
		if d.Info().Type == "cpu" {
			n = 256
		}
		for _, elements := range []string{"f32", "f16", "bf16", "i8"} {
			seconds, shader, err := d.TimeProduct(elements, n)
			if errors.Is(err, graph.ErrDevice) {
				continue // the level has no such elements
			}
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%v/%s/%d/%s", level, elements, n, shader), func(b *testing.B) {
				best := seconds
				for b.Loop() {
					if seconds, _, err = d.TimeProduct(elements, n); err != nil {
						b.Fatal(err)
					}
					best = min(best, seconds)
				}
				b.ReportMetric(2*float64(n*n*n)/best/1e9, "GFLOPS")
			})
		}
		d.Close()
	}
}
