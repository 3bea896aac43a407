package formats_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// longestMessage bounds the bytes of a message, whatever a file holds.
const longestMessage = 4 << 10

// The length of long names, and the number of axes of wide tensors, in the files of this test.
const (
	longName = 1 << 17
	wideAxes = 1 << 16
)

// lengthy returns texts of files, by extension, whose messages could be long: of lists, names and
// tensors.
func lengthy() map[string][]string {
	name, ones := strings.Repeat("n", longName), strings.TrimSuffix(strings.Repeat("1,", wideAxes), ",")
	return map[string][]string{
		".json": {
			`{"id":"` + name + `","layers":[{"type":"` + name + `"}]}`,
			`{"id":"x","depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"Dense","dtype":"` + name + `","input_height":1,"output_height":1}]}`,
			`{"` + name + `":1}`, `{"weight_map":{"` + name + `":"` + name + `"}}`,
			`{"vars":[{"name":"` + name + `","dtype":"` + name + `","dims":[` + ones + `]}]}`,
		},
		".oig": {
			"dynamic {\n" + name + ": f32[" + ones + "];\n" + name + ": f32[" + ones + "];\n}\nblock entry { return; }\n",
			"dynamic {\nx: f32[" + ones + "];\n}\nvolatile {\ny: f32[" + ones + ",2];\n}\nblock entry {\nop relu(x) >> y;\nreturn;\n}\n",
			"dynamic {\nx: f32[" + ones + "];\n}\nvolatile {\ny: f32[" + ones + "];\n}\nblock entry {\nop " + name + "(x) >> y;\nop add(x, z) >> y;\nreturn;\n}\n",
			"dynamic {\nx: f32[" + ones + "];\n}\nvolatile {\ny: f32[" + ones + "];\n}\nblock entry {\nop sum(x, axes=[" + ones + "]) >> y;\nreturn;\n}\n",
		},
		".safetensors": {header(`{"a":{"dtype":"F32","shape":[`+ones+`],"data_offsets":[0,8]}}`, 8),
			header(`{"`+name+`":{"dtype":"`+name+`","shape":[1],"data_offsets":[0,4]}}`, 4),
			header(`{"__metadata__":{"`+name+`":"x","`+name+`":"x"},"`+name+`":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4)},
	}
}

// header returns a file of safetensors with n bytes of zeros.
func header(text string, n int) string {
	return string(fmt.Append(nil, string([]byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), byte(len(text) >> 24), 0, 0, 0, 0}), text, strings.Repeat("\x00", n)))
}

// spacious returns a model with a tensor of many axes, a long name and long metadata: as many and as
// long as format f holds.
func spacious(t *testing.T, f *formats.Format) *graph.Model {
	t.Helper()
	m := crowded(t, f.Name)
	if _, ok := networks[f.Name]; ok {
		return m
	}
	path := filepath.Join(t.TempDir(), "model"+f.Extensions[0])
	most := func(n int, set func(n int)) {
		for set(n); n > 0 && formats.SaveAs(path, f.Name, m, formats.Options{}) != nil; set(n) {
			n /= 2
		}
	}
	wide := &graph.Initializer{Name: "wide", Tensor: tensor.New(tensor.F32, 1)}
	long := &graph.Initializer{Name: "long", Tensor: tensor.New(tensor.F32, 2)}
	m.Graph.Initializers = []*graph.Initializer{wide, long, {Name: "last", Tensor: tensor.New(tensor.F32, 3)}}
	most(wideAxes, func(n int) { wide.Tensor = tensor.New(tensor.F32, slices.Repeat([]int{1}, n)...) })
	most(longName, func(n int) { long.Name = "n" + strings.Repeat("n", n) })
	bare := m.Meta
	most(longName, func(n int) {
		if m.Meta = bare; n > 0 {
			m.Meta = append(slices.Clone(bare), graph.Pair{Key: strings.Repeat("k", n), Value: strings.Repeat("v", n)})
		}
	})
	return m
}

// TestMessages reads files of long names, tensors of many axes and long lists, whole and with bytes
// changed at random. No message is long.
func TestMessages(t *testing.T) {
	met := 0
	short := func(t *testing.T, what string, errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err == nil {
				continue
			}
			if met++; len(err.Error()) > longestMessage {
				t.Errorf("%s: a message of %d bytes begins with %.200q", what, len(err.Error()), err)
			}
		}
	}
	read := func(t *testing.T, path string) {
		t.Helper()
		short(t, "verify", formats.Verify(path)...)
		m, err := formats.Load(path)
		short(t, "load", err)
		if err != nil {
			return
		}
		defer m.Close()
		n, err := formats.Network(m, formats.Lowering{})
		short(t, "network", err)
		if err == nil {
			m = n
		}
		out := filepath.Join(t.TempDir(), "out")
		for i := range formats.Formats {
			short(t, "save as "+formats.Formats[i].Name, formats.SaveAs(out, formats.Formats[i].Name, m, formats.Options{}))
		}
		archive := filepath.Join(t.TempDir(), "empty.hnw")
		if err := formats.Save(archive, &graph.Model{Graph: &graph.Graph{}}, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		short(t, "replace", formats.ReplaceWeights(m, archive))
	}
	write := func(t *testing.T, path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for ext, list := range lengthy() {
		for i, text := range list {
			t.Run(fmt.Sprint(ext, i), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "model"+ext)
				write(t, path, []byte(text))
				before := met
				if read(t, path); met == before {
					t.Error("nothing is wrong")
				}
			})
		}
	}
	for i := range formats.Formats {
		f := &formats.Formats[i]
		t.Run(f.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model"+f.Extensions[0])
			if err := formats.SaveAs(path, f.Name, spacious(t, f), formats.Options{}); err != nil {
				short(t, "save", err)
				t.Fatalf("%.300v", err)
			}
			read(t, path)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 40 {
				changed := slices.Clone(data)
				for range 1 + r.IntN(3) {
					changed[r.IntN(len(changed))] = byte(r.IntN(256))
				}
				write(t, path, changed)
				short(t, "verify", formats.Verify(path)...)
				_, err := formats.Decode(path, changed)
				short(t, "decode", err)
			}
		})
	}
	if met < 300 {
		t.Errorf("only %d messages", met)
	}
}
