package onnx

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// proto builds a message.
func proto(fill func(e *encoder)) []byte {
	var e encoder
	fill(&e)
	return e.appendTo(nil)
}

// tensorBytes builds a TensorProto with the DataType code and the extents dims.
func tensorBytes(code int64, dims []int64, fill func(e *encoder)) []byte {
	return proto(func(e *encoder) {
		e.ints(1, dims)
		e.int(2, code)
		e.text(8, "w")
		fill(e)
	})
}

// packedInts writes a packed repeated field of varints.
func packedInts(num protowire.Number, list ...int64) func(e *encoder) {
	return func(e *encoder) {
		var b []byte
		for _, v := range list {
			b = protowire.AppendVarint(b, uint64(v))
		}
		e.bytes(num, b)
	}
}

func singleInts(num protowire.Number, list ...int64) func(e *encoder) {
	return func(e *encoder) { e.ints(num, list) }
}

func raw(b ...byte) func(e *encoder) { return func(e *encoder) { e.bytes(rawData, b) } }

func TestTensorRoundTrip(t *testing.T) {
	for _, d := range tensor.DTypes() {
		for _, shape := range [][]int{{}, {0}, {1}, {2, 3}, {7}, {0, 5}} {
			want := filled(d, shape...)
			data := must(WriteTensor([]byte("before")[:0], "name", want))
			name, got, err := ReadTensor(data)
			if err != nil {
				t.Errorf("%v: %v", want, err)
				continue
			}
			if name != "name" || got.String() != want.String() || !bytes.Equal(got.Bytes(), want.Bytes()) ||
				len(got.Strings()) > 0 && !reflect.DeepEqual(got.Strings(), want.Strings()) {
				t.Errorf("%v came back as %q %v", want, name, got)
			}
		}
	}
}

func TestTypedStorage(t *testing.T) {
	f32 := must(tensor.From([]float32{1.5, -2}, 2))
	f64 := must(tensor.From([]float64{1.5, -2}, 2))
	floats := func(num protowire.Number, b []byte) func(e *encoder) {
		return func(e *encoder) { e.bytes(num, b) }
	}
	cases := []struct {
		name string
		data []byte
		want *tensor.Tensor
	}{
		{"float", tensorBytes(1, []int64{2}, floats(floatData, f32.Bytes())), f32},
		{"float single", tensorBytes(1, []int64{2}, func(e *encoder) { e.float(floatData, 1.5); e.float(floatData, -2) }), f32},
		{"float pieces", tensorBytes(1, []int64{2}, func(e *encoder) {
			e.bytes(floatData, f32.Bytes()[:4])
			e.bytes(floatData, f32.Bytes()[4:])
		}), f32},
		{"double", tensorBytes(11, []int64{2}, floats(doubleData, f64.Bytes())), f64},
		{"complex64", tensorBytes(14, []int64{1}, floats(floatData, f32.Bytes())), must(tensor.From([]complex64{1.5 - 2i}, 1))},
		{"complex64 single", tensorBytes(14, []int64{1}, func(e *encoder) { e.float(floatData, 1.5); e.float(floatData, -2) }), must(tensor.From([]complex64{1.5 - 2i}, 1))},
		{"complex128", tensorBytes(15, []int64{1}, floats(doubleData, f64.Bytes())), must(tensor.From([]complex128{1.5 - 2i}, 1))},
		{"int32", tensorBytes(6, []int64{2}, packedInts(int32Data, -1, 1<<30)), must(tensor.From([]int32{-1, 1 << 30}, 2))},
		{"int32 single", tensorBytes(6, []int64{2}, singleInts(int32Data, -1, 5)), must(tensor.From([]int32{-1, 5}, 2))},
		{"int64", tensorBytes(7, []int64{2}, packedInts(int64Data, -1, 1<<40)), must(tensor.From([]int64{-1, 1 << 40}, 2))},
		{"int16", tensorBytes(5, []int64{2}, packedInts(int32Data, -1, 300)), must(tensor.From([]int16{-1, 300}, 2))},
		{"int8", tensorBytes(3, []int64{3}, packedInts(int32Data, -128, 127, 255)), must(tensor.From([]int8{-128, 127, -1}, 3))},
		{"uint8", tensorBytes(2, []int64{2}, packedInts(int32Data, 0, 255)), must(tensor.From([]uint8{0, 255}, 2))},
		{"uint16", tensorBytes(4, []int64{1}, packedInts(int32Data, 65535)), must(tensor.From([]uint16{65535}, 1))},
		{"uint32", tensorBytes(12, []int64{1}, packedInts(uint64Data, 1<<32-1)), must(tensor.From([]uint32{1<<32 - 1}, 1))},
		{"uint64", tensorBytes(13, []int64{1}, packedInts(uint64Data, -1)), must(tensor.From([]uint64{1<<64 - 1}, 1))},
		{"bool", tensorBytes(9, []int64{3}, packedInts(int32Data, 0, 1, 5)), must(tensor.From([]bool{false, true, true}, 3))},
		{"bool raw", tensorBytes(9, []int64{3}, raw(0, 1, 5)), must(tensor.From([]bool{false, true, true}, 3))},
		{"float16", tensorBytes(10, []int64{2}, packedInts(int32Data, 0x3c00, 0xbc00)), must(tensor.From([]packed.F16{0x3c00, 0xbc00}, 2))},
		{"bfloat16", tensorBytes(16, []int64{1}, packedInts(int32Data, 0xff80)), must(tensor.From([]packed.BF16{0xff80}, 1))},
		{"float8e4m3fn", tensorBytes(17, []int64{1}, packedInts(int32Data, 0x80)), must(tensor.From([]packed.F8E4M3FN{0x80}, 1))},
		{"float8e8m0", tensorBytes(24, []int64{1}, packedInts(int32Data, 0xff)), must(tensor.From([]packed.F8E8M0{0xff}, 1))},
		{"uint4", tensorBytes(21, []int64{3}, packedInts(int32Data, 0x21, 0x03)), must(tensor.FromBytes(tensor.U4, tensor.Shape{3}, []byte{0x21, 3}))},
		{"int4", tensorBytes(22, []int64{2}, packedInts(int32Data, 0xf8)), must(tensor.FromBytes(tensor.I4, tensor.Shape{2}, []byte{0xf8}))},
		{"float4e2m1", tensorBytes(23, []int64{1}, packedInts(int32Data, 0x7)), must(tensor.FromBytes(tensor.F4E2M1, tensor.Shape{1}, []byte{7}))},
		{"uint2", tensorBytes(25, []int64{5}, packedInts(int32Data, 0xe4, 1)), must(tensor.FromBytes(tensor.U2, tensor.Shape{5}, []byte{0xe4, 1}))},
		{"int2", tensorBytes(26, []int64{4}, packedInts(int32Data, 0xe4)), must(tensor.FromBytes(tensor.I2, tensor.Shape{4}, []byte{0xe4}))},
		{"string", tensorBytes(8, []int64{2}, func(e *encoder) { e.entries(stringData, []string{"", "é"}) }), must(tensor.FromStrings([]string{"", "é"}, 2))},
		{"dims packed", proto(func(e *encoder) { packedInts(1, 1, 1)(e); e.int(2, 2); raw(7)(e) }), must(tensor.From([]uint8{7}, 1, 1))},
		{"data before type", proto(func(e *encoder) { raw(7, 8)(e); e.int(2, 2); e.int(1, 2) }), must(tensor.From([]uint8{7, 8}, 2))},
		{"empty fields beside raw", tensorBytes(2, []int64{1}, func(e *encoder) { e.bytes(floatData, nil); raw(7)(e) }), must(tensor.From([]uint8{7}, 1))},
		{"nothing", tensorBytes(1, []int64{0}, func(*encoder) {}), tensor.New(tensor.F32, 0)},
		{"unknown fields", tensorBytes(2, []int64{1}, func(e *encoder) { raw(7)(e); e.entry(99, "x"); e.int(98, 1); e.float(97, 1) }), must(tensor.From([]uint8{7}, 1))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := ReadTensor(c.data)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want.String() || !bytes.Equal(got.Bytes(), c.want.Bytes()) || !reflect.DeepEqual(got.Strings(), c.want.Strings()) {
				t.Errorf("got %v %v, want %v %v", got, got.Bytes(), c.want, c.want.Bytes())
			}
		})
	}
}

func TestTensorRefused(t *testing.T) {
	dims := func(n ...int64) []byte { return tensorBytes(1, n, func(*encoder) {}) }
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "no element type"},
		{"no type", proto(func(e *encoder) { raw(7)(e) }), "no element type"},
		{"type of later versions", tensorBytes(99, nil, raw(7)), "element type 99"},
		{"type negative", tensorBytes(-1, nil, raw(7)), "element type -1"},
		{"extent negative", dims(-1), "negative extent"},
		{"extents huge", dims(1<<40, 1<<40), "too many elements"},
		{"extent huge", dims(1 << 40), "needs 1099511627776 entries in float_data, which has 0"},
		{"extents too many", dims(make([]int64, 65)...), "more than 64 axes"},
		{"raw short", tensorBytes(1, []int64{2}, raw(1, 2, 3, 4)), "needs 8 entries in raw_data, which has 4"},
		{"raw long", tensorBytes(1, nil, raw(1, 2, 3, 4, 5)), "needs 4 entries"},
		{"raw twice", tensorBytes(2, []int64{2}, func(e *encoder) { raw(1)(e); raw(2)(e) }), "more than once"},
		{"raw strings", tensorBytes(8, []int64{1}, raw(1)), "strings cannot be in raw_data"},
		{"raw as number", tensorBytes(2, nil, func(e *encoder) { e.int(rawData, 1) }), "wire type"},
		{"string as number", tensorBytes(8, nil, func(e *encoder) { e.int(stringData, 1) }), "wire type"},
		{"float as number", tensorBytes(1, nil, func(e *encoder) { e.int(floatData, 1) }), "wire type"},
		{"fields for other types", tensorBytes(1, nil, packedInts(int32Data, 1)), "belong in float_data or raw_data, not in int32_data"},
		{"two fields", tensorBytes(6, nil, func(e *encoder) { packedInts(int32Data, 1)(e); raw(1, 0, 0, 0)(e) }), "int32_data and in raw_data"},
		{"entries too few", tensorBytes(6, []int64{3}, packedInts(int32Data, 1, 2)), "needs 3 entries"},
		{"entries too many", tensorBytes(6, nil, packedInts(int32Data, 1, 2)), "needs 1 entries"},
		{"entry cut", tensorBytes(6, nil, func(e *encoder) { e.bytes(int32Data, []byte{1, 0x80}) }), "ends within an element"},
		{"float cut", tensorBytes(1, nil, func(e *encoder) { e.bytes(floatData, []byte{1, 2, 3}) }), "ends within an element"},
		{"varint overlong", tensorBytes(7, nil, func(e *encoder) { e.bytes(int64Data, append(bytes.Repeat([]byte{0x80}, 11), 1)) }), "int64_data"},
		{"entry too large", tensorBytes(2, nil, packedInts(int32Data, 256)), "entry 256 does not fit uint8"},
		{"entry too small", tensorBytes(3, nil, packedInts(int32Data, -129)), "entry -129 does not fit int8"},
		{"entry beyond 32 bits", tensorBytes(12, nil, packedInts(uint64Data, 1<<32)), "does not fit uint32"},
		{"segment", tensorBytes(2, nil, func(e *encoder) { e.entry(3, ""); raw(1)(e) }), "segment"},
		{"location unknown", tensorBytes(2, nil, func(e *encoder) { e.int(14, 2) }), "data_location 2"},
		{"external", tensorBytes(2, nil, func(e *encoder) { e.int(14, 1); e.pairs(13, []graph.Pair{{Key: "location", Value: "x"}}) }), "open the model as a file"},
		{"external and inline", tensorBytes(2, nil, func(e *encoder) { e.int(14, 1); raw(1)(e) }), "raw_data and in an external file"},
		{"external not said", tensorBytes(2, nil, func(e *encoder) { e.pairs(13, []graph.Pair{{Key: "location", Value: "x"}}) }), "data_location is not external"},
		{"external strings", tensorBytes(8, nil, func(e *encoder) { e.int(14, 1) }), "strings cannot be in an external file"},
		{"cut", []byte{0x08}, "field 1"},
		{"bad tag", []byte{0x07, 0x00}, "no field tag"},
		{"field zero", []byte{0x00, 0x00}, "no field tag"},
		{"length beyond the end", []byte{0x4a, 0xff, 0xff, 0xff, 0xff, 0x0f}, "field 9"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := ReadTensor(c.data)
			if err == nil {
				t.Fatalf("read %v", got)
			}
			checkRefused(t, err)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

func TestTensorsAreViews(t *testing.T) {
	big := make([]byte, 8000)
	for _, field := range []protowire.Number{rawData, floatData} {
		data := tensorBytes(1, []int64{2000}, func(e *encoder) { e.bytes(field, big) })
		_, got, err := ReadTensor(data)
		if err != nil {
			t.Fatal(err)
		}
		start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		if at := uintptr(got.Pointer()); at < start || at >= start+uintptr(len(data)) {
			t.Errorf("%s was copied", storageNames[field])
		}
	}
}

func TestSparseRefused(t *testing.T) {
	values := func(n int) func(e *encoder) {
		return func(e *encoder) { e.bytes(1, must(WriteTensor(nil, "s", tensor.New(tensor.F32, n)))) }
	}
	indices := func(shape []int, v ...int64) func(e *encoder) {
		return func(e *encoder) { e.bytes(2, must(WriteTensor(nil, "", must(tensor.From(v, shape...))))) }
	}
	cases := []struct {
		name  string
		parts []func(e *encoder)
		dims  []int64
		want  string // empty for a valid tensor
	}{
		{"flat", []func(e *encoder){values(2), indices([]int{2}, 1, 3)}, []int64{2, 2}, ""},
		{"rows", []func(e *encoder){values(2), indices([]int{2, 2}, 0, 1, 1, 1)}, []int64{2, 2}, ""},
		{"empty", []func(e *encoder){values(0)}, []int64{2, 2}, ""},
		{"no values", []func(e *encoder){indices([]int{2}, 1, 3)}, []int64{2, 2}, "no values"},
		{"no indices", []func(e *encoder){values(2)}, []int64{2, 2}, "no indices"},
		{"index beyond", []func(e *encoder){values(1), indices([]int{1}, 4)}, []int64{2, 2}, "index 4 outside"},
		{"index negative", []func(e *encoder){values(1), indices([]int{1}, -1)}, []int64{2, 2}, "index -1 outside"},
		{"row beyond", []func(e *encoder){values(1), indices([]int{1, 2}, 0, 2)}, []int64{2, 2}, "index 2 outside"},
		{"not ascending", []func(e *encoder){values(2), indices([]int{2}, 1, 1)}, []int64{2, 2}, "do not ascend"},
		{"rank differs", []func(e *encoder){values(1), indices([]int{1, 1}, 0)}, []int64{2, 2}, "indices are int64[1,1]"},
		{"shape huge", []func(e *encoder){values(1), indices([]int{1}, 0)}, []int64{1 << 40, 1 << 40}, "too many elements"},
		{"shape negative", []func(e *encoder){values(1), indices([]int{1}, 0)}, []int64{-2}, "negative"},
		{"shape empty", []func(e *encoder){values(1), indices([]int{1}, 0)}, []int64{0}, "outside"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data := proto(func(e *encoder) {
				for _, p := range c.parts {
					p(e)
				}
				e.ints(3, c.dims)
			})
			_, err := ReadValue(data, graph.Type{Kind: graph.SparseType})
			checkRefused(t, err)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	one := func(name string) *Value {
		w := filled(tensor.F32, 2)
		return &Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.DimsOf(w.Shape())), Tensor: w}
	}
	f32 := graph.TensorOf(tensor.F32, nil)
	seqType := graph.Type{Kind: graph.SequenceType, Elem: &f32}
	seq := &Value{Name: "s", Type: seqType, List: []*Value{one("a"), one("b")}}
	sparse := &graph.SparseTensor{Values: must(tensor.From([]float32{1}, 1)), Indices: ints(1), Shape: tensor.Shape{3}}
	cases := []struct {
		name  string
		value *Value
	}{
		{"tensor", one("x")},
		{"sequence", seq},
		{"sequence empty", &Value{Type: seqType}},
		{"sequence of sequences", &Value{Type: graph.Type{Kind: graph.SequenceType, Elem: &seqType}, List: []*Value{seq}}},
		{"optional", &Value{Type: graph.Type{Kind: graph.OptionalType, Elem: &f32}, List: []*Value{one("a")}}},
		{"optional none", &Value{Type: graph.Type{Kind: graph.OptionalType, Elem: &f32}}},
		{"optional sequence", &Value{Type: graph.Type{Kind: graph.OptionalType, Elem: &seqType}, List: []*Value{seq}}},
		{"sparse", &Value{Name: "v", Type: graph.Type{Kind: graph.SparseType, DType: tensor.F32, Dims: graph.Dims{graph.Known(3)}}, Sparse: sparse}},
		{"map of integers", &Value{Type: graph.Type{Kind: graph.MapType, Key: tensor.I64, Elem: &f32}, Keys: ints(5, -6), List: []*Value{one("a"), one("b")}}},
		{"map of strings", &Value{Type: graph.Type{Kind: graph.MapType, Key: tensor.String, Elem: &f32}, Keys: must(tensor.FromStrings([]string{"k"}, 1)), List: []*Value{one("a")}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data, err := WriteValue(nil, c.value)
			if err != nil {
				t.Fatal(err)
			}
			want := c.value
			if want.Sparse != nil {
				want.Name = "v"
			}
			got, err := ReadValue(data, c.value.Type)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			for i := range data {
				if _, err := ReadValue(data[:i], c.value.Type); err != nil {
					checkRefused(t, err)
				}
			}
		})
	}
}

func TestRunnableMap(t *testing.T) {
	f32 := graph.TensorOf(tensor.F32, nil)
	of := func(keys *tensor.Tensor, list ...*tensor.Tensor) *Value {
		v := &Value{Type: graph.Type{Kind: graph.MapType, Key: keys.DType(), Elem: &f32}, Keys: keys}
		for _, t := range list {
			v.List = append(v.List, &Value{Type: graph.TensorOf(t.DType(), nil), Tensor: t})
		}
		return v
	}
	one := func(v float32) *tensor.Tensor { return must(tensor.From([]float32{v})) }
	text := must(tensor.FromStrings([]string{"a"}, 1))
	for _, c := range []struct {
		name   string
		v      *Value
		values *tensor.Tensor // nil for an error
	}{
		{"floats", of(ints(5, -6), one(1.5), one(2)), must(tensor.From([]float32{1.5, 2}, 2))},
		{"strings", of(text, text), text},
		{"none", of(ints()), tensor.New(tensor.F32, 0)},
		{"two types", of(ints(5, -6), one(1.5), text), nil},
		{"two elements", of(ints(5), tensor.New(tensor.F32, 2)), nil},
		{"below a byte", of(ints(5), tensor.New(tensor.I4, 1)), nil},
		{"a sequence", &Value{Type: graph.Type{Kind: graph.MapType, Key: tensor.I64}, Keys: ints(1), List: []*Value{{Type: graph.Type{Kind: graph.SequenceType}}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.v.Runnable()
			if c.values == nil {
				if !errors.Is(err, graph.ErrUnsupported) {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := (&tensor.Map{Keys: c.v.Keys, Values: c.values}); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestValuesRefused(t *testing.T) {
	f32 := graph.TensorOf(tensor.F32, nil)
	deep := graph.Type{Kind: graph.SequenceType}
	nested := []byte{}
	for range 100 {
		outer := nested
		nested = proto(func(e *encoder) { e.int(2, 3); e.bytes(5, outer) })
	}
	tensorElem := func(num protowire.Number, code int64) []byte {
		return proto(func(e *encoder) {
			e.int(2, code)
			e.bytes(num, must(WriteTensor(nil, "", tensor.New(tensor.F32))))
			e.bytes(num, must(WriteTensor(nil, "", tensor.New(tensor.F32))))
		})
	}
	cases := []struct {
		name string
		data []byte
		want graph.Type
		text string
	}{
		{"deep", nested, deep, "nested more than 64 deep"},
		{"elements of another kind", tensorElem(3, 3), graph.Type{Kind: graph.SequenceType, Elem: &f32}, "has an element of type"},
		{"kind unknown", tensorElem(3, 9), graph.Type{Kind: graph.SequenceType, Elem: &f32}, "unknown element kind 9"},
		{"optional of two", tensorElem(3, 1), graph.Type{Kind: graph.OptionalType, Elem: &f32}, "optional has 2 values"},
		{"opaque", nil, graph.Type{Kind: graph.OpaqueType}, "no message"},
		{"untyped", nil, graph.Type{}, "no message"},
		{"map of floats", proto(func(e *encoder) { e.int(2, 1) }), graph.Type{Kind: graph.MapType, Elem: &f32}, "key type"},
		{"map without values", proto(func(e *encoder) { e.int(2, 7); e.int(3, 1) }), graph.Type{Kind: graph.MapType, Elem: &f32}, "differ in number"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadValue(c.data, c.want)
			checkRefused(t, err)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %q", err, c.text)
			}
		})
	}
}

func TestWriteValueRefuses(t *testing.T) {
	f32 := graph.TensorOf(tensor.F32, nil)
	for _, v := range []*Value{
		{},
		{Type: f32},
		{Type: graph.Type{Kind: graph.SparseType}},
		{Type: graph.Type{Kind: graph.SequenceType, Elem: &f32}, List: []*Value{{Type: f32, Tensor: tensor.New(tensor.F32)}, {Type: graph.Type{Kind: graph.SequenceType}}}},
	} {
		if _, err := WriteValue(nil, v); err == nil {
			t.Errorf("wrote %+v", v)
		}
	}
	if _, err := WriteTensor(nil, "", nil); err == nil || errors.Is(err, graph.ErrFormat) {
		t.Errorf("wrote no tensor: %v", err)
	}
}
