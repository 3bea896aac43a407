package formats

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
)

// TestReaderMemory reads files of many parts of few bytes, of every format. Readers allocate few
// bytes for each byte.
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
	word := func(list ...uint64) string { // of four bytes each
		var b []byte
		for _, v := range list {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return string(b)
	}
	// oinf returns a file with count entries in a table. All sections follow the header.
	oinf := func(table int, count uint64, entries string) string {
		counts, at := make([]uint64, 3), make([]uint64, 4)
		counts[table] = count
		for i := range at {
			if at[i] = 72; i > table {
				at[i] += uint64(len(entries)+7) / 8 * 8
			}
		}
		text := "OINF\x00" + word(1, 0) + word(counts...) + word(0)
		for _, v := range append(at, at[3]) {
			text += word(v, v>>32)
		}
		return (text + "\x00\x00\x00" + entries + "\x00\x00\x00\x00\x00\x00\x00")[:at[3]]
	}
	index := func(count uint64, entries string) string {
		return "GPTRSTEN" + word(2, uint64(4+len(entries)), count) + entries
	}
	hnw := func(manifest string) string {
		sum := sha256.Sum256([]byte(manifest))
		return "HNXWGT\x00\x01" + word(80, uint64(len(manifest))) + string(sum[:]) + string(make([]byte, 32)) + manifest
	}
	entity := func(head string) string {
		return "ENTITY\x00\x00\x01\x00\x00\x00" + word(uint64(len(head)), 0) + head
	}
	long := func(s string) string { return word(uint64(len(s)), 0) + s }
	gguf := func(tensors, pairs uint64, text string) string {
		return "GGUF" + word(3, tensors, tensors>>32, pairs, pairs>>32) + text + strings.Repeat("\x00", 32-(24+len(text))%32)
	}
	each := func(entry func(name string) string) string {
		var b strings.Builder
		for i := range many {
			b.WriteString(entry(fmt.Sprint(i)))
		}
		return b.String()
	}
	field := func(number byte, contents string) string { // of protobuf
		return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(contents)))) + contents
	}
	const grid = `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,`
	met := map[string]bool{}
	for name, text := range map[string]string{
		"nodes of onnx":        "\x08\x08" + field(8, "\x10\x15") + field(7, strings.Repeat(field(1, field(4, "Relu")), many)),
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
		"sizes of oinf":        oinf(0, many, strings.Repeat(word(1)+"a\x00\x00\x00"+word(0, 0), many)),
		"metadata of oinf":     oinf(1, many, strings.Repeat(word(1)+"a\x00\x00\x00"+word(1, 0, 0, 0, 0, 0), many)),
		"tensors of oinf":      oinf(2, many, strings.Repeat(word(1)+"a\x00\x00\x00"+word(1, 0, 0, 0, 0, 0, 0), many)),
		"axes of oinf":         oinf(2, 1, word(1)+"a\x00\x00\x00"+word(1, many, 0)+strings.Repeat(word(1, 0), many)+word(0, 0, 0, 0)),
		"counts of oinf":       oinf(2, 1<<32-1, strings.Repeat(word(0), many)),
		"entries of gptrs":     index(many, strings.Repeat(word(1)+"a"+word(0, 0)+"\x00"+word(0, 0, 0, 0), many)),
		"counts of gptrs":      index(1<<32-1, strings.Repeat(word(0), many)),
		"axes of gptrs":        index(1, word(1)+"a"+word(many)+strings.Repeat(word(1, 0), many)+word(0)+"\x00"+word(0, 0, 0, 0)),
		"configuration":        "GPTRSCHK" + word(2, 2*many+1) + "[" + list("1") + "]" + word(4, 0),
		"entries of hnw":       hnw(`{"tensors":[` + list("{}") + `]}`),
		"axes of hnw":          hnw(`{"tensors":[{"shape":[` + list("1") + `]}]}`),
		"keys of hnw":          hnw(`{` + named(`"a%06d":0`) + `}`),
		"blobs of entity":      entity(`{"network":` + grid + `"layers":[]},"blobs":[` + list(`{"path":"layers.0"}`) + `]}`),
		"layers of entity":     entity(`{"network":` + grid + `"layers":[` + list(`{}`) + `]},"blobs":[]}`),
		"pairs of gguf":        gguf(0, many, each(func(name string) string { return long(name) + word(0) + "x" })),
		"strings of gguf":      gguf(0, 1, long("k")+word(9, 8, many, 0)+strings.Repeat(long(""), many)),
		"arrays of gguf":       gguf(0, 1, long("k")+word(9, 9, many, 0)+strings.Repeat(word(0, 0, 0), many)),
		"tensors of gguf":      gguf(many, 0, each(func(name string) string { return long(name) + word(1, 0, 0, 0, 0, 0) })),
		"counts of gguf":       gguf(1<<60, 1<<60, ""),
		"index of shards":      `{"weight_map":{` + named(`"%d":"a"`) + `}}`,
		"axes":                 header(`{"a":{"dtype":"F32","shape":[` + list("0") + `],"data_offsets":[0,0]}}`),
	} {
		for _, f := range Formats {
			if f.Probe([]byte(text)) {
				met[f.Name] = true
				break
			}
		}
		const spare = 1 << 20
		most := uint64(ReaderBytes(len(text)) - ReaderBytes(0) + spare)
		var err error
		if took := fixtures.Allocated(func() { _, err = DecodeFiles("x", []byte(text), none{}) }); took > most {
			t.Errorf("%s: a file of %d bytes takes %d, more than %d (%v)", name, len(text), took, most, err)
		}
	}
	for _, f := range Formats {
		if !met[f.Name] {
			t.Errorf("no file of %s is read", f.Name)
		}
	}
}

// none is a file system without files.
type none struct{}

func (none) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
