// Package csrc embeds the C files that several families of kernels include.
//
// Each folder below is a package that compiles its own C files. The build cache of the go command
// sees the files of a package and its embedded files, but not files that C files include from
// elsewhere. This package embeds the shared files, and packages that include them import it. So an
// edit of a shared file rebuilds its users, and go mod vendor copies the file. The variable is
// never read, so the linker drops the contents. The package is no API for Go programs.
package csrc

import "embed"

// Sources holds the files of core, and the files of families that other packages include.
//
//go:embed core/*.c core/*.h core/*.inc conv/blocked.h conv/command.h conv/conv.h conv/dense.h conv/space.h eltwise/activations.h eltwise/eltwise.h eltwise/f32_math*.* half/*.h
//go:embed matmul/batch.h matmul/f64_gemm.h matmul/matmul.h probe/probe.h quant/search.h rnn/rnn.h
var Sources embed.FS
