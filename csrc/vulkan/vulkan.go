//go:build cgo && linux && (amd64 || arm64)

// Package vulkan compiles the C helper of this folder. It makes the Vulkan calls that the Go
// package for Vulkan lacks or makes unsafely.
package vulkan

/*
#cgo CFLAGS: -std=c11 -D_DEFAULT_SOURCE -O2 -g0 -Wall -Wextra -I${SRCDIR}/..
#cgo LDFLAGS: -ldl
#cgo !android LDFLAGS: -lpthread

#include <stdlib.h>
#include "vulkan/vulkan.h"
*/
import "C"

import (
	"embed"
	"errors"
	"math"
	"unsafe"
)

// Sources holds the files that the C files include, so that an edit of one rebuilds the package.
//
//go:embed *.h
var Sources embed.FS

// MostOperands and MostConstants are the limits of a pipeline.
const (
	MostOperands  = C.NACRE_VK_OPERANDS
	MostConstants = C.NACRE_VK_CONSTANTS
)

// Status is a VkResult.
type Status int32

// Load returns the loader's entry point. If there is none, the error says why.
func Load() (unsafe.Pointer, error) {
	var why *C.char
	p := C.nacre_vk_load(&why)
	if p == nil {
		return nil, errors.New(C.GoString(why))
	}
	return p, nil
}

// Log holds messages of the validation layer.
type Log struct{ log *C.nacre_vk_log }

// NewLog returns an empty log.
func NewLog() *Log { return &Log{C.nacre_vk_log_new()} }

// Take returns the messages so far, one per line, and removes them from the log.
func (l *Log) Take() string {
	var all []byte
	for {
		var buf [4096]byte
		n := C.nacre_vk_log_take(l.log, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
		all = append(all, buf[:n]...)
		if int(n) < len(buf) {
			return string(all)
		}
	}
}

// Free frees the log.
func (l *Log) Free() { C.nacre_vk_log_free(l.log) }

// Instance makes an instance. If log is not nil, it enables the validation layer and logs its
// messages.
func Instance(load unsafe.Pointer, log *Log) (instance uint64, s Status) {
	var l *C.nacre_vk_log
	if log != nil {
		l = log.log
	}
	var i C.uint64_t
	s = Status(C.nacre_vk_instance(load, l, &i))
	return uint64(i), s
}

// Deaf stops the messages of an instance. Call it before the instance is destroyed.
func Deaf(load unsafe.Pointer, log *Log, instance uint64) {
	C.nacre_vk_deaf(load, log.log, C.uint64_t(instance))
}

// Caps holds the capabilities of a device beyond the limits of Vulkan 1.0.
type Caps struct {
	Storage16, Storage8, Float16, Int8, Int16, Int64, Float64              bool
	IntDot, IntDotFast, CoopMatrix, CoopBF16, MemoryModel, SubgroupControl bool
	Statistics, Clock                                                      bool
	SubgroupSize, SubgroupLeast, SubgroupMost, Subgroups                   int
	SubgroupBasic, SubgroupArithmetic                                      bool
	Units                                                                  int
	Matrices                                                               []Matrix
	ImportAlign, MaxAllocation, MaxSet                                     int
	Driver                                                                 string
	caps                                                                   C.nacre_vk_caps
}

// Matrix is a product of matrices [M,K] and [K,N] that a subgroup computes.
type Matrix struct {
	M, N, K        int
	Operands, Sums ElementType
}

// ElementType is the type of matrix elements.
type ElementType int

// The element types that shaders use.
const (
	F16  ElementType = C.NACRE_VK_F16
	BF16 ElementType = C.NACRE_VK_BF16
	F32  ElementType = C.NACRE_VK_F32
	I8   ElementType = C.NACRE_VK_I8
	I32  ElementType = C.NACRE_VK_I32
)

// Query returns the capabilities of a physical device.
func Query(load unsafe.Pointer, instance, physical uint64) (*Caps, Status) {
	x := &Caps{}
	c := &x.caps
	if s := Status(C.nacre_vk_query(load, C.uint64_t(instance), C.uint64_t(physical), c)); s != 0 {
		return nil, s
	}
	for _, f := range []struct {
		to   *bool
		from C.uint32_t
	}{
		{&x.Storage16, c.storage16}, {&x.Storage8, c.storage8}, {&x.Float16, c.float16}, {&x.Int8, c.int8}, {&x.Int16, c.int16}, {&x.Int64, c.int64}, {&x.Float64, c.float64},
		{&x.IntDot, c.int_dot}, {&x.IntDotFast, c.int_dot_fast}, {&x.CoopMatrix, c.coop_matrix}, {&x.CoopBF16, c.coop_bf16}, {&x.MemoryModel, c.memory_model},
		{&x.Statistics, c.statistics}, {&x.Clock, c.clock}, {&x.SubgroupControl, c.subgroup_control}, {&x.SubgroupBasic, c.subgroup_basic}, {&x.SubgroupArithmetic, c.subgroup_arithmetic},
	} {
		*f.to = f.from != 0
	}
	x.SubgroupSize, x.SubgroupLeast, x.SubgroupMost = int(c.subgroup_size), int(c.subgroup_least), int(c.subgroup_most)
	x.Subgroups, x.Units = int(c.subgroups), int(c.units)
	for _, m := range c.matrices[:c.matrix_count] {
		x.Matrices = append(x.Matrices, Matrix{int(m.m), int(m.n), int(m.k), ElementType(m.operands), ElementType(m.sums)})
	}
	x.ImportAlign, x.Driver = int(c.import_align), C.GoString(&c.driver[0])
	x.MaxAllocation, x.MaxSet = int(min(c.max_allocation, math.MaxInt64)), int(c.max_set)
	return x, 0
}

// Family returns the compute queue family with the most timestamp bits, and these bits. If there is
// none, family is -1.
func Family(load unsafe.Pointer, instance, physical uint64) (family, timestampBits int) {
	var bits C.uint32_t
	n := C.nacre_vk_family(load, C.uint64_t(instance), C.uint64_t(physical), &bits)
	return int(n), int(bits)
}

// Device is a device with its queue and its functions.
type Device struct {
	Device, Queue uint64
	calls         *C.nacre_vk_calls
}

// NewDevice makes a device with one queue and all features of the caps.
func NewDevice(load unsafe.Pointer, instance, physical uint64, family int, caps *Caps) (*Device, Status) {
	var device, queue C.uint64_t
	d := &Device{}
	s := Status(C.nacre_vk_device(load, C.uint64_t(instance), C.uint64_t(physical), C.uint32_t(family), &caps.caps,
		&device, &queue, &d.calls))
	d.Device, d.Queue = uint64(device), uint64(queue)
	return d, s
}

// Free frees the functions. The device itself stays.
func (d *Device) Free() { C.nacre_vk_calls_free(d.calls) }

// Layouts makes the layouts of a set of storage buffers and of a pipeline with push bytes of push
// constants.
func (d *Device) Layouts(operands, push int) (set, pipeline uint64, s Status) {
	var a, b C.uint64_t
	s = Status(C.nacre_vk_layouts(d.calls, C.uint32_t(operands), C.uint32_t(push), &a, &b))
	return uint64(a), uint64(b), s
}

// Pipeline makes a compute pipeline from the entry point main of a module. Constant id k is
// constants[k]. If subgroup is not 0, all subgroups have that size. With statistics, the driver keeps
// them for Statistics.
func (d *Device) Pipeline(
	module, layout, cache uint64, constants []uint32, subgroup int, statistics bool,
) (uint64, Status) {
	var keep C.uint32_t
	if statistics {
		keep = 1
	}
	var p C.uint64_t
	s := Status(C.nacre_vk_pipeline(d.calls, C.uint64_t(module), C.uint64_t(layout), C.uint64_t(cache),
		(*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(constants))), C.uint32_t(len(constants)), C.uint32_t(subgroup), keep,
		&p))
	return uint64(p), s
}

// Statistics returns the whole numbers that the driver tells about a pipeline, by name.
func (d *Device) Statistics(pipeline uint64) (map[string]uint64, Status) {
	var list [C.NACRE_VK_STATISTICS]C.nacre_vk_statistic
	var n C.uint32_t
	s := Status(C.nacre_vk_statistics(d.calls, C.uint64_t(pipeline), &list[0], C.uint32_t(len(list)), &n))
	all := map[string]uint64{}
	for i := range list[:n] {
		all[C.GoString(&list[i].name[0])] = uint64(list[i].value)
	}
	return all, s
}

// Pool makes a pool of descriptors.
func (d *Device) Pool(sets, operands int) (uint64, Status) {
	var p C.uint64_t
	s := Status(C.nacre_vk_pool(d.calls, C.uint32_t(sets), C.uint32_t(operands), &p))
	return uint64(p), s
}

// Operand is a range of bytes of a buffer.
type Operand struct{ Buffer, Offset, Bytes uint64 }

// Set makes a set of storage buffers.
func (d *Device) Set(pool, layout uint64, list []Operand) (uint64, Status) {
	var p C.uint64_t
	s := Status(C.nacre_vk_set(d.calls, C.uint64_t(pool), C.uint64_t(layout),
		(*C.nacre_vk_operand)(unsafe.Pointer(unsafe.SliceData(list))), C.uint32_t(len(list)), &p))
	return uint64(p), s
}

// Barrier makes earlier writes visible to later commands, and to the host if host is set.
func (d *Device) Barrier(commands uint64, host bool) {
	var to C.uint32_t
	if host {
		to = 1
	}
	C.nacre_vk_barrier(d.calls, C.uint64_t(commands), to)
}

// Region is bytes of one buffer that are copied to another, with the offsets in both.
type Region struct{ Src, Dst, Bytes uint64 }

// Copy copies regions of buffer src to buffer dst.
func (d *Device) Copy(commands, src, dst uint64, list []Region) {
	C.nacre_vk_copy(d.calls, C.uint64_t(commands), C.uint64_t(src), C.uint64_t(dst),
		(*C.nacre_vk_region)(unsafe.Pointer(unsafe.SliceData(list))), C.uint32_t(len(list)))
}

// Submit submits commands. Their end signals the fence.
func (d *Device) Submit(commands, fence uint64) Status {
	return Status(C.nacre_vk_submit(d.calls, C.uint64_t(d.Queue), C.uint64_t(commands), C.uint64_t(fence)))
}

// Wait polls a fence for poll nanoseconds and then waits for it, at most the given nanoseconds. If
// it is signalled, Wait resets it.
func (d *Device) Wait(fence uint64, poll, nanoseconds int64) Status {
	return Status(C.nacre_vk_wait(d.calls, C.uint64_t(fence), C.uint64_t(poll), C.uint64_t(nanoseconds)))
}
