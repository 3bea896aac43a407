// Package hnw reads, verifies and writes .hnw files: the weights of one ONNX model, beside the
// Chelis module that Hydronnx generates from it.
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
// P is header_len+manifest_len rounded up to 64. The file ends with the payload. The offset of a
// tensor counts from P and is a multiple of 64. There may be zeros between tensors and after the
// last. The manifest repeats the digest of the payload, and has the digest of every tensor.
//
// Element types are f32, f64, i32, i64 and bool (a byte of 0 or 1). Elements are in the order of
// the ONNX initialiser and keep all their bits. The reader of Chelis also accepts f16, bf16, i16
// and i8. The format does not have these types, so this package neither reads nor writes them
// (Options.DType float32 holds every f16 and bf16).
//
// # Canonical JSON
//
// Canonical JSON is UTF-8 without a byte order mark. The keys of every object are in byte order.
// There is no white space. Integers have no fraction and no exponent. Digests are 64 lowercase
// digits. Strings escape the quote, the backslash and control characters, in the short form if
// there is one, and nothing else. Keys outside the table of manifest.go are refused.
//
// # Models
//
// A tensor is an initializer with the name of the ONNX initialiser. Its Meta has "id", the key for
// lookups in generated code, and "consumer". Meta of the model has the manifest's groups module,
// producer and source, such as "module.name". Write takes all of these from models of any format.
// Its defaults are
//
//	module.name                     Hydronnx. and the file's name, or else the graph's, in PascalCase
//	module.generated_source_sha256  64 zeros
//	producer.chelis_min             0.19.1
//	producer.hydronnx_version       nacre
//	producer.onnx_opset             version of the standard operators, or 0
//	source.graph_name               the graph's name
//	source.onnx_sha256              of the file, if it is ONNX and at hand, or 64 zeros
//	id                              an identifier in snake_case, with a number if it is taken
//	consumer                        module.name.id
//
// If a model has nodes, its own operator set and SHA-256 replace those in its metadata.
//
// Initializers of subgraphs are written like those of the main graph. The producer, domain, version
// and documentation of a model without a graph are an error unless Options.DropMeta leaves them out;
// a graph that Options.DropGraph leaves out takes them along.
//
// # Refused
//
// The reader checks every rule of the format, and is stricter where the format's text says nothing.
// It refuses JSON that is not canonical, nonzero bytes in the extension and in padding, offsets
// that are not multiples of 64, tensors that overlap, duplicate ids and initialisers, and bytes
// after the payload. A newer minor version is read if its manifest has no new keys.
package hnw
