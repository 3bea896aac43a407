// Package loom reads and writes the model files of openfluke/loom: networks of layers in a grid,
// with a store of weights per layer in one of 21 dtypes. The Source of a model is a *Network.
//
// A checkpoint is JSON: the extents of the grid and an array of layers with their configuration.
// Layers may contain layers. Weights are base64 of the packed codes, or, in old files, of plain
// float32, and are quantised while reading. Keys and names match in any letter case. Unknown keys
// are ignored. Unknown names mean Dense, Linear and float32, as in Loom. The spec of an
// architecture is the same JSON without weights and with the Softmax variant as a number; the
// weights that its layers need are then declared without data.
//
// An ENTITY file is, little-endian and without alignment:
//
//	magic "ENTITY\0\0", u16 version 1, u16 flags (0; any are read)
//	u64 length of the header, at most 256 MiB
//	header: JSON of format_version, network (the checkpoint's, without weights),
//	        transformer (bundles only), blobs (path, offset, length, dtype, scale, native)
//	payload: the blobs, at offsets from its start; bytes after them are ignored
//
// A blob's path is layers.N, where N is the flat number of the cell, followed by
// .parallel_branches.I, .sequential_layers.I or .meta_observed_layer for layers inside, or it is
// transformer.NAME. Other blobs are ignored. Bundles of transformers have more kinds of blobs below
// a layer: .q4_0.KEY, .bitnet_ternary.KEY, .biases, .q_norm, .k_norm, .inner_norm. A blob's dtype
// overrides its layer's dtype. RMSNorm is written as float32.
//
// Tensors hold the stored codes, and their metadata the scale. Codes narrower than a byte are
// repacked, the first in the lowest bits. Loom's fp8e4m3 and fp8e5m2 differ from the standard types
// in a few codes, which Loom never writes: tensors with such codes hold float32 numbers. So do fp4
// tensors with codes that are not finite; other fp4 tensors hold float4e2m1 of twice the numbers,
// with half the scale. Binary is t1, ternary t2, and Q4_0 int4 with the scales of its blocks in a
// separate tensor. The topology is metadata of the model, as JSON, so that a conversion to another
// format keeps it or reports that it cannot. A checkpoint may hold more weights than its layer
// needs, and the first ones count. float64, float16 and bfloat16 in JSON are the exception: there
// Loom fails.
//
// Lower makes nodes of the layers. Sums are float32, and layers compute the intended result: a norm
// every row, a softmax each item of the batch, transposed convolutions and KMeans with weights of
// any dtype, attention each sequence of the batch by itself. The cache of an attention continues if
// the input is one row of one sequence. The option Quirks makes them compute Loom's results
// instead: a norm only the first rows, as many as the batch has items, a softmax all items as one,
// zeros for transposed convolutions of dtypes other than float32 and float64, clusters of equal
// weight for KMeans with integers of 8 bits and more, a batch as one sequence, and zeros for modes
// of combining branches that are unknown or need a gate. Without Quirks such modes are errors.
// Quirks also runs the rules of Metacognition layers, which are left out otherwise. Rules fire as
// in the first forward of a network, so rules with a cooldown never fire, and change layers for
// that run only. They make Dense, RNN, LSTM, RMSNorm and Softmax layers, reset a Dense layer and
// change its dtype. A rule that needs random weights, or extents that the layer lacks, is an error,
// and so is a rule for a layer with a cache. If the blobs of a bundle are float32 and its header
// names another dtype, the weights are then quantised. A spec gets weights uniform in [-0.1, 0.1),
// from a seed.
//
// The reader refuses other versions, stores that are too short, stores of layers that have no
// weights by their configuration, blobs that overlap, layers nested more than 32 deep, grids and
// stores whose size overflows, and inexact base64. Models without a network cannot be written.
package loom
