// Package gguf reads, verifies and writes GGUF files: typed metadata and named tensors, whose
// elements may be in blocks that share scales.
//
// # Layout
//
//	"GGUF" | u32 version | u64 tensors | u64 pairs | pairs | descriptions | zeros | data
//
//	pair         string key | u32 type | value
//	description  string name | u32 axes | u64 extents, the fastest first | u32 type | u64 offset
//	string       u64 length | bytes
//	array        u32 type | u64 count | values
//
// Versions 2 and 3 have this layout. Numbers are little-endian. If the low half of the version is
// zero, the numbers of the whole file are big-endian, and so are the numbers in the tensors. Offsets
// count from the data, which begins at a multiple of the alignment: general.alignment, or 32. They
// are multiples of the alignment. Tensors may be in any order and have gaps between them.
//
// # Models
//
// Extents are in the reverse order of the file, so a matrix of a linear map is [out,in]. Types of
// blocks are element types of package tensor. Blocks of activations (Q8_1, Q8_K) become float32. A
// tensor of I2_S becomes int2, and its factor the tensor NAME.scale of one number.
//
// Each pair is one of Model.Meta. Its Kind is the type in words: u8, i8, u16, i16, u32, i32, u64,
// i64, f32, f64, bool, string, or "array of" and one of them. A string is the Value. Numbers are
// Data, of the shape []; an array is Data of the shape [n]. An array of arrays has the kind "array
// of array", and its Data are the bytes of the value, little-endian.
//
// # Models of several files
//
// The files of a model are called PREFIX-00001-of-00003.gguf and so on. Each has the pairs split.no,
// split.count and split.tensors.count. Opening the first opens all; the model lacks these pairs.
//
// # Networks
//
// Lower makes the network of a model of an architecture that is a row of the table in
// architectures.go. Tensors stay as they are stored. An unknown architecture, a setting that is not
// computed, a tensor without a part, and a missing tensor are errors.
//
// # Refused
//
// The reader checks every count against the bytes that follow. It refuses keys and names that are
// empty or repeated, rows that are no whole number of blocks, tensors that overlap or reach past the
// end, and types that GGUF no longer has or never had. Verify also reports scales and numbers that
// are not finite. Padding that is not zero is a warning.
//
// # Written
//
// Write keeps the order of pairs and tensors, pads with zeros, and writes version 3, or 2 for a model
// that was read from version 2. Text metadata of other formats becomes strings.
package gguf
