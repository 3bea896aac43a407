package tokenizer

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ggufSample returns the metadata of a sample.
func ggufSample(t testing.TB, name string) []graph.Pair {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), name))
	if err != nil {
		t.Fatal(err)
	}
	r := &pairReader{data: data[16:]}
	list := make([]graph.Pair, r.u64())
	for i := range list {
		list[i].Key = r.text()
		kind := r.u32()
		switch kind {
		case 8:
			list[i].Kind, list[i].Value = "string", r.text()
		case 9:
			kind := r.u32()
			n := int(r.u64())
			list[i].Kind = "array of " + pairTypes[kind].name
			list[i].Data = r.elements(t, kind, n, n)
		default:
			list[i].Kind = pairTypes[kind].name
			list[i].Data = r.elements(t, kind, 1)
		}
	}
	return list
}

// pairTypes are the types of values.
var pairTypes = map[uint32]struct {
	name  string
	dtype tensor.DType
}{
	0: {"u8", tensor.U8}, 1: {"i8", tensor.I8}, 2: {"u16", tensor.U16}, 3: {"i16", tensor.I16}, 4: {"u32", tensor.U32}, 5: {"i32", tensor.I32},
	6: {"f32", tensor.F32}, 7: {"bool", tensor.Bool}, 8: {"string", tensor.String}, 10: {"u64", tensor.U64}, 11: {"i64", tensor.I64}, 12: {"f64", tensor.F64},
}

// A pairReader reads the pairs of a file that is sound.
type pairReader struct{ data []byte }

func (r *pairReader) take(n int) []byte {
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *pairReader) u32() uint32  { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *pairReader) u64() uint64  { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *pairReader) text() string { return string(r.take(int(r.u64()))) }

func (r *pairReader) elements(t testing.TB, kind uint32, n int, shape ...int) *tensor.Tensor {
	d := pairTypes[kind].dtype
	if d == tensor.String {
		list := make([]string, n)
		for i := range list {
			list[i] = r.text()
		}
		out, err := tensor.FromStrings(list, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out, err := tensor.FromBytes(d, shape, r.take(d.Bytes(n)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ggufPair returns a pair of metadata: a text, texts, a number, a truth or numbers.
func ggufPair(key string, value any) graph.Pair {
	p := graph.Pair{Key: key}
	var err error
	switch v := value.(type) {
	case string:
		p.Kind, p.Value = "string", v
	case []string:
		p.Kind = "array of string"
		p.Data, err = tensor.FromStrings(v, len(v))
	case bool:
		p.Kind = "bool"
		p.Data, err = tensor.From([]bool{v})
	case int:
		p.Kind = "u32"
		p.Data, err = tensor.From([]uint32{uint32(v)})
	case float32:
		p.Kind = "f32"
		p.Data, err = tensor.From([]float32{v})
	case []int32:
		p.Kind = "array of i32"
		p.Data, err = tensor.From(v, len(v))
	case []float32:
		p.Kind = "array of f32"
		p.Data, err = tensor.From(v, len(v))
	case []byte:
		p.Kind = "array of u8"
		p.Data, err = tensor.From(v, len(v))
	default:
		err = fmt.Errorf("no pair of %T", value)
	}
	if err != nil {
		panic(err)
	}
	return p
}

// ggufMetadata returns metadata of keys and values in turn. Keys that begin with a dot are of the
// tokenizer. Later values replace earlier ones, and nil removes them.
func ggufMetadata(pairs ...any) (list []graph.Pair) {
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].(string)
		if key[0] == '.' {
			key = ggufPrefix + key[1:]
		}
		for j := range list {
			if list[j].Key == key {
				list = append(list[:j], list[j+1:]...)
				break
			}
		}
		if pairs[i+1] != nil {
			list = append(list, ggufPair(key, pairs[i+1]))
		}
	}
	return list
}
