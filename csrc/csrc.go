// Package csrc carries the C headers that families of kernels share.
//
// Each folder below is a package that compiles its own C files. The build cache of
// the go command sees the files of a package and those that it embeds, but not what
// C files include from elsewhere. Embedding the shared files here, and importing this
// package wherever they are included, makes an edit of them rebuild their users and
// lets go mod vendor carry them. The variable is never read, so the linker drops the
// contents.
package csrc

import "embed"

// Sources holds the files of core, and those of families that others include.
//
//go:embed core/*.c core/*.h core/*.inc conv/blocked.h conv/command.h conv/conv.h conv/dense.h conv/space.h eltwise/eltwise.h eltwise/f32_math*.* half/*.h
//go:embed matmul/batch.h matmul/f64_gemm.h matmul/matmul.h probe/probe.h rnn/rnn.h
var Sources embed.FS
