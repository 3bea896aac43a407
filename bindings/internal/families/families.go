//go:build cgo

// Package families lists the families of kernels. It has no C of its own, so an edit
// of a family compiles that family and this list, and none of what imports the list.
package families

import (
	"unsafe"

	"github.com/nacre-ml/nacre/csrc/attention"
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

// All has a function for each family, which returns the address of its rows and how
// many there are.
var All = []func() (rows unsafe.Pointer, count int){
	attention.Kernels,
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
