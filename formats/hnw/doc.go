// Package hnw reads, verifies and writes .hnw files: the weights of one ONNX model
// beside the Chelis module that Hydronnx generates from it.
//
// # Layout
//
// All integers are little-endian.
//
//	offset      size          content
//	0           7             "HNXWGT" and a zero
//	7           1             major version, 1
//	8           4             header_len, 80 and the size of the extension
//	12          4             manifest_len
//	16          32            SHA-256 of the manifest
//	48          32            SHA-256 of the payload
//	80          header_len-80 extension, zeros
//	header_len  manifest_len  manifest, canonical JSON
//	            0 to 63       zeros
//	P           payload.byte_len
//
// P is header_len+manifest_len rounded up to 64, and where the payload ends the file
// ends. The offset of a tensor counts from P and is a multiple of 64; between tensors
// and behind the last there may be zeros. The manifest gives the digest of the payload
// once more, and that of every tensor.
//
// Element types are f32, f64, i32, i64 and bool, a byte of 0 or 1. Elements stand in the
// order of the ONNX initialiser and keep all their bits. The reader of Chelis takes
// f16, bf16, i16 and i8 as well; the format does not have them, so that they are refused
// here in both directions (Options.DType float32 holds every f16 and bf16).
//
// # Canonical JSON
//
// UTF-8 without a mark, keys of every object in byte order, no white space, integers
// without fraction or exponent, digests as 64 lowercase digits. Strings escape the quote, the
// backslash and control characters, with the short forms where there are such, and
// nothing else. Keys that the table of manifest.go does not have are refused.
//
// # Models
//
// A tensor is an initializer with the name of the ONNX initialiser; its Meta has "id",
// under which generated code looks it up, and "consumer". Meta of the model has the
// manifest's groups module, producer and source, such as "module.name". Writing takes
// all of these from there, whatever format the model came from, and otherwise
//
//	module.name                     Hydronnx. and the file's name, or else the graph's, in PascalCase
//	module.generated_source_sha256  64 zeros
//	producer.chelis_min             0.19.1
//	producer.hydronnx_version       nacre
//	producer.onnx_opset             that of the standard operators, or 0
//	source.graph_name               the graph's name
//	source.onnx_sha256              of the file, if it is ONNX and at hand, or 64 zeros
//	id                              the name as an identifier in snake_case, with a number where it is taken
//	consumer                        module.name.id
//
// Where a model has nodes, its own operator set and SHA-256 go before its metadata.
//
// Initializers of graphs within nodes are written like those of the main graph. Who,
// what and when a model of another format says of itself goes with its graph.
//
// # Refused
//
// Reading checks everything that the format says, and is stricter where its text is
// silent: other JSON than canonical, bytes that are not zero in extension and
// padding, offsets that are not multiples of 64, tensors that overlap, ids or
// initialisers met twice, bytes behind the payload. A newer minor version is read as
// long as its manifest has no new keys.
package hnw
