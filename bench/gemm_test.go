package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
)

// gemmShape is one line of shapes/*.txt.
type gemmShape struct {
	name     string
	m, n, k  int
	constant string // a, b or none
}

func readShapes(b *testing.B, file string) []gemmShape {
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var list []gemmShape
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		var s gemmShape
		if _, err := fmt.Sscan(text, &s.name, &s.m, &s.n, &s.k, &s.constant); err != nil {
			b.Fatalf("%s: %q: %v", file, text, err)
		}
		list = append(list, s)
	}
	return list
}

// BenchmarkGemm multiplies float32 matrices of the shapes of shapes/*.txt, on
// one thread, with every variant that the CPU has. It reports the best rate, the
// median, and what part the best is of the best rate of multiply-adds alone,
// which is measured in turn with the product.
func BenchmarkGemm(b *testing.B) {
	files, err := filepath.Glob("shapes/*.txt")
	if err != nil || files == nil {
		b.Fatalf("no shapes: %v", err)
	}
	for _, file := range files {
		model := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, s := range readShapes(b, file) {
			for _, k := range bindings.Variants("f32_gemm") {
				if k.ISA()&^bindings.DetectISA() == 0 {
					b.Run(fmt.Sprintf("%s/%s/%s", model, s.name, k.Variant()), func(b *testing.B) { s.run(b, k) })
				}
			}
		}
	}
}

func (s *gemmShape) run(b *testing.B, kernel bindings.Kernel) {
	g := bindings.Gemm{
		Kernel: kernel, M: s.m, N: s.n, K: s.k, LDC: s.n, Alpha: 1,
		A: bindings.Operand{Row: s.k, Col: 1}, B: bindings.Operand{Row: s.n, Col: 1},
	}
	a, x, c := floatsOf(b, s.m*s.k), floatsOf(b, s.k*s.n), floatsOf(b, s.m*s.n)
	switch s.constant {
	case "a":
		p := floatsOf(b, kernel.PackedA(s.m, s.k))
		kernel.PackA(s.m, s.k, g.A, unsafe.Pointer(&a[0]), bytesOf(p))
		a, g.A = p, bindings.Operand{Packed: true}
	case "b":
		p := floatsOf(b, kernel.PackedB(s.n, s.k))
		kernel.PackB(s.n, s.k, g.B, unsafe.Pointer(&x[0]), bytesOf(p))
		x, g.B = p, bindings.Operand{Packed: true}
	}
	scratch := floatsOf(b, g.Scratch(nil)+1)
	var rates, times []float64
	last := time.Time{}
	for b.Loop() {
		if time.Since(last) > 50*time.Millisecond {
			b.StopTimer()
			rate, err := bindings.ProbeFMA(kernel.ISA())
			if err != nil {
				b.Fatal(err)
			}
			rates, last = append(rates, rate), time.Now()
			b.StartTimer()
		}
		start := time.Now()
		g.Run(nil, unsafe.Pointer(&a[0]), unsafe.Pointer(&x[0]), nil, nil, unsafe.Pointer(&c[0]), scratch)
		times = append(times, time.Since(start).Seconds())
	}
	slices.Sort(times)
	ops := 2 * float64(s.m) * float64(s.n) * float64(s.k)
	b.ReportMetric(ops/times[0]/1e9, "GFLOPS")
	b.ReportMetric(ops/times[0]/slices.Max(rates), "of-ceiling")
	b.ReportMetric(ops/times[len(times)/2]/1e9, "median-GFLOPS")
	b.ReportMetric(4*float64(len(x))/times[0]/1e9, "GB/s-of-b")
}

// bytesOf returns floats as bytes.
func bytesOf(s []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
}

// floatsOf returns n small numbers outside Go's heap.
func floatsOf(b *testing.B, n int) []float32 {
	bytes := bindings.Alloc(4 * n)
	if bytes == nil {
		b.Fatal("no memory")
	}
	b.Cleanup(func() { bindings.Free(bytes) })
	list := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(bytes))), n)
	for i := range list {
		list[i] = float32(i%7) - 3
	}
	return list
}

// BenchmarkRead reads memory that no cache holds: the ceiling of products with
// few rows.
func BenchmarkRead(b *testing.B) {
	buf := bindings.Alloc(256 << 20)
	if buf == nil {
		b.Fatal("no memory")
	}
	defer bindings.Free(buf)
	for i := 0; i < len(buf); i += 4096 {
		buf[i] = 1
	}
	best := 0.0
	for b.Loop() {
		best = max(best, bindings.ProbeRead(buf))
	}
	b.ReportMetric(best/1e9, "GB/s")
}
