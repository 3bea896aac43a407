// Package oinf reads and writes OINF files, the tensor containers of OpenInfer.
//
// All numbers are little-endian and follow each other without gaps. A string
// record is a u32 length, that many bytes, and zeros up to a multiple of 8 from the
// record's start. Names and text are of letters, digits, '.', '_' and '-', and not
// empty.
//
//	header     "OINF" 0, u32 version, u32 flags (0), u32 counts of size variables,
//	           metadata entries and tensors, u32 reserved (0), u64 offsets of the
//	           three tables and of the data, u64 size of the file; 69 bytes
//	size       string record name, u64 value
//	metadata   string record key, u32 type, u32 flags (0), u64 size, u64 offset
//	tensor     string record name, u32 type, u32 rank, u32 flags, u64 extents,
//	           u64 size, u64 offset; version 2 adds u64 size, u64 offset of the
//	           quantisation
//	data       payloads, each at a multiple of 8 and followed by zeros up to the next
//
// Offsets count from the start of the file, and sections begin at multiples of 8.
// The size of a payload is without its padding, except that of text, bit sets and
// arrays among the metadata. Bit 0 of a tensor's flags says that it has data; without,
// it is only declared. Bit 1, in version 2, says that it has a quantisation.
//
// Elements narrower than a byte lie as package packed has them, the first in the
// lowest bits, row after row without alignment. The type f8 is E5M2. A metadata entry
// is a scalar of any element type; text; a bit set (u32 bits, u32 bytes, the bytes);
// or an array (u32 type, u32 rank, u64 extents, the elements).
//
// The model of a file has its tensors as initializers, in the file's order, and those
// that are only declared as values. Its metadata has the type's word as Kind, text as
// Value, and numbers as Data; bit sets are vectors of uint1. A tensor of bit sets is
// one of uint8. The quantisation of a tensor is metadata of its initializer or value:
//
//	quant.scheme      symmetric or asymmetric
//	quant.scale       float32 vector; its kind is per_tensor or per_channel
//	quant.zero_point  int32 vector; its kind is none, per_tensor or per_channel
//	quant.scale_axis, quant.zero_point_axis
//	                  which extent has a channel for each element; 0 otherwise
//
// A real value is scale * (stored value - zero point).
//
// Files are refused that have flags or types that nobody has defined, sections or
// payloads that reach outside of where they belong, sizes that do not fit the types,
// or a name twice. Padding, bits of the last byte that no element takes, and the
// order of tables and payloads do not matter; payloads may share bytes. Booleans that
// are neither 0 nor 1 are a problem that Verify reports; Read makes them 1.
//
// Write sorts each table by name and puts the payloads behind each other, first those
// of the metadata, then those of the tensors, each followed by its quantisation, so
// that the same model always gives the same bytes. It writes version 1, and version 2
// for a model that was read from it.
package oinf
