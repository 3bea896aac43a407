package onnx

import (
	"bytes"
	"errors"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuzzLimits keep a single input from taking long.
var fuzzLimits = limits{objects: 1 << 14, strings: 1 << 16}

// checkFuzz fails unless err is nil or of a kind that readers return.
func checkFuzz(t *testing.T, err error) {
	if err != nil && !errors.Is(err, graph.ErrFormat) && !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("error of no kind: %v", err)
	}
}

// FuzzRead reads a model, checks it and prints it. It writes valid models; they must read back and
// give the same bytes. External data is refused.
func FuzzRead(f *testing.F) {
	for _, m := range []*graph.Model{small(), everything()} {
		f.Add(written(f, m))
	}
	f.Add(outside("location=w.data offset=0 length=8"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readLimited(data, fuzzLimits)
		if err == nil {
			err = graph.Validate(m)
			dump(m)
		}
		checkFuzz(t, err)
		checkVerify(t, data, fuzzLimits, err)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := Write(&first, m); err != nil {
			return // for example, operators of several versions
		}
		again, err := Read(nil, "fuzz.onnx", first.Bytes())
		if err != nil {
			t.Fatalf("what was written does not read: %v", err)
		}
		if err := Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("the second writing differs (%v)", err)
		}
	})
}

// FuzzReadTensor reads a tensor and writes it again.
func FuzzReadTensor(f *testing.F) {
	for _, d := range tensor.DTypes() {
		f.Add(must(WriteTensor(nil, "t", filled(d, 2, 3))))
	}
	f.Add(tensorBytes(22, []int64{3}, packedInts(int32Data, 0x21, 0x03)))
	f.Add(tensorBytes(11, []int64{1}, func(e *encoder) { e.bytes(doubleData, make([]byte, 8)) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, got, err := ReadTensor(data)
		checkFuzz(t, err)
		if err != nil {
			return
		}
		again, err := WriteTensor(nil, name, got)
		if err != nil {
			t.Fatal(err)
		}
		_, same, err := ReadTensor(again)
		if err != nil || same.String() != got.String() || !bytes.Equal(same.Bytes(), got.Bytes()) {
			t.Fatalf("%v came back as %v (%v)", got, same, err)
		}
	})
}

// FuzzReadValue reads values of nested types.
func FuzzReadValue(f *testing.F) {
	f32 := graph.TensorOf(tensor.F32, nil)
	types := []graph.Type{
		{Kind: graph.SequenceType, Elem: &f32}, {Kind: graph.OptionalType, Elem: &f32},
		{Kind: graph.MapType, Elem: &f32}, {Kind: graph.SparseType}, {Kind: graph.SequenceType},
	}
	f.Add(uint8(0), must(WriteValue(nil, &Value{Type: types[0], List: []*Value{{Type: f32, Tensor: filled(tensor.F32, 2)}}})))
	f.Add(uint8(2), must(WriteValue(nil, &Value{Type: graph.Type{Kind: graph.MapType, Key: tensor.I64, Elem: &f32}, Keys: ints(1), List: []*Value{{Type: f32, Tensor: filled(tensor.F32, 2)}}})))
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		_, err := ReadValue(data, types[int(kind)%len(types)])
		checkFuzz(t, err)
	})
}
