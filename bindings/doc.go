// Package bindings calls C. It wraps the kernels of csrc: slices, pointers and sizes
// in, nothing out but what the kernel wrote. The packages below csrc compile the
// kernels; no other package of the module imports "C".
//
// Contracts that hold for every wrapper:
//
//   - Callers have checked shapes and lengths; kernels do not fail.
//   - A pointer passed to a kernel is used only during the call. Memory may be
//     Go's or C's and must be aligned to its element size.
//   - Sizes and strides are in elements unless a name ends in Bytes.
//   - One call computes one node; loops over rows are on the C side.
//   - A Kernel is chosen once, when a session is prepared, by Select.
//   - Threads come from the Pool that is passed in; a nil Pool is one thread.
//     Results do not depend on the number of threads.
//
// With cgo disabled the package compiles, Available returns an error that says
// what to do, and no wrapper may be called.
package bindings
