// Package wazero runs kernels in programs that are built without cgo. A program that imports it,
//
//	import _ "github.com/nacre-ml/nacre/bindings/wazero"
//
// has the kernels as a module of WebAssembly, which the library wazero compiles when the program first
// needs one. It keeps the result below the user's cache folder, if there is one, for the next start.
//
// Kernels then run on one thread, one at a time, with vectors of 128 bits. All memory of sessions, of
// packed weights and of copies of the others, is in one region of 4 GB; a session beyond it gets
// graph.ErrMemory. A command calls Go between its chunks of work, so that collections of Go's heap and
// ends of contexts do not wait for its end.
//
// The systems are Linux, macOS, Windows and BSD on amd64 and arm64. Elsewhere Available of package
// bindings returns an error. With cgo, and in js, the package is empty.
package wazero
