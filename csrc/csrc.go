// Package csrc carries the C kernels as a Go package.
//
// cgo compiles only the C files of the folder it runs in, and the build cache
// of the go command does not look at files that those include from elsewhere.
// Embedding every C file here, and importing this package from bindings, makes
// an edited kernel rebuild and lets go mod vendor carry the sources. The
// variable is never read, so the linker drops the contents.
package csrc

import "embed"

// Sources holds every C file of the kernel families.
//
//go:embed */*.c */*.h */*.inc
var Sources embed.FS
