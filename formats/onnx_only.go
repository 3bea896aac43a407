//go:build onnxonly

package formats

// Formats is the table of formats in programs with the tag onnxonly, such as pages, which download
// the program: it has ONNX alone.
var Formats = []Format{onnxRow}
