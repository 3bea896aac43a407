// Package safetensors reads and writes safetensors files: named tensors behind a
// header of JSON, in one file or in several that an index names.
//
//	u64 n | n bytes of JSON | payloads
//
//	{"__metadata__": {"key": "text", ...},
//	 "name": {"dtype": "F32", "shape": [2,3], "data_offsets": [begin, end]}, ...}
//
// Numbers are little-endian, offsets count from the end of the header. The header
// begins with "{", has at most 100 MB, and may end in white space. No key may be there
// twice. The payloads fill the rest of the file without gaps and overlaps. Keys of a
// tensor other than those three mean nothing.
//
// An index, such as model.safetensors.index.json, is an object with weight_map, from
// names of tensors to names of files, which are looked for beneath the folder of the
// index and nowhere else. Together they are one model, whose tensors have no offset,
// as they are not in the file that was opened. A folder of shards with or without an
// index opens as one model too, with its config.json and generation_config.json as
// metadata; package huggingface makes networks of those that are decoders.
//
// Of the element types F6_E2M3 and F6_E3M2 cannot be held, and a file that has them is
// refused. F4 is float4e2m1, two to a byte, the first in the low half; a last half may
// be left over, which the Loom tool writes and the reference reader refuses. (Loom
// gives the codes of F4 other values.)
//
// Write orders payloads as the reference writer does, by element type from wide to
// narrow and then by name, with the header in that order, too, and padded with spaces
// to a multiple of 8; metadata is sorted. A file that was read is written byte for byte
// as it was, whatever its order.
package safetensors
