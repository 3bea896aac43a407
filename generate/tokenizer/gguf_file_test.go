package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	gguffile "github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/internal/budget"
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
	m, err := gguffile.Read(budget.New(t.Context(), budget.Limits{}), name, data)
	if err != nil {
		t.Fatal(err)
	}
	return m.Meta
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
