// Package bindings runs the kernels of csrc: it hands out their rows, lays commands out in
// memory, and runs lists of them in one call of C.
//
// A Kernel is a row of a family's kernels.inc. A command is a kernel, 64-bit words that the
// family's header describes, and the addresses of operands; Code is a list of commands.
//
//   - Callers have checked shapes. A command that the elements of its inputs bring to an end
//     says so by a Failure.
//   - Memory whose address a command has stays where it is while Run runs. It may be Go's,
//     if it is pinned, or C's, and is aligned to its element size.
//   - Threads come from the Pool that is passed in; a nil Pool is one thread. Results do not
//     depend on the number of threads.
//
// With cgo disabled the package compiles, and Available returns an error that says what to
// do.
package bindings
