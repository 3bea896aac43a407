// Package bindings runs the kernels of csrc. It provides their rows, writes commands to memory, and
// runs lists of commands in one call of C. It is no API for Go programs: the engine alone calls it,
// and it may change with any version.
//
// A Kernel is a row of a family's kernels.inc. A command is a kernel, the 64-bit words that the
// family's header describes, and the addresses of operands. Code is a list of commands.
//
//   - Callers check shapes. A command that stops because of the elements of its inputs returns
//     a Failure.
//   - The memory of a command's operands must not move while Run runs. It is C memory or pinned
//     Go memory, aligned to its element size.
//   - Threads come from the Pool passed to Run; a nil Pool is one thread. Results do not depend
//     on the number of threads.
//
// Without cgo the kernels are a module of WebAssembly, on one thread. For GOOS=js it is in the memory of
// the program. For other systems, programs that import bindings/wazero run it in memory of its own, and
// commands use copies of operands that are elsewhere; in other programs Available returns an error that
// says so.
package bindings
