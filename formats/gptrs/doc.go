// Package gptrs reads and writes the two containers of gpt.rs in version 2: checkpoints (GPTRSCHK:
// a configuration and named parameters) and tensor archives (GPTRSTEN: named tensors).
//
// All numbers are little-endian. There is no alignment, padding or checksum.
//
//	GPTRSCHK  8 magic | u32 version 2 | u32 n, n bytes of JSON | u32 n, n bytes of index | payloads
//	GPTRSTEN  8 magic | u32 version 2 |                          u32 n, n bytes of index | payloads
//
//	index     u32 entries, then of each:
//	          u32 n, n bytes of name | u128 base id (checkpoints only; 0 where it is not stored)
//	          u32 rank, u64 extents, outermost first | u32 element type | u8 reserved
//	          u64 offset of the payload in the file | u64 its length in bytes
//
// The JSON is an object with kind, a string; config, of any type; and runtime, an object or null.
// Other keys are ignored. The text is kept byte for byte as the model's metadata entry config, of
// kind json. A base id is the hash of the name, as BaseParamID computes it.
//
// gpt.rs leaves some points open or accepts them silently. This package decides them:
//
//   - It refuses names that are repeated or empty, payloads that overlap each
//     other or the index, bytes of the index after its last entry, and versions
//     other than 2. Version 1 is another layout, which gpt.rs does not read either.
//   - It accepts entries and payloads in any order, gaps between payloads and bytes
//     after them, base ids of 0, any reserved byte, and tensors without axes. Those
//     are scalars here; gpt.rs itself does not read them.
//   - f16 and bf16 payloads, known to gpt.rs by name only, are two bytes an element.
//   - A checkpoint of a known kind (gpt, ministral, mobilenet_v2, resnet34) must
//     have the configuration and the tensors of that kind; more of both is fine. A
//     checkpoint of an unknown kind is read and verified without this check, and
//     Check and Summary report the unknown kind.
//
// Lower makes a network of a checkpoint of a known kind. Functional overrides of the configuration
// are checked and listed by Runtime.Unused. Knobs of weight streaming bound the weights in memory.
// Parameters are loaded when they are first used, even if prefetch_layers names them.
//
// Write sorts names bytewise and puts payloads back to back in that order, as gpt.rs does. Files
// that already have this form are written byte for byte as they were, including absent base ids and
// reserved bytes.
//
// # Why opening checks the network
//
// A checkpoint says what network it is. If a tensor of it is missing, the file is as broken as with
// a missing byte, and the user should learn it when the file is opened, not when the network runs.
// An unknown kind of network is reported only on request (gptrs.Check), so that files of later
// versions can still be inspected and converted.
package gptrs
