package hnw

import (
	"encoding/hex"
	"fmt"
	"math"
)

// The words of the format.
const (
	formatName   = "hydronnx-weights"
	layoutWord   = "onnx-row-major"
	encodingWord = "raw-le"
)

// digest is a SHA-256.
type digest [32]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// parse reads 64 lowercase digits.
func (d *digest) parse(text string) error {
	n, err := hex.Decode(make([]byte, len(text)/2+1), []byte(text))
	if err == nil && n == len(d) {
		hex.Decode(d[:], []byte(text))
		if d.String() == text {
			return nil
		}
	}
	return fmt.Errorf("%.80q is no SHA-256 of 64 lowercase hexadecimal digits", text)
}

// manifest is the JSON text of an archive.
type manifest struct {
	major, minor       int64
	format             string
	generated          digest
	module             string
	payloadLen         int64
	payloadSum         digest
	chelisMin, version string
	opset              int64
	graph              string
	source             digest
	tensors            []entry
}

// entry is the description of a tensor in the manifest.
type entry struct {
	byteLen  int64
	consumer string
	dtype    string
	encoding string
	id       string
	layout   string
	offset   int64
	onnxName string
	sum      digest
	shape    []int64

	at     int  // offset of the entry in the file
	broken bool // some keys are missing or have values of another type
}

// unset is the major version of a manifest that has none.
const unset = math.MinInt64

// field is a key of a JSON object and the variable for its value: *int64, *string, *digest,
// *[]int64, *[]entry or, for an object, []field.
type field struct {
	key   string
	value any
}

// fields returns the keys of the manifest, sorted. A manifest must have all of them.
func (m *manifest) fields() []field {
	return []field{
		{"format", []field{{"major", &m.major}, {"minor", &m.minor}, {"name", &m.format}}},
		{"module", []field{{"generated_source_sha256", &m.generated}, {"name", &m.module}}},
		{"payload", []field{{"byte_len", &m.payloadLen}, {"sha256", &m.payloadSum}}},
		{"producer", []field{{"chelis_min", &m.chelisMin}, {"hydronnx_version", &m.version}, {"onnx_opset", &m.opset}}},
		{"source", []field{{"graph_name", &m.graph}, {"onnx_sha256", &m.source}}},
		{"tensors", &m.tensors},
	}
}

// fields returns the keys of a tensor's entry, sorted.
func (e *entry) fields() []field {
	return []field{
		{"byte_len", &e.byteLen}, {"consumer", &e.consumer}, {"dtype", &e.dtype}, {"encoding", &e.encoding},
		{"id", &e.id}, {"layout", &e.layout}, {"offset", &e.offset}, {"onnx_name", &e.onnxName},
		{"sha256", &e.sum}, {"shape", &e.shape},
	}
}

// settings returns the fields that a model has as metadata, with keys such as module.name.
func (m *manifest) settings() []field {
	var list []field
	for _, group := range m.fields() {
		switch group.key {
		case "module", "producer", "source":
			for _, f := range group.value.([]field) {
				list = append(list, field{group.key + "." + f.key, f.value})
			}
		}
	}
	return list
}
