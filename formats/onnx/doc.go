// Package onnx reads and writes ONNX models: protobuf messages as defined by onnx.proto of the ONNX
// project, with tensors in the model or in files beside it (https://onnx.ai/onnx/repo-docs/IR.html,
// ExternalData.html).
//
// A file is mapped and walked once. Elements that a file stores as bytes (raw_data, packed
// float_data and double_data, external data) are views of the map, at the alignment that the file
// gives them. The other typed fields are decoded into memory.
//
// The package reads IR versions 1 to 14, operator sets of the standard domain 1 to 28, and all 26
// element types. It skips unknown fields, training information, device configurations and type
// denotations. It refuses tensor segments, external data outside the model's folder, functions that
// call themselves, operators of the domains nacre and openinfer (only rewritten graphs have them),
// and files that exceed Bounds.
//
// In int32_data, each element of a byte or more takes one entry. Narrower elements take one entry
// per packed byte. Two entries of float_data or double_data make one complex element.
//
// # Blocks
//
// ONNX has no types of blocks. If the elements of a matrix in blocks are whole numbers times a scale,
// Target makes codes with float32 scales: a Gemm becomes com.microsoft.MatMulNBits, and a Gather
// com.microsoft.GatherBlockQuantized, with 4 or 8 bits. Elements stay the same. Other tensors in
// blocks become float32, if the options say who hears of it.
package onnx
