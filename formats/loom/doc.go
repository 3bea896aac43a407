// Package loom reads and writes the model files of openfluke/loom: networks of layers
// in a grid, with a store of weights per layer in one of 21 dtypes. Source of a model
// that it reads is a *Network.
//
// A checkpoint is JSON: the extents of the grid and an array of layers with their
// configuration, which may have layers inside; weights are base64 of the packed
// codes, or, in old files, of plain float32 that is quantised when it is read. Keys
// and names may have letters of any case; unknown keys are ignored, and unknown names
// stand for Dense, Linear and float32, as in Loom. The spec of an architecture is the
// same JSON without weights, with a Softmax variant by number; what layers need is
// then declared and has no data.
//
// An ENTITY file is, little-endian and without alignment:
//
//	magic "ENTITY\0\0", u16 version 1, u16 flags (0; any are read)
//	u64 length of the header, at most 256 MiB
//	header: JSON of format_version, network (the checkpoint's, without weights),
//	        transformer (bundles only), blobs (path, offset, length, dtype, scale, native)
//	payload: the blobs, at offsets from its start; what follows them is ignored
//
// Paths of blobs are layers.N, N being the flat number of the cell, followed by
// .parallel_branches.I, .sequential_layers.I or .meta_observed_layer for layers
// inside, and transformer.NAME. Others are ignored. Bundles of transformers have
// blobs of more kinds below a layer: .q4_0.KEY, .bitnet_ternary.KEY, .biases, .q_norm,
// .k_norm, .inner_norm. A blob's dtype counts, whatever its layer says. RMSNorm is
// written as float32.
//
// Tensors hold codes, repacked with the first in the lowest bits where they are
// narrower than a byte; their metadata has the scale. Loom's fp8e4m3 and fp8e5m2 have
// other numbers than the standard types for a few codes, which Loom writes none of: tensors
// with such codes hold float32 numbers, and so do those of fp4 with codes that are not
// finite. Other tensors of fp4 hold float4e2m1 of twice the numbers, with half the scale. The
// codes are the bytes as stored. Binary is t1, ternary t2, Q4_0 int4 with the scales
// of its blocks in a tensor of their own. The topology is metadata of the model, as
// JSON, so that a conversion to another format keeps it or says that it cannot. A checkpoint may hold more weights than its layer needs, of which
// the first count, but for float64, float16 and bfloat16 in JSON, where Loom fails.
//
// Lower makes nodes of the layers. Sums are float32, and layers compute what they are meant
// to: a norm every row, a softmax each item of the batch, transposed convolutions and
// KMeans with weights of any dtype, attention each sequence of the batch by itself, with
// the cache going on where one row of one sequence comes. With the option Quirks they
// compute what Loom does instead: a norm the first row of each item, a softmax all items
// as one, zeros for transposed convolutions of other dtypes than float32 and float64,
// clusters of equal weight for KMeans with integers of 8 bits and more, a batch as one
// sequence, zeros for ways of combining branches that are unknown or need a gate, which are
// errors else, and the rules of Metacognition layers, which are left out else. Rules fire
// as in the first forward of a network, so that those with a cooldown never do, and change
// layers for that run only. They make Dense, RNN, LSTM, RMSNorm and Softmax layers, reset a
// Dense layer and change its dtype. What needs random weights or extents that the layer has
// not is an error, and so are rules for layers with a cache.
// Weights of a bundle whose blobs are float32 and whose header says otherwise are then
// quantised. A spec gets weights that are uniform in [-0.1, 0.1), from a seed.
//
// Refused are: other versions, stores that are too short or that the configuration
// gives no weights, blobs that overlap, layers nested more than 32 deep, grids and
// stores whose size overflows, base64 that is not exact. Models without a network
// cannot be written.
package loom
