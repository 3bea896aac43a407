package exchange

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// FuzzToGGUF changes two settings of folders. Files of those that are accepted are networks.
func FuzzToGGUF(f *testing.F) {
	names := slices.Sorted(maps.Keys(files))
	folders := make([]*graph.Model, len(names))
	for i, name := range names {
		architecture, _, _ := strings.Cut(name, " ")
		m, err := ToFolder(files[name].model(architecture), tensor.Invalid, container.Lowering{})
		if err != nil {
			f.Fatal(err)
		}
		folders[i] = m
		f.Add(uint8(i), "hidden_size", "15", "rope_scaling", `{"type":"yarn","factor":2,"mscale":1,"mscale_all_dim":3}`)
	}
	f.Fuzz(func(t *testing.T, which uint8, key, value, key2, value2 string) {
		m := *folders[int(which)%len(folders)]
		config := map[string]any{}
		if err := json.Unmarshal([]byte(m.Meta[0].Value), &config); err != nil {
			t.Fatal(err)
		}
		for key, text := range map[string]string{key: value, key2: value2} {
			var v any
			if json.Unmarshal([]byte(text), &v) != nil {
				return
			}
			config[key] = v
		}
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		m.Meta = []graph.Pair{{Key: ConfigFile, Value: string(text)}}
		l := container.Lowering{Budget: budget.New(t.Context(), budget.Limits{Bytes: 16 << 20})}
		g, err := ToGGUF(&m, l)
		if err != nil {
			if !errors.Is(err, graph.ErrFormat) && !errors.Is(err, graph.ErrUnsupported) && !errors.Is(err, graph.ErrMemory) {
				t.Fatal(err)
			}
			return
		}
		if n, err := gguf.Lower(g, container.Lowering{}); err != nil || n == nil {
			t.Fatalf("%v, %v", n, err)
		}
		if _, err := ToFolder(g, tensor.Invalid, container.Lowering{}); err != nil && strings.Contains(err.Error(), "internal error") {
			t.Fatal(err)
		}
	})
}
