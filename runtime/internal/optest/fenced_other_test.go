//go:build !unix

package optest_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fenced returns x: this system has no memory that cannot be read.
func fenced(_ testing.TB, x *tensor.Tensor) (*tensor.Tensor, func()) { return x, func() {} }
