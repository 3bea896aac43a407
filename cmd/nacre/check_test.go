package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestCheck compares scalar code with the best kernels. All values of a network agree within the
// tolerance, and outputs that nodes leave out do not count. With tolerance 0 the first node that
// rounds differently is named, and its operands are written.
func TestCheck(t *testing.T) {
	testenv.Need(t, bindings.Available())
	b := graph.NewBuilder("check")
	b.Opset("", 17)
	x := b.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{5, 2, 64})))
	weights := func(name string, shape ...int) string {
		w := tensor.New(tensor.F32, shape...)
		for i, v := 0, tensor.View[float32](w); i < len(v); i++ {
			v[i] = float32(i%17-8) / 64
		}
		return b.Weight(&graph.Initializer{Name: name, Tensor: w})
	}
	y := b.Op("Relu", []string{x})
	hidden := b.Node("", "LSTM", []string{y, weights("w", 1, 64, 64), weights("r", 1, 64, 16)}, 2,
		graph.IntAttr("hidden_size", 16))
	b.Output(b.Op("Exp", []string{hidden[1]}), "out", graph.Type{})
	m := b.Model(&graph.Model{IR: 10})
	for _, n := range m.Graph.Nodes {
		if n.Op == "LSTM" {
			n.Outputs[0] = ""
		}
	}
	path := filepath.Join(t.TempDir(), "check.onnx")
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call("check", path, "--isa", "scalar")
	if code != 0 || !strings.Contains(stdout, "3 values of 3 nodes agree") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if bindings.DetectISA() == 0 {
		return // both ways are the same
	}
	saved := filepath.Join(t.TempDir(), "saved")
	code, stdout, stderr = call("check", path, "--isa", "scalar", "--rtol", "0", "--atol", "0", "--save", saved)
	if code != 1 || !strings.Contains(stdout, "(LSTM-") || !strings.Contains(stdout, "differs first") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, name := range []string{"device.npy", "against.npy", "input0.npy"} {
		if _, err := os.Stat(filepath.Join(saved, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestCheckOptimised compares the optimised network with the graph as the file has it, without a
// flag for another way. The five nodes of a GELU become one if only its last value is an output.
func TestCheckOptimised(t *testing.T) {
	testenv.Need(t, bindings.Available())
	b := graph.NewBuilder("gelu")
	b.Opset("", 17)
	x := b.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{4096})))
	scalar := func(name string, v float32) string {
		w := tensor.New(tensor.F32)
		tensor.View[float32](w)[0] = v
		return b.Weight(&graph.Initializer{Name: name, Tensor: w})
	}
	half := b.Op("Mul", []string{x, scalar("half", 0.5)})
	erf := b.Op("Erf", []string{b.Op("Div", []string{x, scalar("root", 1.41421356)})})
	b.Output(b.Op("Mul", []string{half, b.Op("Add", []string{erf, scalar("one", 1)})}), "out", graph.Type{})
	path := filepath.Join(t.TempDir(), "gelu.onnx")
	if err := formats.Save(path, b.Model(&graph.Model{IR: 10}), formats.Options{}); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := call("check", path); code != 0 || !strings.Contains(stdout, "5 values of 5 nodes agree") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr := call("check", path, "--rtol", "0", "--atol", "0")
	if code != 1 || !strings.Contains(stdout, `output "out"`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestCheckRounding compares two devices on a product that lets them round its rows.
func TestCheckRounding(t *testing.T) {
	d, err := vulkan.Open("0", vulkan.Options{})
	testenv.Need(t, errors.Join(bindings.Available(), err))
	defer d.Close()
	const n, k, block = 64, 512, 128
	b := graph.NewBuilder("rounding")
	b.Opset("com.microsoft", 1)
	codes, scales := tensor.New(tensor.U8, n, k/block, block/2), tensor.New(tensor.F32, n*k/block)
	for i := range codes.Bytes() {
		codes.Bytes()[i] = byte(i * 37)
	}
	for i := range tensor.View[float32](scales) {
		tensor.View[float32](scales)[i] = 1 + float32(i%5)
	}
	x := b.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{2, k})))
	y := b.Node("com.microsoft", "MatMulNBits", []string{x, b.Constant(codes), b.Constant(scales)}, 1, graph.IntAttr("K", k),
		graph.IntAttr("N", n), graph.IntAttr("bits", 4), graph.IntAttr("block_size", block), graph.IntAttr("accuracy_level", 4))[0]
	b.Output(y, "out", graph.Type{})
	path := filepath.Join(t.TempDir(), "rounding.onnx")
	if err := formats.Save(path, b.Model(&graph.Model{IR: 10}), formats.Options{}); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := call("check", path, "--device", "vulkan:0"); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr := call("check", path, "--device", "vulkan:0", "--accuracy", "fast")
	if info := d.Info(); (code == 1) != info.Caps.IntDot {
		t.Errorf("with rounded rows: exit code %d\n%s%s", code, stdout, stderr)
	}
}
