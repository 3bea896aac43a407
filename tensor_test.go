package nacre_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
)

// made returns a function that returns the result of a constructor, or fails the test.
func made(t testing.TB) func(x *nacre.Tensor, err error) *nacre.Tensor {
	return func(x *nacre.Tensor, err error) *nacre.Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

func TestTensorErrors(t *testing.T) {
	one := func(x *nacre.Tensor, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
		kind error
	}{
		{"length", one(nacre.NewTensor([]float32{1, 2}, 3)), nacre.ErrShape},
		{"no axes", one(nacre.NewTensor([]float32{1, 2})), nacre.ErrShape},
		{"negative extent", one(nacre.NewTensor([]float32{}, -1, 0)), nacre.ErrShape},
		{"overflow", one(nacre.Zeros(nacre.Int8, math.MaxInt, math.MaxInt)), nacre.ErrShape},
		{"negative zeros", one(nacre.Zeros(nacre.Int8, -1)), nacre.ErrShape},
		{"no type", one(nacre.Zeros(nacre.Invalid, 1)), nacre.ErrShape},
		{"beyond the table", one(nacre.Zeros(nacre.DType(200), 1)), nacre.ErrShape},
		{"memory", one(nacre.Zeros(nacre.Int8, 1<<55)), nacre.ErrMemory},
		{"memory of strings", one(nacre.Zeros(nacre.String, 1<<52)), nacre.ErrMemory},
		{"strings", one(nacre.Strings([]string{"a"}, 2)), nacre.ErrShape},
		{"bytes", one(nacre.FromBytes(nacre.Int16, make([]byte, 3), 2)), nacre.ErrShape},
		{"bytes of strings", one(nacre.FromBytes(nacre.String, nil, 0)), nacre.ErrShape},
		{"bytes of no type", one(nacre.FromBytes(nacre.DType(200), nil, 0)), nacre.ErrShape},
		{"bool of 2", one(nacre.FromBytes(nacre.Bool, []byte{0, 2}, 2)), nacre.ErrShape},
		{"reshape", one(nacre.Scalar(1.5).Reshape(2)), nacre.ErrShape},
		{"reshape to a negative extent", one(nacre.Scalar(1.5).Reshape(-1, -1)), nacre.ErrShape},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: got %v, want %v", c.name, c.err, c.kind)
		}
	}
	if _, err := nacre.Data[float32](nil); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("Data of nil: %v", err)
	}
	if _, err := nacre.Data[float64](nacre.Scalar(float32(1))); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("Data of another type: %v", err)
	}
	if _, err := nacre.Data[float32](&nacre.Tensor{}); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("Data of the zero tensor: %v", err)
	}
	for _, x := range []*nacre.Tensor{nil, {}, nacre.Scalar(int32(1)), nacre.Scalar(true)} {
		if _, err := nacre.Float32s(x); !errors.Is(err, nacre.ErrShape) {
			t.Errorf("Float32s of %v: %v", x, err)
		}
	}
}

// TestTensorMemory checks which tensors share memory.
func TestTensorMemory(t *testing.T) {
	given := []int64{1, 2, 3, 4}
	x := made(t)(nacre.NewTensor(given, 2, 2))
	flat := made(t)(x.Reshape(4))
	copied := x.Clone()
	data, err := nacre.Data[int64](flat)
	if err != nil {
		t.Fatal(err)
	}
	data[3] = 40
	if given[3] != 40 || x.Text(3) != "40" || copied.Text(3) != "4" {
		t.Errorf("after a write: %v, %s, the clone %s", given, x.Text(3), copied.Text(3))
	}
	x.Shape()[0] = 7
	if x.String() != "int64[2,2]" || x.Len() != 4 || x.DType() != nacre.Int64 {
		t.Errorf("the tensor became %v", x)
	}
	words := made(t)(nacre.Strings([]string{"a", "b"}, 2))
	words.Strings()[0] = "c"
	if words.Text(0) != `"c"` || words.Bytes() != nil || x.Strings() != nil {
		t.Errorf("strings are %q", words.Strings())
	}
}

// TestFromBytesUnaligned takes elements at every alignment, and can write to them.
func TestFromBytesUnaligned(t *testing.T) {
	buffer := make([]byte, 64)
	for i := range buffer {
		buffer[i] = byte(i)
	}
	for at := range 8 {
		part := buffer[at : at+32]
		x := made(t)(nacre.FromBytes(nacre.Float64, part, 4))
		data, err := nacre.Data[float64](x)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x.Bytes(), part) {
			t.Errorf("at %d: the elements differ", at)
		}
		before := slices.Clone(part)
		data[0] = -data[0]
		if shared := !bytes.Equal(before, part); shared != (&x.Bytes()[0] == &part[0]) {
			t.Errorf("at %d: a write is seen: %t", at, shared)
		}
		copy(part, before)
	}
	if data, err := nacre.Data[float32](made(t)(nacre.FromBytes(nacre.Float32, nil, 0, 3))); len(data) != 0 || err != nil {
		t.Errorf("no elements: %v, %v", data, err)
	}
}

func TestFloat32s(t *testing.T) {
	int4 := made(t)(nacre.FromBytes(nacre.Float4E2M1, []byte{0x21, 0x0f}, 3)) // 0.5, 1, -6
	for _, c := range []struct {
		x    *nacre.Tensor
		want []float32
	}{
		{nacre.Scalar(float32(1.5)), []float32{1.5}},
		{nacre.Scalar(1.0 / 3), []float32{1.0 / 3}},
		{nacre.Scalar(packed.ToF16(-2.5)), []float32{-2.5}},
		{nacre.Scalar(packed.ToBF16(3)), []float32{3}},
		{nacre.Scalar(packed.ToF8E4M3FN(1.5, true)), []float32{1.5}},
		{nacre.Scalar(packed.ToF8E4M3FNUZ(1.5, true)), []float32{1.5}},
		{nacre.Scalar(packed.ToF8E5M2(1.5, true)), []float32{1.5}},
		{nacre.Scalar(packed.ToF8E5M2FNUZ(1.5, true)), []float32{1.5}},
		{nacre.Scalar(packed.F8E8M0(128)), []float32{2}},
		{int4, []float32{0.5, 1, -6}},
	} {
		got, err := nacre.Float32s(c.x)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v (%v), want %v", c.x, got, err, c.want)
		}
	}
	x := nacre.Scalar(float32(1))
	got, err := nacre.Float32s(x)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] = 2; x.Text(0) != "1" {
		t.Error("Float32s shares memory")
	}
}

func TestText(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an index out of range is no panic")
		}
	}()
	nacre.Scalar(1.0).Text(1)
}

func TestReleaseLeavesNothing(t *testing.T) {
	x, err := nacre.NewTensor([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	x.Release()
	x.Release()
	if data, err := nacre.Data[float32](x); err != nil || len(data) != 0 || !slices.Equal(x.Shape(), []int{0}) ||
		x.DType() != nacre.Float32 {
		t.Errorf("a released tensor is %v with %v, %v", x, data, err)
	}
}
