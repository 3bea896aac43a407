// Package chelis emits the network of a model as a module of Chelis source text: one
// definition per weight and one, forward, of typed operations on tensors. Operators that
// Chelis lacks are spelled out. The text is in the canonical form of the formatter of
// Chelis, and its names pass the linter.
//
// # Why the emitter does not infer shapes itself
//
// Chelis neither broadcasts nor infers, so that every extent stands in the text. What operators do
// to extents is known to runtime/op, which formats may not import. The emitter (formats/chelis)
// asks for it through a function that the command fills in with runtime.Infer. Nobody here has a
// compiler of Chelis, so the tests hold the rules of its formatter and linter, written apart from
// the emitter, and an interpreter that evaluates what is emitted, over every row of the table.
package chelis
