// Package onnx reads and writes ONNX models: protobuf messages as onnx.proto of
// the ONNX project defines them, with tensors that may lie in files beside the
// model (https://onnx.ai/onnx/repo-docs/IR.html, ExternalData.html).
//
// A file is mapped and walked once. Elements that a file stores as bytes
// (raw_data, packed float_data and double_data, external data) are views of the
// map at whatever alignment the file gives them; the other typed fields are
// decoded into memory.
//
// Read are IR versions 1 to 14, operator sets of the standard domain 1 to 28,
// and all 26 element types. Fields this package does not know are skipped, as
// are training information, device configurations and type denotations. Refused
// are tensor segments, external data outside the model's folder,
// functions that call themselves, operators of the domains nacre and openinfer, which
// only rewritten graphs have, and whatever exceeds Limits.
//
// Elements narrower than 16 bits in int32_data take one entry each, those
// narrower than a byte one entry per packed byte. Two entries make one complex
// element.
package onnx
