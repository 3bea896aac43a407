package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// file returns a file of a header and n bytes of payload that count up.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

const one = `{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`

func TestRead(t *testing.T) {
	data := file(`{"b":{"shape":[2,0],"data_offsets":[6,6],"dtype":"I64","more":{"x":[null]}},"__metadata__":{"k":"v","a":""},"\u0061":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}`+" \n", 6)
	m, err := Read(nil, "x", data)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, x := range m.Graph.Initializers {
		list = append(list, fmt.Sprint(x.Name, " ", x.Stored.DType, " ", x.Tensor, " ", x.Tensor.Bytes(), " ", x.Stored.Offset-int64(len(data))))
	}
	if got := strings.Join(list, "; "); got != "b I64 int64[2,0] [] 0; a BF16 bfloat16[3] [0 1 2 3 4 5] -6" {
		t.Errorf("tensors %s", got)
	}
	if got := fmt.Sprint(m.Meta); got != "[{k v  none} {a   none}]" {
		t.Errorf("metadata %s", got)
	}
	if &m.Graph.Initializers[1].Tensor.Bytes()[0] != &data[len(data)-6] {
		t.Error("a tensor was copied")
	}
	if !Probe(data) || Probe([]byte(`{"a":1}`)) || Probe(nil) || Probe(make([]byte, 20)) {
		t.Error("files are not told from others")
	}
}

func TestRefused(t *testing.T) {
	cases := []struct {
		name   string
		header string
		n      int
		want   string
	}{
		{"same key", `{"a":` + one + `,"a":` + one + `}`, 4, "more than once"},
		{"same key, spelt otherwise", `{"a":` + one + `,"\u0061":` + one + `}`, 4, "more than once"},
		{"same key of a tensor", `{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, "more than once"},
		{"same key of the metadata", `{"__metadata__":{"a":"1","a":"1"}}`, 0, "more than once"},
		{"no braces", `[]`, 0, "does not begin"},
		{"white space first", ` {"a":` + one + `}`, 4, "does not begin"},
		{"something behind", `{"a":` + one + `}x`, 4, "follows the end"},
		{"a zero behind", `{"a":` + one + "}\x00", 4, "follows the end"},
		{"no name", `{"":` + one + `}`, 4, "no name"},
		{"half a pair", `{"\ud800":` + one + `}`, 4, "escape"},
		{"not UTF-8", "{\"\xff\":" + one + `}`, 4, "UTF-8"},
		{"metadata of numbers", `{"__metadata__":{"a":1}}`, 0, "due"},
		{"no metadata", `{"__metadata__":null}`, 0, "due"},
		{"no dtype", `{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4, "lacks one of"},
		{"a list", `{"a":["F32",[1],[0,4]]}`, 4, "due"},
		{"three offsets", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}}`, 4, "has 3 numbers"},
		{"fraction", `{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`, 4, "no count"},
		{"negative", `{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4, "no count"},
		{"unknown type", `{"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}`, 4, "unknown element type"},
		{"type that cannot be held", `{"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}`, 3, "tensors cannot hold"},
		{"too short", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4, "has 4 bytes where F32[2] takes 8"},
		{"backwards", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4, "in front of its begin"},
		{"past the end", `{"a":` + one + `}`, 3, "ends at 4"},
		{"hole in front", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}`, 5, "there must be no gap"},
		{"hole behind", `{"a":` + one + `}`, 5, "belong to no tensor"},
		{"overlap", `{"a":` + one + `,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}`, 5, "in front of the end"},
		{"same place", `{"a":` + one + `,"b":` + one + `}`, 4, "in front of the end"},
		{"nothing, within another", `{"a":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},"b":` + one + `}`, 4, "in front of the end"},
		{"elements that overflow", `{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0, "memory"},
		{"elements that overflow in part", `{"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}`, 4, "memory"},
		{"huge offsets", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615]}}`, 1, "ends at"},
		{"deep", `{"a":` + strings.Repeat(`{"b":`, 1000000) + `}`, 0, "deep"},
		{"cut off", `{"a":{"dtype":"F32","shape":[1],"data_offs`, 0, "ends in a string"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data := file(c.header, c.n)
			_, err := Read(nil, "x", data)
			var g *graph.Error
			if !errors.As(err, &g) || !strings.Contains(err.Error(), c.want) || g.Offset < 0 || g.Kind == nil {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if got := scan(nil, "x", data); got.All()[0].Error() != err.Error() {
				t.Errorf("verify finds %v first", got.All()[0])
			}
		})
	}
	for _, data := range [][]byte{nil, make([]byte, 7), make([]byte, 8), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{'}, {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}} {
		if _, err := Read(nil, "x", data); !errors.Is(err, graph.ErrFormat) {
			t.Errorf("%x: %v", data, err)
		}
	}
}

// TestDTypes reads a tensor of every element type.
func TestDTypes(t *testing.T) {
	for _, row := range dtypes {
		if row.dtype == tensor.Invalid {
			continue
		}
		n := row.dtype.Bytes(5)
		data := file(fmt.Sprintf(`{"a":{"dtype":"%s","shape":[5],"data_offsets":[0,%d]}}`, row.name, n), n)
		m, err := Read(nil, "x", data)
		if err != nil {
			t.Error(err)
			continue
		}
		if x := m.Graph.Initializers[0]; x.Tensor.DType() != row.dtype || x.Stored.DType != row.name || !bytes.Equal(x.Tensor.Bytes(), data[len(data)-n:]) {
			t.Errorf("%s is %v", row.name, x.Tensor)
		}
		m.Source = nil
		var b bytes.Buffer
		if err := Write(&b, m, container.Options{}); err != nil {
			t.Error(err)
		} else if again, err := Read(nil, "y", b.Bytes()); err != nil || again.Graph.Initializers[0].Tensor.DType() != row.dtype {
			t.Errorf("%s written and read: %v", row.name, err)
		}
	}
}

// TestDamaged reads a file cut at every byte, and with every bit flipped.
func TestDamaged(t *testing.T) {
	data := file(`{"__metadata__":{"a":"b"},"w":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"v":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}}`, 7)
	for n := range data {
		if m, err := Read(nil, "x", data[:n]); err == nil || m != nil {
			t.Errorf("cut off after %d bytes: %v", n, err)
		}
	}
	for i := range 8 * len(data) {
		b := bytes.Clone(data)
		b[i/8] ^= 1 << (i % 8)
		if m, err := Read(nil, "x", b); (err == nil) == (m == nil) {
			t.Errorf("bit %d turned: %v", i, err)
		}
	}
}

// FuzzRead reads data. It gives an error or a model, with memory in proportion to the file. A model
// is written as it was.
func FuzzRead(f *testing.F) {
	f.Add(file(`{"a":`+one+`}  `, 4))
	f.Add(file(`{"__metadata__":{"a":"\u00e9"},"b":{"dtype":"F4","shape":[3],"data_offsets":[4,6]},"\ud83d\ude00":`+one+`}`, 6))
	f.Add(file(`{"a":{"dtype":"I64","shape":[0,7],"data_offsets":[0,0]}}`, 0))
	f.Add([]byte(`{"metadata":{"total_size":4},"weight_map":{"a":"b.safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m *graph.Model
		var err error
		Probe(data)
		if n := fixtures.Allocated(func() { m, err = Read(nil, "x", data) }); n > 1<<16+100*uint64(len(data)) {
			t.Errorf("%d bytes allocated for %d", n, len(data))
		}
		var p container.Problems
		parseIndex(&p, data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, m, container.Options{}); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(nil, "y", b.Bytes()); err != nil {
			t.Fatal(err)
		} else if clean(m) && !bytes.Equal(b.Bytes(), data) || b.Len() != len(data) {
			t.Error("written otherwise than it was")
		} else if clean(m) {
			same(t, again, m)
		}
		m.Source = nil
		b.Reset()
		if err := Write(&b, m, container.Options{}); err != nil {
			t.Fatal(err)
		}
		again, err := Read(nil, "y", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if clean(m) {
			same(t, again, m)
		}
	})
}

// clean reports whether every element has only one form in bits.
func clean(m *graph.Model) bool {
	for _, x := range m.Graph.Initializers {
		d := x.Tensor.DType()
		if d == tensor.Bool || d.Bits()*x.Tensor.Len()%8 != 0 {
			return false
		}
	}
	return true
}

// same compares tensors by name, and metadata by key.
func same(t *testing.T, got, want *graph.Model) {
	t.Helper()
	text := func(m *graph.Model) map[string]string {
		list := map[string]string{}
		for _, p := range m.Meta {
			list[p.Key] = p.Value
		}
		for _, x := range m.Graph.Initializers {
			list["tensor "+x.Name] = fmt.Sprintf("%v %x", x.Tensor, x.Tensor.Bytes())
		}
		return list
	}
	g, w := text(got), text(want)
	if len(g) != len(w) {
		t.Errorf("%d things, want %d", len(g), len(w))
	}
	for k, v := range w {
		if g[k] != v {
			t.Errorf("%s is %s, want %s", k, g[k], v)
		}
	}
}
