package openinfer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// products returns a program of four products by n x n matrices.
func products(dtype string, n int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "dynamic { x: %s[3,%d]; }\nconstant { w0: %[1]s[%[2]d,%[2]d]; w1: %[1]s[%[2]d,%[2]d]; w2: %[1]s[%[2]d,%[2]d]; w3: %[1]s[%[2]d,%[2]d]; }\n", dtype, n)
	fmt.Fprintf(&s, "volatile { a: %s[3,%d]; b: %[1]s[3,%[2]d]; c: %[1]s[3,%[2]d]; y: %[1]s[3,%[2]d]; }\n", dtype, n)
	s.WriteString("block entry { op matmul(x, w0) >> a; op matmul(a, w1) >> b; op matmul(b, w2) >> c; op matmul(c, w3) >> y; return; }\n")
	return s.String()
}

// childProgram is the environment variable that names the folder for TestMemoryChild.
const childProgram = "NACRE_TEST_OPENINFER"

// TestMemoryChild runs a program in a process of its own, and prints the growth of its peak memory.
func TestMemoryChild(t *testing.T) {
	folder := os.Getenv(childProgram)
	if folder == "" {
		return // TestMemory starts this test in a child process
	}
	before := fixtures.MostMemory(t)
	m, err := openProgram(filepath.Join(folder, "program.oi"), filepath.Join(folder, "weights.oinf"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := m.Inputs()[0]
	x, err := nacre.Zeros(in.DType, 3, in.Shape[1].Size)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(context.Background(), map[string]*nacre.Tensor{in.Name: x})
	if err != nil || out["y"] == nil {
		t.Fatal(err, out)
	}
	fmt.Printf("grown %d\n", fixtures.MostMemory(t)-before)
}

// TestMemory runs programs of 64 MB, each in its own process. A process holds the weights once, and
// little more.
func TestMemory(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if testing.Short() {
		t.Skip("short runs are those of sanitizers and the race detector, which hold memory of their own")
	}
	const spare = 24 << 20
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dtype  string
		stored tensor.DType
		n      int
	}{{"f32", tensor.F32, 2048}, {"f16", tensor.F16, 2800}, {"i8", tensor.I8, 4096}, {"u4", tensor.U4, 5600}} {
		t.Run(c.dtype, func(t *testing.T) {
			folder, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
			m, weights := &graph.Model{Graph: &graph.Graph{}}, 0
			for i := range 4 {
				w := tensor.New(c.stored, c.n, c.n)
				for k := range w.Bytes() {
					w.Bytes()[k] = byte(r.IntN(3)) << 4
				}
				weights += len(w.Bytes())
				m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: fmt.Sprint("w", i), Tensor: w})
			}
			if err := formats.Save(filepath.Join(folder, "weights.oinf"), m, formats.Options{}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "program.oi"), []byte(products(c.dtype, c.n)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-test.run=^TestMemoryChild$")
			cmd.Env = append(os.Environ(), childProgram+"="+folder)
			out, err := cmd.CombinedOutput()
			grown := 0
			if err == nil {
				_, err = fmt.Sscanf(string(out), "grown %d", &grown)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%d MB for %d MB of weights", grown>>20, weights>>20)
			if grown > weights+spare {
				t.Errorf("memory grew by %d bytes for %d bytes of weights", grown, weights)
			}
		})
	}
}
