// Package chelis emits the network of a model as a module of Chelis source text: one definition per
// weight, and one, forward, of typed operations on tensors. Operators that Chelis lacks are spelled
// out. The text is in the canonical form of the formatter of Chelis, and its names pass the linter.
//
// # Why the emitter does not infer shapes itself
//
// Chelis neither broadcasts nor infers, so the text states every extent. runtime/op knows the
// extents of every operator's outputs, but formats may not import it. The emitter (formats/chelis)
// asks through a function that the command sets to runtime.Infer. No compiler of Chelis is at hand.
// The tests therefore hold the rules of its formatter and linter, written independently of the
// emitter, and an interpreter that evaluates the emitted modules, over every row of the table.
package chelis
