// Package vulkan has the Vulkan objects that the device of package runtime/vulkan is made
// of: instances, devices, buffers, pipelines and recorded commands. Calls go through
// github.com/vulkan-go/vulkan where its way of passing arguments is safe, and else through
// the helper in csrc/vulkan.
package vulkan

import (
	"errors"
	"fmt"
)

// The errors that calls return, for errors.Is.
var (
	ErrNoMemory = errors.New("out of device memory")
	ErrLost     = errors.New("the device was lost; it may have been reset by the driver, and must be opened again")
)

// Options say how an instance is made.
type Options struct {
	// Validate gets the messages of the validation layer, which is loaded unless it is nil. It
	// is called by those that make calls, one at a time.
	Validate func(message string)
}

// Info describes a device.
type Info struct {
	Index        int
	Name, Driver string
	Type         string // discrete, integrated, virtual, cpu or other
	Version      string // of Vulkan that the device has
	Caps         Caps
}

// Caps is what a device can do: the features that shaders may need, and limits in bytes,
// counts and nanoseconds. Subgroups is how many a workgroup may have where their size is
// required. Unified says that the host sees the device's own memory.
type Caps struct {
	Storage16, Storage8, Float16, Int8, Int16, Int64, Float64                       bool
	IntDot, IntDotFast, CoopMatrix, CoopBF16, MemoryModel, SubgroupControl, Unified bool
	SubgroupSize, SubgroupLeast, SubgroupMost, Subgroups                            int
	SubgroupBasic, SubgroupArithmetic                                               bool
	Matrices                                                                        []Matrix
	MaxRange, MaxShared, MaxInvocations, MaxPush, MaxBuffers                        int
	MaxAllocation, HeapBytes, OffsetAlign, ImportAlign                              int
	MaxGroups, MaxGroupSize                                                         [3]int
	TimestampBits                                                                   int
	TimestampPeriod                                                                 float64
}

// Matrix is a product of matrices [M,K] and [K,N] that a subgroup computes: the types of
// the elements of both operands, and of sums. A device lists those that it has.
type Matrix struct {
	M, N, K        int
	Operands, Sums string // f16, bf16, f32, i8 or i32
}

// String returns the product as in f16 16x16x16.
func (m Matrix) String() string { return fmt.Sprintf("%s %dx%dx%d", m.Operands, m.M, m.N, m.K) }

// Kind is a kind of memory.
type Kind int

// The kinds: the device's own, and such as host and device both see.
const (
	Local Kind = iota
	Staging
)

// Operand is bytes of a buffer that a dispatch reads or writes. The zero Operand stands for
// none.
type Operand struct {
	Buffer        *Buffer
	Offset, Bytes int
}
