package hnw

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// small returns a model of every element type, with values that must keep their bits.
func small(t testing.TB) *graph.Model {
	t.Helper()
	of := func(d tensor.DType, b []byte, shape ...int) *tensor.Tensor {
		x, err := tensor.FromBytes(d, shape, b)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	words := func(list ...uint32) (b []byte) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	long := func(list ...uint64) (b []byte) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	return &graph.Model{File: "folder/tinyNet-v2.onnx", Graph: &graph.Graph{Name: "tiny", Initializers: []*graph.Initializer{
		{Name: "conv.weight", Tensor: of(tensor.F32, words(0x7fc00001, 0xffa00002, 0x80000000, 1, 0x7f800000, 0xff800000), 2, 3)},
		{Name: "conv.bias", Tensor: of(tensor.F64, long(0x7ff0000000000001, 1<<63, 0xfff8000000000000), 3)},
		{Name: "none", Tensor: of(tensor.I64, nil, 0, 2)},
		{Name: "größe\n\u2028<&>\"\\", Tensor: of(tensor.I64, long(math.MaxUint64))},
		{Name: "axes", Tensor: of(tensor.I32, words(1<<31, 7), 1, 2)},
		{Name: "mask", Tensor: of(tensor.Bool, []byte{1, 0, 1}, 3)},
	}}}
}

// sealed returns an archive with a manifest. SUM in text stands for the payload's digest.
func sealed(text string, payload []byte) []byte {
	total := sha256.Sum256(payload)
	text = strings.ReplaceAll(text, "SUM", digest(total).String())
	sum := sha256.Sum256([]byte(text))
	b := append([]byte(magic), 1)
	b = binary.LittleEndian.AppendUint32(b, headerSize)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = append(append(b, sum[:]...), total[:]...)
	b = append(b, text...)
	return append(append(b, make([]byte, -len(b)&(align-1))...), payload...)
}

// text returns a manifest with entries of tensors.
func text(payload int, entries ...string) string {
	return fmt.Sprintf(`{"format":{"major":1,"minor":0,"name":"hydronnx-weights"},"module":{"generated_source_sha256":"%064d","name":"Hydronnx.M"},`+
		`"payload":{"byte_len":%d,"sha256":"SUM"},"producer":{"chelis_min":"0.19.1","hydronnx_version":"t","onnx_opset":17},`+
		`"source":{"graph_name":"g","onnx_sha256":"%064d"},"tensors":[%s]}`, 0, payload, 0, strings.Join(entries, ","))
}

// tensorText returns the entry of a tensor of int32.
func tensorText(id string, offset, bytes int, shape string, content []byte) string {
	return fmt.Sprintf(`{"byte_len":%d,"consumer":"c","dtype":"i32","encoding":"raw-le","id":%q,"layout":"onnx-row-major","offset":%d,"onnx_name":%q,"sha256":"%v","shape":[%s]}`,
		bytes, id, offset, "N"+id, digest(sha256.Sum256(content)), shape)
}

func TestReadRefused(t *testing.T) {
	four := []byte{1, 2, 3, 4}
	good := tensorText("a", 0, 4, "1", four)
	if _, err := Read(nil, "good", sealed(text(4, good), four)); err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) []byte {
		s := text(4, good)
		if !strings.Contains(s, old) {
			t.Fatalf("no %q", old)
		}
		return sealed(strings.Replace(s, old, new, 1), four)
	}
	cases := []struct {
		name string
		data []byte
		kind error
		want []string // of Verify
	}{
		{"twice the id", sealed(text(4, good, tensorText("a", 64, 0, "0", nil)), four), ErrMalformed, []string{`id "a" is there twice`, "reach past the payload"}},
		{"empty id", sealed(text(4, tensorText("", 0, 4, "1", four)), four), ErrMalformed, []string{"no id"}},
		{"twice the name", sealed(text(4, good, strings.Replace(tensorText("b", 0, 0, "0", nil), "Nb", "Na", 1)), four), ErrMalformed, []string{`"Na": id "b" is the second`}},
		{"no name", replaced(`"Na"`, `""`), ErrMalformed, []string{"no onnx_name"}},
		{"inside another", sealed(text(68, tensorText("a", 0, 68, "17", make([]byte, 68)), tensorText("b", 64, 4, "1", make([]byte, 4))), make([]byte, 68)),
			ErrMalformed, []string{`"Nb": byte 64 of the payload belongs to initialiser "Na"`}},
		{"large axis", replaced("[1]", "[9223372036854775807]"), ErrTensorMetadata, []string{"memory"}},
		{"larger axis", replaced("[1]", "[9223372036854775808]"), ErrMalformed, []string{`"Na": tensors[0].shape does not fit 64 bits`}},
		{"minus zero", replaced("[1]", "[-0]"), ErrMalformed, []string{"digits only"}},
		{"zeros first", replaced("[1]", "[01]"), ErrMalformed, []string{"digits only"}},
		{"minus alone", replaced("[1]", "[-]"), ErrMalformed, []string{"digits only"}},
		{"list not closed", replaced("[1]", "[1,]"), ErrMalformed, []string{"no value begins with ']'"}},
		{"word", replaced("[1]", "null"), ErrMalformed, []string{"shape must be a list"}},
		{"several problems", replaced(`"dtype":"i32","encoding":"raw-le"`, `"dtype":7,"encoding":"raw-be"`), ErrMalformed, []string{"dtype must be a string"}},
		{"three problems", replaced(`"i32","encoding":"raw-le","id":"a","layout":"onnx-row-major","offset":0`, `"i8","encoding":"x","id":"a","layout":"y","offset":64`),
			ErrMalformed, []string{"layout", "encoding", "dtype", "reach past"}},
		{"deep", replaced(`"tensors":`, `"spare":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`,"tensors":`), ErrMalformed, []string{`key "spare"`, "nest more"}},
		{"newer, new key", sealed(strings.Replace(strings.Replace(text(4, good), `"minor":0`, `"minor":3`, 1), `"tensors"`, `"t":{"a":[1,"x",{}],"b":{},"c":false},"tensors"`, 1), four),
			ErrVersion, []string{`has the key "t"`}},
		{"minor below zero", replaced(`"minor":0`, `"minor":-1`), ErrMalformed, []string{"format.minor is -1"}},
		{"payload below zero", sealed(text(-1), nil), ErrMalformed, []string{"payload.byte_len is -1"}},
		{"payload beyond", sealed(text(math.MaxInt64), nil), ErrMalformed, []string{"it ends here"}},
		{"control character", replaced(`"Na"`, "\"\x01\""), ErrMalformed, []string{"as it is"}},
		{"long escape", replaced(`"Na"`, `"\u000a"`), ErrMalformed, []string{`escape "\\u"`}},
		{"escape cut", replaced(`"Na"`, `"\`), ErrMalformed, []string{"escape"}},
		{"surrogate", replaced(`"Na"`, `"\ud800"`), ErrMalformed, []string{"escape"}},
		{"string not closed", sealed(`{"format`, nil), ErrMalformed, []string{"within a string"}},
		{"no colon", sealed(`{"format"}`, nil), ErrMalformed, []string{"stands where ':' must"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(nil, "x.hnw", c.data)
			if !errors.Is(err, c.kind) {
				t.Errorf("got %v, want kind %v", err, c.kind)
			}
			problems := Verify(nil, "x.hnw", c.data)
			all := fmt.Sprint(problems)
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("%q is not in %v", want, all)
				}
			}
			for _, p := range problems {
				var e *graph.Error
				if !errors.As(p, &e) || e.Offset < 0 || e.Offset > int64(len(c.data)) || e.File != "x.hnw" {
					t.Errorf("%v has no place", p)
				}
			}
		})
	}
}

// TestVerifyFindsAll damages an archive in many places at once.
func TestVerifyFindsAll(t *testing.T) {
	data := rewritten(t, small(t))
	m, err := Read(nil, "", data)
	if err != nil {
		t.Fatal(err)
	}
	for _, init := range m.Graph.Initializers {
		if init.Tensor.Len() > 0 {
			data[init.Stored.Offset] ^= 0x80
		}
	}
	data[headerSize-1]++ // digest of the payload
	data[16]++           // digest of the manifest
	var missing []string
	all := fmt.Sprint(Verify(nil, "", data))
	for _, want := range []string{"the manifest has SHA-256", "the header says that the payload", "the payload has SHA-256", `"conv.weight": the tensor`,
		`"conv.bias": the tensor`, `"axes": the tensor`, `"mask": the tensor`, "element 0 is 129"} {
		if !strings.Contains(all, want) {
			missing = append(missing, want)
		}
	}
	if missing != nil {
		t.Errorf("%q are not in %s", missing, all)
	}
}

// TestManyProblems checks that a manifest of broken entries gives a bounded list of problems.
func TestManyProblems(t *testing.T) {
	entries := make([]string, 20000)
	for i := range entries {
		entries[i] = "{}"
	}
	list := Verify(nil, "", sealed(text(0, entries...), nil))
	if n := len(list); n == 0 || n > maxNotes+1 || !strings.Contains(list[n-1].Error(), "more than") {
		t.Errorf("%d problems", n)
	}
}

// TestDamaged cuts an archive at every byte and flips every bit. Some check must find each change.
func TestDamaged(t *testing.T) {
	data := rewritten(t, small(t))
	for n := range data {
		if _, err := Read(nil, "", data[:n]); err == nil || !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrArchiveChecksum) {
			t.Errorf("cut at %d: %v", n, err)
		}
		for bit := range 8 {
			broken := bytes.Clone(data)
			broken[n] ^= 1 << bit
			if _, err := Read(nil, "", broken); err == nil {
				t.Errorf("bit %d of byte %d: no error", bit, n)
			}
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(nil, filepath.Join(dir, "nix.hnw")); !errors.Is(err, ErrArchiveMissing) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(nil, dir); err == nil || errors.Is(err, ErrArchiveMissing) || errors.Is(err, ErrMalformed) {
		t.Errorf("a folder: %v", err)
	}
	path := filepath.Join(dir, "a.hnw")
	if err := os.WriteFile(path, rewritten(t, small(t)), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := Open(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	if m.Format != Name || m.Container != 1 || m.File != path || m.Graph.Name != "tiny" {
		t.Errorf("%+v", m)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	data := rewritten(t, small(t))
	data[7] = 9
	if !Probe(data) || Probe(data[:6]) || Probe(nil) || Probe([]byte("HNXWGT\x01\x01")) {
		t.Error("wrong")
	}
}
