//go:build cgo

// Package families lists the families of kernels. It has no C of its own, so that a change of one
// family compiles only that family and this list, not the list's importers.
package families

import (
	"unsafe"

	"github.com/nacre-ml/nacre/csrc/attention"
	"github.com/nacre-ml/nacre/csrc/blocks"
	"github.com/nacre-ml/nacre/csrc/conv"
	copies "github.com/nacre-ml/nacre/csrc/copy"
	"github.com/nacre-ml/nacre/csrc/eltwise"
	"github.com/nacre-ml/nacre/csrc/half"
	"github.com/nacre-ml/nacre/csrc/matmul"
	"github.com/nacre-ml/nacre/csrc/ml"
	"github.com/nacre-ml/nacre/csrc/nbits"
	"github.com/nacre-ml/nacre/csrc/norm"
	"github.com/nacre-ml/nacre/csrc/pool"
	"github.com/nacre-ml/nacre/csrc/probe"
	"github.com/nacre-ml/nacre/csrc/quant"
	"github.com/nacre-ml/nacre/csrc/random"
	"github.com/nacre-ml/nacre/csrc/reduce"
	"github.com/nacre-ml/nacre/csrc/resize"
	"github.com/nacre-ml/nacre/csrc/rnn"
)

// All has a function per family. It returns the address of the family's rows and their number.
var All = []func() (rows unsafe.Pointer, count int){
	attention.Kernels,
	blocks.Kernels,
	conv.Kernels,
	copies.Kernels,
	eltwise.Kernels,
	half.Kernels,
	matmul.Kernels,
	ml.Kernels,
	nbits.Kernels,
	norm.Kernels,
	pool.Kernels,
	probe.Kernels,
	quant.Kernels,
	random.Kernels,
	reduce.Kernels,
	resize.Kernels,
	rnn.Kernels,
}
