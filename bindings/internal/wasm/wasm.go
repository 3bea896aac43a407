// Package wasm has the kernels as a module of WebAssembly, for programs without cgo.
//
// scripts/wasm.sh compiles csrc to kernels.wasm. The module is position-independent. It imports from
// env a memory, __indirect_function_table, and the globals __memory_base, __table_base and
// __stack_pointer; its section dylink.0 says how much of memory and table it takes. The exported
// function __wasm_apply_data_relocs comes first. csrc/wasm.c declares the others. Memory that the
// module has not been given is never read or written, and never grows.
package wasm

import _ "embed"

// Kernels is the module.
//
//go:embed kernels.wasm
var Kernels []byte
