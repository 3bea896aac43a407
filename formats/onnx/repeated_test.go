package onnx

import (
	"fmt"
	"strings"
	"testing"
)

// weights writes initializers.
func weights(tensors ...[]byte) func(e *encoder) {
	return func(e *encoder) {
		for _, t := range tensors {
			e.bytes(5, t)
		}
	}
}

// opset writes an OperatorSetIdProto.
func opset(domain string, version int64) func(e *encoder) {
	return func(e *encoder) { e.message(8, func(e *encoder) { e.text(1, domain); e.int(2, version) }) }
}

// TestRepeated reads models that the standard forbids and ONNX Runtime accepts. Each gives a
// warning.
func TestRepeated(t *testing.T) {
	one := tensorBytes(1, []int64{1}, raw(1, 2, 3, 4))
	floats := tensorBytes(1, []int64{1}, func(e *encoder) { e.bytes(4, []byte{1, 2, 3, 4}) })
	texts := func(e *encoder) { e.text(6, "a") }
	pair := func(e *encoder) { e.message(14, func(e *encoder) { e.text(1, "k"); e.text(2, "v") }) }
	output := func(e *encoder) { e.message(12, func(e *encoder) { e.text(1, "y") }) }
	for _, c := range []struct {
		name    string
		data    []byte
		opset   int // of the standard domain
		weights int
		want    string // the warning
	}{
		{"nothing", modelBytes(weights(one)), 17, 1, ""},
		{"initializer", modelBytes(weights(one, one)), 17, 1, `initializer "w" is stored twice`},
		{"initializer in two fields", modelBytes(weights(one, floats)), 17, 1, `initializer "w" is stored twice`},
		{"initializer of strings", modelBytes(weights(tensorBytes(8, []int64{1}, texts), tensorBytes(8, []int64{1}, texts))), 17, 1, `initializer "w" is stored twice`},
		{"initializer without a name", modelBytes(func(e *encoder) {
			e.message(5, func(e *encoder) { e.int(2, 1); e.int(1, 1); e.bytes(9, make([]byte, 4)) })
		}), 17, 0, "without a name"},
		{"opset", modelBytes(weights(), opset("", 17)), 17, 0, `"ai.onnx" is imported twice`},
		{"opset under its other name", modelBytes(weights(), opset("ai.onnx", 17)), 17, 0, `"ai.onnx" is imported twice`},
		{"opset of another version", modelBytes(weights(), opset("ai.onnx", 12)), 12, 0, "version 17 and as version 12, which counts"},
		{"metadata", modelBytes(weights(), pair, pair), 17, 0, `the key "k" twice`},
		{"output", modelBytes(func(e *encoder) { output(e); output(e) }), 17, 0, `output "y" is listed twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read(nil, "m", c.data)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(m.Warnings)
			if n := len(m.Warnings); n > 1 || n == 0 != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("warnings are %s, want %q", got, c.want)
			}
			if len(m.Opsets) != 1 || m.Opsets[0].Version != c.opset || len(m.Graph.Initializers) != c.weights {
				t.Errorf("operator sets %v and %d weights", m.Opsets, len(m.Graph.Initializers))
			}
		})
	}
}
