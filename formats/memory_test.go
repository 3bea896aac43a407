package formats

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
)

// TestReaderMemory reads files of many parts of few bytes. Readers take little for each byte.
func TestReaderMemory(t *testing.T) {
	const many = 1 << 16
	list := func(part string) string { return strings.TrimSuffix(strings.Repeat(part+",", many), ",") }
	named := func(format string) string {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	header := func(text string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + text
	}
	const grid = `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,`
	for name, text := range map[string]string{
		"layers":               grid + `"layers":[` + list("{}") + `]}`,
		"layers in a layer":    grid + `"layers":[{"type":"Sequential","sequential_layers":[` + list("{}") + `]}]}`,
		"rules":                grid + `"layers":[{"type":"Metacognition","meta_rules":[` + list("{}") + `]}]}`,
		"mask":                 grid + `"layers":[{"mask":[` + list("1") + `]}]}`,
		"fields of no meaning": grid + `"x":[` + list("[]") + `],"layers":[{}]}`,
		"variables in JSON":    `{"vars":{` + named(`"%d":{"dtype":"f32"}`) + `},"blocks":{}}`,
		"nodes in JSON":        `{"vars":{},"blocks":{"b":{"nodes":[` + list("{}") + `]}}}`,
		"variables":            "dynamic {\n" + strings.Repeat("a:f32;\n", many) + "}\nblock b {\n}\n",
		"nodes":                "dynamic {\na:f32;\n}\nblock b {\n" + strings.Repeat("a=a;\n", many) + "}\n",
		"tensors":              header(`{` + named(`"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`) + `}`),
		"metadata":             header(`{"__metadata__":{` + named(`"%d":""`) + `}}`),
		"axes":                 header(`{"a":{"dtype":"F32","shape":[` + list("0") + `],"data_offsets":[0,0]}}`),
	} {
		const spare = 1 << 20
		most := uint64(ReaderBytes(len(text)) - ReaderBytes(0) + spare)
		var err error
		if took := fixtures.Allocated(func() { _, err = Decode("x", []byte(text)) }); took > most {
			t.Errorf("%s: a file of %d bytes takes %d, more than %d (%v)", name, len(text), took, most, err)
		}
	}
}
