// Package vulkan provides the Vulkan objects for package runtime/vulkan: instances, devices,
// buffers, pipelines and recorded commands. It calls github.com/vulkan-go/vulkan if that passes
// arguments safely, else the helper in csrc/vulkan. It is no API for Go programs: it may change
// with any version.
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

// Options are the options of an instance.
type Options struct {
	// Validate, if it is not nil, loads the validation layer and receives its messages. It is
	// called during other calls, one at a time.
	Validate func(message string)
}

// Info describes a device.
type Info struct {
	Index        int
	Name, Driver string
	Type         string // discrete, integrated, virtual, cpu or other
	Version      string // Vulkan version of the device
	// VendorID, DeviceID and DriverVersion are numbers of the device and its driver. CacheID changes
	// if data of Device.PipelineData is of no more use.
	VendorID, DeviceID, DriverVersion uint32
	CacheID                           [16]byte
	Caps                              Caps
}

// Caps holds the capabilities of a device: features that shaders may need, and limits in bytes,
// counts and nanoseconds. Subgroups is the most subgroups of a workgroup if their size is required.
// Unified means that the host can address the device's own memory, Statistics that the driver
// tells numbers about compiled shaders, and Clock that shaders read the clock of their subgroup. Units
// is the number of multiprocessors, compute units or shader cores, 0 if the driver does not tell it.
type Caps struct {
	Storage16, Storage8, Float16, Int8, Int16, Int64, Float64                       bool
	IntDot, IntDotFast, CoopMatrix, CoopBF16, MemoryModel, SubgroupControl, Unified bool
	SubgroupSize, SubgroupLeast, SubgroupMost, Subgroups                            int
	Statistics, Clock, SubgroupBasic, SubgroupArithmetic                            bool
	Units                                                                           int
	Matrices                                                                        []Matrix
	MaxRange, MaxShared, MaxInvocations, MaxPush, MaxBuffers                        int
	MaxAllocation, HeapBytes, OffsetAlign, ImportAlign                              int
	MaxGroups, MaxGroupSize                                                         [3]int
	TimestampBits                                                                   int
	TimestampPeriod                                                                 float64
}

// Matrix is a product of matrices [M,K] and [K,N] that a subgroup computes, with the element types
// of operands and sums. A device lists those that it supports.
type Matrix struct {
	M, N, K        int
	Operands, Sums string // f16, bf16, f32, i8 or i32
}

// String formats the product like "f16 16x16x16".
func (m Matrix) String() string { return fmt.Sprintf("%s %dx%dx%d", m.Operands, m.M, m.N, m.K) }

// Kind is a kind of memory.
type Kind int

// The kinds: the device's own memory, and memory that host and device share.
const (
	Local Kind = iota
	Staging
)

// Operand is a range of a buffer that a dispatch reads or writes. The zero Operand means none.
type Operand struct {
	Buffer        *Buffer
	Offset, Bytes int
}

// Region is bytes of a buffer that are copied to another, with the offsets in both.
type Region struct{ Dst, Src, Bytes int }
