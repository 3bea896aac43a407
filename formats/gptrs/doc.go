// Package gptrs reads and writes the two containers of gpt.rs in version 2:
// checkpoints (GPTRSCHK: a configuration and named parameters) and tensor archives
// (GPTRSTEN: named tensors).
//
// All numbers are little-endian; nothing is aligned, padded or summed up.
//
//	GPTRSCHK  8 magic | u32 version 2 | u32 n, n bytes of JSON | u32 n, n bytes of index | payloads
//	GPTRSTEN  8 magic | u32 version 2 |                          u32 n, n bytes of index | payloads
//
//	index     u32 entries, then of each:
//	          u32 n, n bytes of name | u128 base id (checkpoints only; 0 where it is not stored)
//	          u32 rank, u64 extents, outermost first | u32 element type | u8 reserved
//	          u64 offset of the payload in the file | u64 its length in bytes
//
// The JSON is an object with kind, a string; config, of any type; and runtime, an
// object or null. Other keys mean nothing. It is kept byte for byte as the model's
// metadata entry config, of kind json. A base id is the hash of the name that
// BaseParamID gives.
//
// What gpt.rs leaves open or takes silently, this package decides:
//
//   - Refused are names that are there twice or empty, payloads that overlap each
//     other or the index, bytes of the index behind its last entry, and versions
//     other than 2. Version 1 is another layout, which gpt.rs does not read either.
//   - Taken are entries and payloads in any order, gaps between payloads and bytes
//     behind them, base ids of 0, any reserved byte, and tensors without axes, which
//     are scalars here and which gpt.rs itself does not read.
//   - f16 and bf16 payloads, which gpt.rs knows by name only, are two bytes an element.
//   - A checkpoint of a kind that is known (gpt, ministral, mobilenet_v2, resnet34) must
//     have the configuration and the tensors of that kind; more of both is fine. A
//     kind that is not known is read and verified without that, and Check and Summary say
//     so.
//
// Lower makes a network of a checkpoint of a known kind. Functional overrides of the
// configuration are checked and listed by Runtime.Unused. Knobs of weight streaming bound
// the weights in memory; parameters are loaded when they are first used, those that
// prefetch_layers names too.
//
// Write sorts names bytewise and puts payloads back to back in that order, as gpt.rs
// does, so that files that are so already are written byte for byte as they were,
// absent base ids and reserved bytes included.
//
// # Why opening checks the network
//
// A checkpoint says what network it is, and one that lacks a tensor of it is broken in the same
// way as one that lacks a byte: better known when it is opened than when it runs. Kinds of network
// that are not known are only told to those who ask (gptrs.Check), so that files of later versions
// can still be looked at and converted.
package gptrs
