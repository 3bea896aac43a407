// Package chelis emits the network of a model as a module of Chelis source text: one
// definition per weight and one, forward, of typed operations on tensors. Operators that
// Chelis lacks are spelled out. The text is in the canonical form of the formatter of
// Chelis, and its names pass the linter.
package chelis
