package loom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// entityOf makes an ENTITY file from a header and a payload of zeros.
func entityOf(header string, payload int) []byte {
	b := append([]byte(entityMagic), 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(header)))
	return append(append(b, header...), make([]byte, payload)...)
}

const denseGrid = `"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"Dense","dtype":"int8","softmax_type":"Standard","input_height":2,"output_height":3`

func TestHostile(t *testing.T) {
	deep := func(n int) string {
		return `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[` + strings.Repeat(`{"parallel_branches":[`, n) + strings.Repeat(`]}`, n) + `]}`
	}
	cases := []struct {
		name, text string
		want       string // empty if reading succeeds
	}{
		{"no network", `{"a":1}`, "neither a checkpoint"},
		{"array", `[]`, "neither a checkpoint"},
		{"layers of no array", `{"layers":7}`, "layers is an array"},
		{"layer of no object", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[7]}`, "a layer is an object"},
		{"null layer", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[null]}`, ""},
		{"null keys", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":null,"type":null,"parallel_branches":null,"weights":null,"mask":null}]}`, ""},
		{"two layers of one cell", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"RNN"},{"type":"LSTM"}]}`, ""},
		{"huge grid", `{"depth":1000000000,"rows":1000000000,"cols":1000000000,"layers_per_cell":1,"layers":[]}`, "cannot be"},
		{"large grid", `{"depth":1,"rows":1000000000,"cols":2,"layers_per_cell":1,"layers":[{"x":1,"y":999999999}]}`, ""},
		{"negative grid", `{"depth":-1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[]}`, "cannot be"},
		{"empty grid", `{"depth":0,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":0}]}`, "outside the grid"},
		{"far away", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":9223372036854775807,"y":-9223372036854775808}]}`, "outside the grid"},
		{"negative place", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"z":-1}]}`, "outside the grid"},
		{"another cell", `{"depth":2,"rows":2,"cols":1,"layers_per_cell":1,"layers":[{"y":3}]}`, ""},
		{"deep", deep(maxNesting + 1), ""},
		{"too deep", deep(maxNesting + 2), "nested more than"},
		{"far too deep", deep(4000), "nested more than"},
		{"deepest", deep(20000), "malformed JSON"},
		{"huge extents", `{` + denseGrid + `,"input_width":1,"weights":"AAAA","native":true,"input_height":4611686018427387904}]}`, "more weights than memory"},
		{"negative extents", `{` + denseGrid + `,"input_height":-2,"weights":"AAAA","native":true}]}`, "negative"},
		{"many weights claimed", `{` + denseGrid + `,"input_height":1000000000,"weights":"AAAA","native":true}]}`, "do not fit"},
		{"too few weights", `{` + denseGrid + `,"weights":"AAAA","native":true}]}`, "do not fit"},
		{"more weights than needed", `{` + denseGrid + `,"weights":"AAAAAAAAAAAA","native":true}]}`, ""},
		{"escaped weights", `{` + denseGrid + `,"weights":"AAAAAAAA\u0041AAA","native":true}]}`, ""},
		{"base64 of two lines", `{` + denseGrid + `,"weights":"AAAA\nAAAAAAAA","native":true}]}`, "line breaks"},
		{"base64 without padding", `{` + denseGrid + `,"weights":"AAAAAAAAAA","native":true}]}`, "illegal base64"},
		{"base64 of padding", `{` + denseGrid + `,"weights":"=","native":true}]}`, "illegal base64"},
		{"base64 of a bit of padding", `{` + denseGrid + `,"weights":"AAAA==","native":true}]}`, "illegal base64"},
		{"base64 with loose bits", `{` + denseGrid + `,"weights":"AAAAAAAAAB==","native":true}]}`, "illegal base64"},
		{"weights of no string", `{` + denseGrid + `,"weights":[1,2],"native":true}]}`, "no string"},
		{"weights of a Softmax", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"Softmax","weights":"AAAAAA==","native":true}]}`, ""},
		{"scale too large", `{` + denseGrid + `,"weights":"AAAAAAAA","native":true,"scale":1e39}]}`, "no number of 32 bits"},
		{"numbers as text", `{` + denseGrid + `,"stride":"1"}]}`, "no integer"},
		{"truth as number", `{` + denseGrid + `,"is_disabled":1}]}`, "neither true nor false"},
		{"spec of negative extents", `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"dense","input_height":-5,"output_height":2}]}`, ""},
		{"rules of no array", `{` + denseGrid + `,"meta_rules":{}}]}`, "meta_rules is an array"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { hostile(t, []byte(c.text), c.want) })
	}
}

func TestHostileEntity(t *testing.T) {
	net := `{"network":{` + denseGrid + `}]},`
	blob := func(path string, offset, length uint64, more string) string {
		return fmt.Sprintf(`{"path":%q,"offset":%d,"length":%d,"dtype":"int8","native":true%s}`, path, offset, length, more)
	}
	bundle := `{"network":{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"SwiGLU","input_height":2,"output_height":3,"softmax_type":"Standard"}]},
		"transformer":{"architecture":"x","hidden_size":2,"vocab_size":3},"blobs":[{"path":"transformer.embeddings","offset":0,"length":24,"dtype":"float32","native":false}%s]}`
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"no network", entityOf(`{"blobs":null}`, 0), "no network"},
		{"blobs of no array", entityOf(net+`"blobs":{}}`, 0), "blobs is an array"},
		{"blob of no object", entityOf(net+`"blobs":[7]}`, 0), "a blob is an object"},
		{"no blobs", entityOf(net+`"blobs":null}`, 0), ""},
		{"fine", entityOf(net+`"blobs":[`+blob("layers.0", 0, 6, "")+`]}`, 6), ""},
		{"longer than needed", entityOf(net+`"blobs":[`+blob("layers.0", 0, 8, "")+`]}`, 8), ""},
		{"too short", entityOf(net+`"blobs":[`+blob("layers.0", 0, 5, "")+`]}`, 6), "do not fit"},
		{"past the end", entityOf(net+`"blobs":[`+blob("layers.0", 1, 6, "")+`]}`, 6), "the payload has 6"},
		{"far past the end", entityOf(net+`"blobs":[`+blob("layers.0", 1<<63, 1<<63, "")+`]}`, 6), "the payload has 6"},
		{"over and over", entityOf(net+`"blobs":[`+strings.Repeat(blob("layers.0", 0, 6, "")+",", 5)+blob("layers.0", 0, 6, "")+`]}`, 12), "overlap"},
		{"negative offset", entityOf(net+`"blobs":[`+strings.Replace(blob("layers.0", 0, 6, ""), `"offset":0`, `"offset":-1`, 1)+`]}`, 6), "no offset"},
		{"sign in a path", entityOf(net+`"blobs":[`+blob("layers.+0", 0, 6, "")+`]}`, 6), "no layer"},
		{"long path", entityOf(net+`"blobs":[`+blob("layers."+strings.Repeat("x", 1<<20), 0, 6, "")+`]}`, 6), "no layer"},
		{"no number in a path", entityOf(net+`"blobs":[`+blob("layers", 0, 6, "")+`]}`, 6), "no layer"},
		{"branch that is not there", entityOf(net+`"blobs":[`+blob("layers.0.parallel_branches.0", 0, 6, "")+`]}`, 6), "no parallel_branches"},
		{"observed that is not there", entityOf(net+`"blobs":[`+blob("layers.0.meta_observed_layer", 0, 6, "")+`]}`, 6), "observes none"},
		{"plain codes", entityOf(net+`"blobs":[`+blob("layers.0", 0, 6, `,"native":false`)+`]}`, 6), "not native"},
		{"Q4_0 store", entityOf(net+`"blobs":[`+blob("layers.0", 0, 6, `,"dtype":"Q4_0"`)+`]}`, 6), "no dtype of a store"},
		{"weights in the header", entityOf(`{"network":{`+denseGrid+`,"weights":"AAAAAAAA","native":true}]},"blobs":null}`, 0), "weights in the header"},
		{"dtype of the blob", entityOf(net+`"blobs":[`+blob("layers.0", 0, 12, `,"dtype":"bf16"`)+`]}`, 12), ""},
		{"bundle", entityOf(fmt.Sprintf(bundle, ""), 24), ""},
		{"bundle without embeddings", entityOf(strings.Replace(fmt.Sprintf(bundle, ""), "embeddings", "other", 1), 24), "no transformer.embeddings"},
		{"embeddings of another size", entityOf(strings.Replace(fmt.Sprintf(bundle, ""), `"vocab_size":3`, `"vocab_size":4`, 1), 24), "not the 8 float32"},
		{"embeddings of a huge size", entityOf(strings.Replace(fmt.Sprintf(bundle, ""), `"vocab_size":3`, `"vocab_size":4611686018427387904`, 1), 24), "more weights than"},
		{"biases", entityOf(fmt.Sprintf(bundle, `,{"path":"layers.0.biases","offset":24,"length":32,"dtype":"float32","native":false}`), 56), ""},
		{"biases of another size", entityOf(fmt.Sprintf(bundle, `,{"path":"layers.0.biases","offset":24,"length":28,"dtype":"float32","native":false}`), 56), "not the 8 float32"},
		{"unknown key", entityOf(fmt.Sprintf(bundle, `,{"path":"layers.0.q4_0.103","offset":24,"length":28,"dtype":"Q4_0","native":true}`), 56), "no part"},
		{"empty Q4_0", entityOf(fmt.Sprintf(bundle, `,{"path":"layers.0.q4_0.100","offset":24,"length":28,"dtype":"Q4_0","native":true}`), 56), "take 8 bytes"},
		{"empty BitNet", entityOf(fmt.Sprintf(bundle, `,{"path":"layers.0.bitnet_ternary.10000","offset":24,"length":24,"dtype":"BITNET_TERNARY","native":true}`), 56), "0 by 0"},
		{"short BitNet", entityOf(fmt.Sprintf(bundle, `,{"path":"layers.0.bitnet_ternary.10000","offset":24,"length":20,"dtype":"BITNET_TERNARY","native":true}`), 56), "too few"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { hostile(t, c.data, c.want) })
	}
}

func hostile(t *testing.T, data []byte, want string) {
	t.Helper()
	m, err := file("x", data)
	switch {
	case err != nil && len(err.Error()) > 1000:
		t.Errorf("%.100s... has %d characters", err, len(err.Error()))
	case want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want %q", err, want)
	case err == nil:
		stable(t, m)
	}
}

// stable checks that a model is valid, and equal after writing and reading.
func stable(t *testing.T, m *graph.Model) {
	t.Helper()
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	if m.Format == EntityName {
		first := asEntity(t, m)
		again, err := ReadEntity(nil, "again", first)
		if err != nil {
			t.Fatalf("%q: %v", first, err)
		}
		if second := asEntity(t, again); !bytes.Equal(first, second) {
			t.Fatalf("%q\nis written as\n%q", first, second)
		}
		sameStores(t, again, m)
		return
	}
	sameStores(t, again(t, m), m)
}

// TestBroken reads files that are cut off at every byte, and with any bit flipped.
func TestBroken(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	m := model(t, grid(layer(t, r, Parallel, Int4), layer(t, r, Metacognition, FP4), layer(t, r, MultiHeadAttention, Ternary)))
	for _, data := range [][]byte{asJSON(t, m), asEntity(t, m)} {
		for n := range data {
			m, err := file("x", data[:n:n])
			if err == nil {
				t.Fatalf("%d of %d bytes are read as %v", n, len(data), m)
			}
			var e *graph.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			flipped := bytes.Clone(data)
			flipped[n] ^= 1 << r.IntN(8)
			if m, err := file("x", flipped); err == nil {
				stable(t, m)
			}
		}
	}
}

// bounded runs f and fails if it allocates more than a file of this size may need.
func bounded(t *testing.T, size int, f func()) {
	t.Helper()
	if got := fixtures.Allocated(f); got > 128*uint64(size)+1<<20 {
		t.Errorf("%d bytes are allocated for a file of %d", got, size)
	}
}

func TestAllocation(t *testing.T) {
	const n = 10000
	start := `{"depth":100000000,"rows":1,"cols":1,"layers_per_cell":1,"layers":[`
	net := `{"network":{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"Dense","input_height":1,"output_height":8}]},"blobs":[`
	for name, data := range map[string][]byte{
		"empty layers":   []byte(start + strings.Repeat("{},", n) + "{}]}"),
		"null layers":    []byte(start + strings.Repeat("null,", n) + "null]}"),
		"empty rules":    []byte(start + `{"weights":"","meta_rules":[` + strings.Repeat("{},", n) + "{}]}]}"),
		"numbers":        []byte(start + `{"hierarchy_levels":[` + strings.Repeat("1,", n) + "1]}]}"),
		"keys":           []byte(start + `{` + strings.Repeat(`"z":1,`, n) + `"z":1}]}`),
		"unknown keys":   []byte(start + `{` + strings.Repeat(`"q":[[1]],`, n) + `"z":1}]}`),
		"layers":         []byte(start + strings.Repeat(`{"type":"RNN","l":0},`, n) + "{}]}"),
		"broken layers":  []byte(start + strings.Repeat(`{"type":7777777777},`, n) + "{}]}"),
		"outside layers": []byte(start + strings.Repeat(`{"y":-1,"x":-10000},`, n) + "{}]}"),
		"empty blobs":    entityOf(net+strings.Repeat("{},", n)+"{}]}", 0),
		"small blobs":    entityOf(net+strings.Repeat(`{"path":"layers.0","dtype":"binary","native":true,"length":1},`, n)+"{}]}", n),
		"same blob":      entityOf(net+strings.Repeat(`{"path":"layers.0","dtype":"binary","native":true,"length":500},`, n)+"{}]}", n),
	} {
		t.Run(name, func(t *testing.T) { bounded(t, len(data), func() { _, _ = file("x", data) }) })
	}
}
