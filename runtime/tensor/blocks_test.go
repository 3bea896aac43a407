package tensor_test

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBlocks makes tensors of every type of blocks.
func TestBlocks(t *testing.T) {
	for _, b := range packed.BlockTypes {
		d := tensor.OfBlocks(b)
		if got, err := tensor.ParseDType(b.Name); got != d || err != nil || d.Blocks() != b || d.String() != b.Name {
			t.Fatalf("%s is the element type %v (%v)", b.Name, got, err)
		}
		data := make([]byte, 6*b.Bytes)
		for i := range data {
			data[i] = byte(7 * i)
		}
		x, err := tensor.FromBytes(d, tensor.Shape{3, 2 * b.Elements}, data)
		if err != nil {
			t.Fatal(err)
		}
		if x.Len() != 6*b.Elements || x.Size() != 6*b.Bytes || tensor.New(d, x.Shape()...).Size() != x.Size() {
			t.Errorf("%v: %d elements in %d bytes", x, x.Len(), x.Size())
		}
		part := x.Part(2*b.Elements, tensor.Shape{2, 2 * b.Elements})
		if !bytes.Equal(part.Bytes(), data[2*b.Bytes:]) || !bytes.Equal(x.Clone().Bytes(), data) {
			t.Errorf("%v: a part or a copy has other bytes", x)
		}
		list := make([]float32, x.Len())
		b.Unpack(list, data)
		at := tensor.Numbers(x)
		for _, i := range []int{0, 1, b.Elements, x.Len() - 1} {
			v, err := strconv.ParseFloat(x.Text(i), 32)
			if err != nil || list[i] == list[i] && (float32(v) != list[i] || float32(at(i)) != list[i]) {
				t.Errorf("%v: element %d is %s and %g, want %g", x, i, x.Text(i), at(i), list[i])
			}
		}
		if _, err := x.Reshape(tensor.Shape{2, 3, b.Elements}); err != nil {
			t.Error(err)
		}
		for _, s := range []tensor.Shape{{}, {b.Elements, 6 * b.Elements / b.Elements}, {6*b.Elements + 1}, {b.Elements / 2}} {
			if d.Check(s) == nil {
				t.Errorf("%v%v is accepted", d, s)
			}
			if _, err := tensor.FromBytes(d, s, data); err == nil {
				t.Errorf("%v%v has %d bytes", d, s, len(data))
			}
			if _, err := x.Reshape(s); err == nil {
				t.Errorf("%v becomes %v", x, s)
			}
		}
		if _, err := tensor.FromBytes(d, x.Shape(), data[1:]); err == nil {
			t.Errorf("%v has a byte less", x)
		}
	}
}
