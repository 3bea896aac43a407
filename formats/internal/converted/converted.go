// Package converted checks, for tests, that networks of other formats compute the same after
// conversion to ONNX. If NACRE_CONVERTED names a folder, the networks stay there with inputs and
// outputs, in the form of ONNX's test data, for oracles/formats/converted.py.
package converted

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Variable names a folder for converted networks.
const Variable = "NACRE_CONVERTED"

// Inputs maps the inputs of a run to tensors.
type Inputs map[string]*nacre.Tensor

// Check converts the network of a file to ONNX. It runs both networks on the same inputs, and
// compares all outputs and states. name is the folder for the network below NACRE_CONVERTED.
func Check(t testing.TB, name, path string, runs ...Inputs) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name)
	if root := os.Getenv(Variable); root != "" {
		folder = filepath.Join(root, name)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "model.onnx")
	if err := convert(path, file); err != nil {
		t.Fatal(err)
	}
	for i, in := range runs {
		want, got := run(t, path, in), run(t, file, in)
		if len(got) != len(want) {
			t.Errorf("%s: the converted network has %d outputs, want %d", name, len(got), len(want))
		}
		for output, w := range want {
			if err := near(got[output], w); err != nil {
				t.Errorf("%s, run %d: output %q: %v", name, i, output, err)
			}
		}
		store(t, filepath.Join(folder, fmt.Sprintf("test_data_set_%d", i)), in, want)
	}
}

func convert(from, to string) error {
	m, err := formats.Load(from)
	if err != nil {
		return err
	}
	defer m.Close()
	return formats.Save(to, m, formats.Options{DropMeta: true, Widened: func(string, tensor.DType) {}})
}

func run(t testing.TB, path string, in Inputs) map[string]*nacre.Tensor {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// near compares tensors. Elements may differ by 2e-5 + 1e-5·|want|.
func near(got, want *nacre.Tensor) error {
	if got == nil || got.String() != want.String() {
		return fmt.Errorf("%v, want %v", got, want)
	}
	a, b := tensor.Numbers(plain(got)), tensor.Numbers(plain(want))
	for i := range want.Len() {
		x, y := a(i), b(i)
		if x != y && !(math.Abs(x-y) <= 2e-5+1e-5*math.Abs(y)) && (x == x || y == y) {
			return fmt.Errorf("element %d is %g, want %g", i, x, y)
		}
	}
	return nil
}

// plain returns a tensor of the engine that shares the elements of x.
func plain(x *nacre.Tensor) *tensor.Tensor {
	t, err := tensor.FromBytes(tensor.DType(x.DType()), x.Shape(), x.Bytes())
	if err != nil {
		panic(err) // its bytes fit its shape
	}
	return t
}

// store writes test data.
func store(t testing.TB, folder string, in, out map[string]*nacre.Tensor) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for kind, list := range map[string]map[string]*nacre.Tensor{"input": in, "output": out} {
		k := 0
		for name, x := range list {
			data, err := onnx.WriteTensor(nil, name, plain(x))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s_%d.pb", kind, k)), data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			k++
		}
	}
}
