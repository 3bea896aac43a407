package bindings_test

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

func TestParseISA(t *testing.T) {
	for _, tt := range []struct {
		name, list, want string
		ok               bool
	}{
		{"scalar", "scalar", "scalar", true},
		{"empty", "", "scalar", true},
		{"one", "avx2", "avx2", true},
		{"two with space", "avx512, avx2", "avx2,avx512", true},
		{"unknown", "avx1024", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := bindings.ParseISA(tt.list)
			if (err == nil) != tt.ok || err == nil && m.String() != tt.want {
				t.Errorf("got %v, %v", m, err)
			}
		})
	}
}

func TestDefaultISA(t *testing.T) {
	t.Setenv(bindings.ISAVariable, "scalar")
	if m, err := bindings.DefaultISA(); m != 0 || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
	t.Setenv(bindings.ISAVariable, "nonsense")
	if _, err := bindings.DefaultISA(); err == nil {
		t.Error("a name that is no level was accepted")
	}
}

func TestAlloc(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 4096, 3 << 20} {
		b := bindings.Alloc(n)
		if len(b) != n {
			t.Fatalf("%d bytes asked for, %d given", n, len(b))
		}
		if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%64 != 0 {
			t.Errorf("%d bytes are not aligned", n)
		}
		for i := range b {
			b[i] = byte(i)
		}
		bindings.Free(b)
	}
}

func TestPool(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5} {
		p, err := bindings.NewPool(n)
		if err != nil {
			t.Fatal(err)
		}
		want := max(n, 1)
		if bindings.Module {
			want = 1 // there are no others
		}
		if got := p.Threads(); got != want {
			t.Errorf("a pool of %d has %d threads", n, got)
		}
		p.Close()
		p.Close()
	}
}

// parts returns the rows of an op that can be parts, or all rows if none can.
func parts(op string) []bindings.Kernel {
	list := bindings.Variants(op)
	if i := slices.IndexFunc(list, bindings.Kernel.IsPart); i < 0 {
		return list
	}
	return slices.DeleteFunc(list, func(k bindings.Kernel) bool { return !k.IsPart() })
}

// TestScalarRows checks that every op has a kernel that needs no level, after all others that can
// be parts.
func TestScalarRows(t *testing.T) {
	first := map[string]bindings.Kernel{}
	for _, k := range bindings.Variants() {
		if !slices.Contains(parts(k.Op()), k) {
			continue
		}
		at, ok := first[k.Op()]
		if ok && at.ISA() == 0 && k.ISA() != 0 {
			t.Errorf("%s: %s stands behind %s", k.Op(), k.Variant(), at.Variant())
		}
		if !ok || at.ISA() != 0 {
			first[k.Op()] = k
		}
	}
	if bindings.Available() == nil && len(first) == 0 {
		t.Error("there are no rows")
	}
	for op, k := range first {
		if k.ISA() != 0 {
			t.Errorf("%s: every row needs levels", op)
		}
		if s, err := bindings.Select(op, 0); err != nil || s.ISA() != 0 {
			t.Errorf("%s: without any level, %v is selected, %v", op, s, err)
		}
	}
}

// TestVectorRows checks that every op of these families has vector variants if the build has any.
func TestVectorRows(t *testing.T) {
	testenv.Need(t, bindings.Available())
	want, ok := map[string]int{"amd64": 3, "arm64": 2}[runtime.GOARCH]
	if !ok {
		want = 1 // scalar code
	}
	if bindings.Module {
		want = 2
	}
	for _, op := range []string{"f32_reduce", "f32_softmax", "f32_layer_norm", "f32_group_norm", "f32_batch_norm",
		"f32_lrn", "f64_gemm"} {
		levels := map[bindings.ISA]bool{}
		for _, k := range parts(op) {
			levels[k.ISA()] = true
		}
		if n := len(levels); n != want {
			t.Errorf("%s has variants of %d levels, not %d", op, n, want)
		}
	}
}

func TestProbe(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for op, probe := range map[string]func(bindings.ISA) (float64, error){
		"f32_fma_rate": bindings.ProbeFMA, "i8_dot_rate": bindings.ProbeDot,
	} {
		for _, k := range bindings.Variants(op) {
			if k.ISA()&^bindings.DetectISA() != 0 {
				continue
			}
			if rate, err := probe(k.ISA()); err != nil || rate < 1e6 {
				t.Errorf("%s/%s: %g, %v", op, k.Variant(), rate, err)
			}
		}
	}
	if rate := bindings.ProbeRead(make([]byte, 1<<20)); rate < 1e6 {
		t.Errorf("reading: %g", rate)
	}
}
