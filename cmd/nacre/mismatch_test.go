package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestMismatch compares 1 with stored numbers. The flags that a mismatch names accept it.
func TestMismatch(t *testing.T) {
	testenv.Need(t, bindings.Available())
	of := func(x *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	f16 := func(x float32) *tensor.Tensor { return of(tensor.From([]packed.F16{packed.ToF16(x)}, 1)) }
	bf16 := func(x float32) *tensor.Tensor { return of(tensor.From([]packed.BF16{packed.ToBF16(x)}, 1)) }
	f32 := func(x float32) *tensor.Tensor { return of(tensor.From([]float32{x}, 1)) }
	for _, c := range []struct {
		name      string
		one, want *tensor.Tensor
		flags     string // in the message; empty for none
	}{
		{"float16", f16(1), f16(1.0078125), "float16: --rtol 0.01 --atol 0.001"},
		{"bfloat16", bf16(1), bf16(1.03125), "bfloat16: --rtol 0.05 --atol 0.01"},
		{"float16, far", f16(1), f16(1.5), ""},
		{"bfloat16, far", bf16(1), bf16(1.5), ""},
		{"float32", f32(1), f32(1.0078125), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			b := graph.NewBuilder("same")
			kind := graph.TensorOf(c.one.DType(), graph.Dims{graph.Known(1)})
			b.Output(b.Op("Identity", []string{b.Input("x", kind)}), "y", kind)
			model := filepath.Join(dir, "model.onnx")
			if err := formats.Save(model, b.Model(&graph.Model{IR: 10}), formats.Options{}); err != nil {
				t.Fatal(err)
			}
			set := filepath.Join(dir, "test_data_set_0")
			write(t, filepath.Join(set, "input_0.pb"), pbBytes("x", c.one))
			write(t, filepath.Join(set, "output_0.pb"), pbBytes("y", c.want))
			for _, command := range [][]string{{"run", model, "--test-data", dir}, {"conformance", dir}} {
				code, stdout, stderr := call(command...)
				if code != 1 || !strings.Contains(stdout, "1 of 1 elements differ") ||
					strings.Contains(stdout, "--rtol") != (c.flags != "") || !strings.Contains(stdout, c.flags) {
					t.Errorf("%s: exit code %d, %s%s", command[0], code, stdout, stderr)
				}
				if c.flags == "" {
					continue
				}
				_, flags, _ := strings.Cut(c.flags, ": ")
				if code, stdout, _ := call(append(command, strings.Fields(flags)...)...); code != 0 {
					t.Errorf("%s %s: exit code %d, %s", command[0], flags, code, stdout)
				}
			}
		})
	}
}
