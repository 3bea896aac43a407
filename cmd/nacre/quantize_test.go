package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/quantize"
)

// TestQuantize quantises a network and a file of tensors, and reads the results.
func TestQuantize(t *testing.T) {
	dir := t.TempDir()
	digits := filepath.Join("demo", "digits.onnx")
	llama := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.F32.gguf")
	for _, c := range []struct {
		in, out, to string
		flags       []string
		weights     int
	}{
		{digits, "q8.onnx", "q8", nil, 1},
		{digits, "int8.onnx", "int8", nil, 1},
		{llama, "q8.gguf", "q8", nil, 16},
		{llama, "q4.gguf", "q4_0", []string{"--layer", "attn_.*=q5_1", "--threads", "2"}, 16},
		{llama, "i4.oinf", "i4", []string{"--drop-metadata"}, 16},
	} {
		out := filepath.Join(dir, c.out)
		code, stdout, stderr := call(append([]string{"quantize", c.in, out, "--to", c.to, "--json"}, c.flags...)...)
		if code != 0 {
			t.Errorf("%s: %s", c.out, stderr)
			continue
		}
		var r quantize.Report
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Layers) < c.weights || !(r.Error > 0) || r.Error > 0.2 || r.Bytes >= r.Before {
			t.Errorf("%s: %d weights, error %g, %d bytes of %d", c.out, len(r.Layers), r.Error, r.Bytes, r.Before)
		}
		if problems := formats.Verify(out); problems != nil {
			t.Error(c.out, problems)
		}
		for _, l := range r.Layers {
			if strings.Contains(l.Name, "attn_") && c.to == "q4_0" && l.To != "q5_1" {
				t.Errorf("%s became %s, and a rule says q5_1", l.Name, l.To)
			}
		}
	}
	code, stdout, _ := call("quantize", llama, filepath.Join(dir, "q4.gguf"), "--to", "q4_0")
	if code != 0 || !strings.Contains(stdout, "blk.0.ffn_down.weight") || !strings.Contains(stdout, "error") {
		t.Errorf("%d, %q", code, stdout)
	}
}

// TestQuantizeCalibration measures importance on a folder of inputs and on a text.
func TestQuantizeCalibration(t *testing.T) {
	dir := t.TempDir()
	inputs := filepath.Join(dir, "inputs")
	for i := range 3 {
		folder := filepath.Join(inputs, string(rune('a'+i)))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		var elements []byte
		for k := range 64 {
			elements = binary.LittleEndian.AppendUint32(elements, math.Float32bits(float32((k*7+i)%16)))
		}
		if err := os.WriteFile(filepath.Join(folder, "image.bin"), elements, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text := filepath.Join(dir, "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("It was a dark and stormy night. ", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	llama := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.F32.gguf")
	for _, c := range []struct {
		in, out, to, data string
		flags             []string
	}{
		{filepath.Join("demo", "digits.onnx"), "q4.onnx", "q4", inputs, nil},
		{filepath.Join("demo", "digits.onnx"), "q2.onnx", "q2", inputs, []string{"--gptq"}},
		{filepath.Join("demo", "digits.onnx"), "int8.onnx", "int8", inputs, []string{"--activations", "float"}},
		{filepath.Join("demo", "digits.onnx"), "static.onnx", "int8", inputs, []string{"--ranges", "percentile"}},
		{llama, "q4.gguf", "q4_0", text, nil},
		{llama, "gptq.gguf", "q4_0", text, []string{"--gptq"}},
	} {
		made := filepath.Join(dir, "imatrix.gguf")
		code, stdout, stderr := call(append([]string{"quantize", c.in, filepath.Join(dir, c.out), "--to", c.to, "--json", "--calibration", c.data,
			"--imatrix-out", made}, c.flags...)...)
		if code != 0 {
			t.Errorf("%s: %s", c.out, stderr)
			continue
		}
		var r quantize.Report
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		if d := r.Divergence; d == nil || d.Rows == 0 || d.KL < 0 || d.KL > 1 || !(d.Error > 0) {
			t.Errorf("%s: divergence %+v", c.out, d)
		}
		if n := len(r.Activations); n > 0 != (c.out == "static.onnx") {
			t.Errorf("%s: %d activations", c.out, n)
		}
		p, err := quantize.ReadImportance(t.Context(), made)
		if err != nil || len(p.Columns) == 0 || p.Datasets[0] != filepath.Base(c.data) {
			t.Errorf("%s: importance %+v, %v", c.out, p, err)
		}
		code, stdout, stderr = call("quantize", c.in, filepath.Join(dir, c.out), "--to", c.to, "--imatrix", made, "--calibration", c.data)
		if code != 0 || !strings.Contains(stdout, "divergence") || !strings.Contains(stdout, "  shape ") {
			t.Errorf("%s: %d, %s%s", c.out, code, stdout, stderr)
		}
	}
}

// TestQuantizeRefused says what is wrong with arguments. A file that is there stays.
func TestQuantizeRefused(t *testing.T) {
	llama := filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.Q4_0.gguf")
	out := filepath.Join(t.TempDir(), "out.gguf")
	if err := os.WriteFile(out, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{llama, out}, exitUsage, "--to TYPE"},
		{[]string{llama, out, "--to", "q7"}, exitUsage, "q4_k_m"},
		{[]string{llama, "out.bin", "--to", "q4_0"}, exitUsage, "extension"},
		{[]string{llama, out, "--to", "q8_0", "--layer", "x"}, exitUsage, "REGEXP=TYPE"},
		{[]string{llama, out, "--to", "q8_0", "--layer", "(=q4_0"}, exitUsage, "missing"},
		{[]string{llama, out, "--to", "q8_0"}, exitFailed, "--allow-requantize"},
		{[]string{llama, out, "--to", "int8"}, exitFailed, "onnx"},
		{[]string{llama, out, "--to", "q8_0", "--imatrix-out", "x"}, exitUsage, "--calibration"},
		{[]string{llama, out, "--to", "q8_0", "--gptq"}, exitUsage, "--calibration"},
		{[]string{llama, out, "--to", "q8_0", "--activations", "uint8"}, exitUsage, "--calibration"},
		{[]string{llama, out, "--to", "q8_0", "--activations", "int16"}, exitUsage, "uint8"},
		{[]string{llama, out, "--to", "q8_0", "--ranges", "median"}, exitUsage, "percentile"},
		{[]string{llama, out, "--to", "q8_0", "--calibration", "none.txt"}, exitFailed, "none.txt"},
		{[]string{llama, out, "--to", "q8_0", "--calibration", filepath.Dir(out)}, exitFailed, "no folders"},
		{[]string{llama, out, "--to", "q4_k", "--imatrix", "none.dat"}, exitFailed, "none.dat"},
	} {
		code, _, stderr := call(append([]string{"quantize"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: code %d, %q; want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
	if got := string(read(t, out)); got != "old" {
		t.Errorf("the file has become %q", got)
	}
}
