// Package oinf reads and writes OINF files, the tensor containers of OpenInfer.
//
// All numbers are little-endian and follow each other without gaps. A string record is a u32
// length, the bytes of the string, and zeros up to a multiple of 8 from the record's start. Names
// and text consist of letters, digits, '.', '_' and '-', and are not empty.
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
// Offsets count from the start of the file, and sections begin at multiples of 8. The size of a
// payload does not include its padding, except for text, bit sets and arrays in the metadata. Bit 0
// of a tensor's flags says that the tensor has data; a tensor without data is only declared. Bit 1,
// in version 2, says that the tensor has a quantisation.
//
// Elements narrower than a byte are stored as in package packed: the first in the lowest bits, and
// row after row without alignment. The type f8 is E5M2. A metadata entry is a scalar of any element
// type; text; a bit set (u32 bits, u32 bytes, the bytes); or an array (u32 type, u32 rank, u64
// extents, the elements).
//
// The model of a file has its tensors as initializers, in the file's order, and declared tensors as
// values. Its metadata has the name of the type as Kind, text as Value, and numbers as Data. Bit
// sets are vectors of uint1. A tensor of bit sets is a tensor of uint8. The quantisation of a
// tensor is metadata of its initializer or value:
//
//	quant.scheme      symmetric or asymmetric
//	quant.scale       float32 vector; its kind is per_tensor or per_channel
//	quant.zero_point  int32 vector; its kind is none, per_tensor or per_channel
//	quant.scale_axis, quant.zero_point_axis
//	                  the axis of channels, one per element; 0 if not per channel
//
// A real value is scale * (stored value - zero point).
//
// The reader refuses files with undefined flags or types, sections or payloads outside their
// bounds, sizes that do not match the types, or duplicate names. Padding, unused bits of the last
// byte, and the order of tables and payloads do not matter, and payloads may share bytes. Verify
// reports booleans other than 0 and 1 as problems; Read makes them 1.
//
// Write sorts each table by name and writes the payloads one after another: metadata first, then
// tensors, each followed by its quantisation. So the same model always gives the same bytes. It
// writes version 1, or version 2 for a model read from version 2.
package oinf
