// Package safetensors reads and writes safetensors files: named tensors after a header of JSON, in
// one file or in several files with an index.
//
//	u64 n | n bytes of JSON | payloads
//
//	{"__metadata__": {"key": "text", ...},
//	 "name": {"dtype": "F32", "shape": [2,3], "data_offsets": [begin, end]}, ...}
//
// Numbers are little-endian. Offsets count from the end of the header. The header begins with "{",
// has at most 100 MB, and may end in white space. Keys must not repeat. The payloads fill the rest
// of the file without gaps and overlaps. The reader ignores other keys of a tensor.
//
// An index, such as model.safetensors.index.json, is an object with weight_map. It maps names of
// tensors to names of files below the folder of the index; other files are never opened. All shards
// are one model. Its tensors have no offset, because they are not in the file that was opened. A
// folder of shards, with or without an index, opens as one model too. Its config.json and
// generation_config.json become metadata. If the model is a decoder, package huggingface makes a
// network of it.
//
// The element types F6_E2M3 and F6_E3M2 are refused, because no tensor can hold them. F4 is
// float4e2m1: two elements per byte, the first in the low half. The last half may be unused; the
// Loom tool writes such files, and the reference reader refuses them. (In Loom, the codes of F4
// have other values.)
//
// Write orders payloads as the reference writer does: by element type from wide to narrow, then by
// name. The header has the same order, and is padded with spaces to a multiple of 8. Metadata is
// sorted. A model that was read and not changed is written byte for byte as it was, whatever its
// order.
package safetensors
