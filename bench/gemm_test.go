package bench

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// gemmShape is one line of shapes/*.txt.
type gemmShape struct{ Shape }

// BenchmarkGemm multiplies float32 matrices of the shapes in shapes/*.txt, and float64 and bfloat16
// matrices of the shapes in squares.txt. It runs every variant that the CPU has on one thread, and
// packs constant right operands. It reports the best rate, the median, and the best as a part of
// the best rate of multiply-adds alone, measured in turn with the product.
func BenchmarkGemm(b *testing.B) {
	files, err := filepath.Glob("shapes/*.txt")
	if err != nil || files == nil {
		b.Fatalf("no shapes: %v", err)
	}
	for _, file := range files {
		model := strings.TrimSuffix(filepath.Base(file), ".txt")
		shapes, err := ReadShapes(file)
		if err != nil {
			b.Fatal(err)
		}
		for _, shape := range shapes {
			s := gemmShape{shape}
			gemms[float32](b, "f32_gemm", model+"/"+s.Name, &s)
			if model == "squares" {
				gemms[float64](b, "f64_gemm", "f64/"+s.Name, &s)
				gemms[uint16](b, "f32_gemm", "bf16/"+s.Name, &s)
			}
		}
	}
}

// element is an element of matrices. uint16 is the bits of bfloat16.
type element interface{ float32 | float64 | uint16 }

// gemms times every variant of an op that takes such matrices of type T.
func gemms[T element](b *testing.B, op, name string, s *gemmShape) {
	for _, k := range bindings.Variants(op) {
		if k.ISA()&^bindings.DetectISA() == 0 && k.Fits(gemmWords[T](s, packs[T](s, k))) {
			b.Run(name+"/"+k.Variant(), func(b *testing.B) { runGemm[T](b, s, k) })
		}
	}
}

// packs reports whether a variant packs the right operand of a product.
func packs[T element](s *gemmShape, k bindings.Kernel) bool {
	words := gemmWords[T](s, false)
	return s.Constant == "b" && k.Fits(words) && k.Packed(words, 1) > 0
}

// gemmWords is nacre_f32_gemm_words of csrc/matmul/matmul.h.
func gemmWords[T element](s *gemmShape, packed bool) []int64 {
	m, n, k, right, float := int64(s.M), int64(s.N), int64(s.K), int64(0), int64(tensor.F32)
	if packed {
		right = 1
	}
	if unsafe.Sizeof(T(0)) == 2 {
		float = int64(tensor.BF16)
	}
	bits := func(f float64) int64 { return int64(math.Float64bits(f)) }
	return []int64{
		m, n, k, float, 0, k, 1, float, right, n, 1, float, n,
		bits(1), 0, bits(math.Inf(-1)), bits(math.Inf(1)), 0, 0, 0, 0,
	}
}

// gemmCode returns a command of the product. If its right operand is constant, it is packed.
func gemmCode[T element](b *testing.B, s *gemmShape, kernel bindings.Kernel) *bindings.Code {
	a, x, c := floatsOf[T](b, s.M*s.K), floatsOf[T](b, s.K*s.N), floatsOf[T](b, s.M*s.N)
	words := gemmWords[T](s, false)
	if packs[T](s, kernel) {
		p := floatsOf[T](b, kernel.Packed(words, 1)/int(unsafe.Sizeof(x[0])))
		kernel.Pack(words, 1, bytesOf(x), bytesOf(p))
		words, x = gemmWords[T](s, true), p
	}
	scratch := floatsOf[T](b, kernel.Scratch(words, 1)/int(unsafe.Sizeof(x[0]))+1)
	code := bindings.NewCode(1, len(words), kernel.Operands())
	if code == nil {
		b.Fatal("no memory")
	}
	b.Cleanup(code.Free)
	at, _ := code.Append(kernel, words, kernel.Operands())
	for place, list := range map[int][]T{at: a, at + 1: x, at + kernel.Operands() - 1: c, bindings.ScratchOf(at): scratch} {
		code.Point(place, bindings.SpanOf(bytesOf(list)), 0)
	}
	return code
}

func runGemm[T element](b *testing.B, s *gemmShape, kernel bindings.Kernel) {
	code := gemmCode[T](b, s, kernel)
	size := int(unsafe.Sizeof(T(0)))
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
		code.Run(nil, 1, nil, false)
		times = append(times, time.Since(start).Seconds())
	}
	slices.Sort(times)
	ops := 2 * float64(s.M) * float64(s.N) * float64(s.K)
	b.ReportMetric(ops/times[0]/1e9, "GFLOPS")
	b.ReportMetric(ops/times[0]/slices.Max(rates)*float64(max(size/4, 1)), "of-ceiling")
	b.ReportMetric(ops/times[len(times)/2]/1e9, "median-GFLOPS")
	b.ReportMetric(float64(size*s.K*s.N)/times[0]/1e9, "GB/s-of-b")
}

// bytesOf returns floats as bytes.
func bytesOf[T element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(T(0))))
}

// floatsOf returns n small whole numbers outside Go's heap.
func floatsOf[T element](b *testing.B, n int) []T {
	bytes := bindings.Alloc(n * int(unsafe.Sizeof(T(0))))
	if bytes == nil {
		b.Fatal("no memory")
	}
	b.Cleanup(func() { bindings.Free(bytes) })
	list := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), n)
	for i := range list {
		switch p := any(&list[i]).(type) {
		case *uint16:
			*p = uint16(math.Float32bits(float32(i%7)-3) >> 16)
		default:
			list[i] = T(i%7) - 3
		}
	}
	return list
}

// BenchmarkRead reads memory that no cache holds: the ceiling of products with few rows.
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
