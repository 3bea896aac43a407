// Package quantize makes models with weights of few bits. It chooses scales by least squares, and
// may weigh errors by the importance of a weight's columns. The package is for programs that prepare
// models; nacre quantize is the command.
//
// # Types
//
// A Type is what weights become:
//
//	blocks   q4_0, q6_k, iq4_xs and so on: types of blocks, with better ones for a few weights
//	mixes    q4_k_m, q5_k_s and so on: types of blocks by the part that a weight has in a decoder;
//	         q3_k, q4_k and q5_k stand for the mixes with the letter m
//	nbits    q2, q4, q8: products become MatMulNBits, tables of embeddings GatherBlockQuantized
//	linear   int4, uint4, int8, uint8: weights become the input of DequantizeLinear
//	codes    i1, i2, i4, i8, t1, t2: codes with a scale for each row
//
// Files of GGUF hold blocks and mixes, files of ONNX nbits and linear, and files of OINF codes. In
// files of GGUF the names q4 and q8 stand for q4_0 and q8_0. ENTITY files hold codes, except i1,
// with a scale for each layer; transformer bundles of them hold q4_0, in Loom's own form, i8, i2 and
// t1. In ENTITY files the names q4, int8 and int4 stand for q4_0, i8 and i4.
//
// # Weights
//
// In a model without nodes, the weights are the float tensors with two or three axes whose names
// end in weight, except norms, gates of experts, positions and convolutions. In a model with nodes,
// they are the constant float matrices of MatMul, Gemm and Gather, and for linear the filters of Conv,
// also within bodies. In a network of Loom, they are the stores of layers, except norms, clusters and
// transposed convolutions.
//
// # Activations
//
// With Options.Ranges, which MeasureRanges finds on calibration data, values become codes of 8 bits,
// too: the inputs of products and convolutions with weights of int8, the results of convolutions, and
// what sums, means, moves and functions of elements between them compute. The file has the form of
// ONNX with QuantizeLinear and DequantizeLinear. Constants of operators other than products remain
// floats, and so do normalisations; export the model with these folded into convolutions.
//
// # Errors
//
// The error of a weight is the root of the sum of its squared errors, divided by the root of the sum
// of its squares. With importance, both sums are weighed.
package quantize
