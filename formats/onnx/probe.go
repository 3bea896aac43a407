package onnx

import "google.golang.org/protobuf/encoding/protowire"

// modelFields has the wire type of every field of ModelProto.
var modelFields = map[protowire.Number]protowire.Type{
	1: protowire.VarintType, 2: protowire.BytesType, 3: protowire.BytesType, 4: protowire.BytesType,
	5: protowire.VarintType, 6: protowire.BytesType, 7: protowire.BytesType, 8: protowire.BytesType,
	14: protowire.BytesType, 20: protowire.BytesType, 25: protowire.BytesType, 26: protowire.BytesType,
}

// Probe reports whether data begins with fields of a ModelProto: with an ir_version, or with known
// fields up to a graph. It looks no further, so it recognises damaged models too.
func Probe(data []byte) bool {
	d := newDecoder(nil, "", data)
	met := 0
	for m := d.root("ModelProto"); m.next(); met++ {
		if t, ok := modelFields[m.num]; !ok || t != m.typ {
			return false
		}
		if m.num == 7 || m.num == 1 && met == 0 && m.val >= 1 && m.val <= 255 {
			return true
		}
	}
	return false
}
