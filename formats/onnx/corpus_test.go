package onnx

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// corpus makes the models of testdata. For a valid model, want is empty; for the others it is part
// of the error.
func corpus(t *testing.T) []corpusFile {
	whole := written(t, small())
	first := small()
	first.IR, first.Opsets = 1, []graph.Opset{{Version: 1}}
	for _, n := range first.Graph.Nodes {
		n.Version = 1
	}
	dangling := small()
	dangling.Graph.Nodes[0].Inputs[1] = "nix"
	cyclic := small()
	cyclic.Graph.Nodes[0].Inputs[0] = "y"
	recursive := everything()
	recursive.Functions[0].Nodes = append(recursive.Functions[0].Nodes, &graph.Node{
		Op: "Scale", Domain: "local", Overload: "v2", Version: 1, Inputs: []string{"b"}, Outputs: []string{"c"},
	})
	typed := modelBytes(func(e *encoder) {
		e.bytes(5, tensorBytes(22, []int64{3}, packedInts(int32Data, 0x21, 0x03)))
		e.bytes(5, tensorBytes(10, []int64{2}, singleInts(int32Data, 0x3c00, 0)))
	})
	typed = bytes.Replace(typed, []byte("w"), []byte("v"), 1) // the second keeps the name w
	return []corpusFile{
		{"small.onnx", whole, ""},
		{"everything.onnx", written(t, everything()), ""},
		{"first_ir.onnx", written(t, first), ""},
		{"typed_fields.onnx", typed, ""},
		{"external.onnx", outside("location=external.data offset=4 length=8"), ""},
		{"broken_truncated.onnx", whole[:len(whole)-20], "unexpected EOF"},
		{"broken_claim.onnx", modelBytes(func(e *encoder) { e.bytes(5, tensorBytes(1, []int64{1 << 40}, raw(1))) }), "needs 4398046511104 entries"},
		{"broken_dangling.onnx", written(t, dangling), `input "nix" is defined nowhere`},
		{"broken_cycle.onnx", written(t, cyclic), "part of a cycle"},
		{"broken_recursion.onnx", written(t, recursive), "calls itself"},
		{"broken_escape.onnx", outside("location=../corpus_test.go"), "no path beneath"},
		{"broken_short_external.onnx", outside("location=external.data offset=12 length=8"), "too few"},
		{"broken_opset.onnx", bytes.Replace(whole, []byte{0x10, 13}, []byte{0x10, 99}, 1), "operator set 99"},
		{"broken_deep.onnx", modelBytes(func(e *encoder) {
			e.message(11, func(e *encoder) {
				e.bytes(2, nested(100, nil, func(e *encoder, inner []byte) { e.message(4, func(e *encoder) { e.bytes(1, inner) }) }))
			})
		}), "types nested"},
	}
}

type corpusFile struct {
	name string
	data []byte
	want string
}

func TestCorpus(t *testing.T) {
	if *update {
		write(t, filepath.Join("testdata", "external.data"), filled(tensor.F32, 4).Bytes())
	}
	for _, c := range corpus(t) {
		path := filepath.Join("testdata", c.name)
		if *update {
			write(t, path, c.data)
		}
		if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, c.data) {
			t.Errorf("%s is not what the test makes (%v); run go test -update", path, err)
			continue
		}
		m, err := openPath(path)
		if err == nil {
			err = graph.Validate(m)
			defer m.Close()
		}
		checkRefused(t, err)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
