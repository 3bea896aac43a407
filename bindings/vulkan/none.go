//go:build !(cgo && linux && (amd64 || arm64))

package vulkan

import "errors"

var errNone = errors.New("this program was built without Vulkan; Vulkan needs cgo, Linux or Android, and a " +
	"processor of 64 bits")

// Instance is never made in this build.
type Instance struct{}

// Open returns an error: there is no Vulkan.
func Open(Options) (*Instance, error) { return nil, errNone }

// Devices returns nil.
func (*Instance) Devices() []Info { return nil }

// Open returns an error: there is no Vulkan.
func (*Instance) Open(int, []byte) (*Device, error) { return nil, errNone }

// Close does nothing.
func (*Instance) Close() {}

// Device is never made in this build.
type Device struct{}

// Info returns the zero Info.
func (*Device) Info() Info { return Info{} }

// PipelineData returns an error: there is no Vulkan.
func (*Device) PipelineData() ([]byte, error) { return nil, errNone }

// KeepStatistics does nothing.
func (*Device) KeepStatistics() {}

// Close does nothing.
func (*Device) Close() {}

// NewBuffer returns an error: there is no Vulkan.
func (*Device) NewBuffer(int, Kind) (*Buffer, error) { return nil, errNone }

// NewPipeline returns an error: there is no Vulkan.
func (*Device) NewPipeline([]uint32, []uint32, int, int, int) (*Pipeline, error) { return nil, errNone }

// NewRecorder returns an error: there is no Vulkan.
func (*Device) NewRecorder(int, int, int) (*Recorder, error) { return nil, errNone }

// Buffer is never made in this build.
type Buffer struct{}

// Bytes returns 0.
func (*Buffer) Bytes() int { return 0 }

// Host returns nil.
func (*Buffer) Host() []byte { return nil }

// Free does nothing.
func (*Buffer) Free() {}

// Pipeline is never made in this build.
type Pipeline struct{}

// Statistics returns an error: there is no Vulkan.
func (*Pipeline) Statistics() (map[string]uint64, error) { return nil, errNone }

// Free does nothing.
func (*Pipeline) Free() {}

// Recorder is never made in this build.
type Recorder struct{}

// Dispatch returns an error: there is no Vulkan.
func (*Recorder) Dispatch(*Pipeline, []Operand, []uint32, [3]int) error { return errNone }

// Copy does nothing.
func (*Recorder) Copy(*Buffer, int, *Buffer, int, int) {}

// CopyAll does nothing.
func (*Recorder) CopyAll(dst, src *Buffer, list []Region) {}

// Fill does nothing.
func (*Recorder) Fill(*Buffer, int, int, uint32) {}

// Barrier does nothing.
func (*Recorder) Barrier() {}

// Timestamp does nothing.
func (*Recorder) Timestamp() {}

// End returns an error: there is no Vulkan.
func (*Recorder) End() error { return errNone }

// Run returns an error: there is no Vulkan.
func (*Recorder) Run() error { return errNone }

// Submit returns an error: there is no Vulkan.
func (*Recorder) Submit() error { return errNone }

// Wait returns an error: there is no Vulkan.
func (*Recorder) Wait() error { return errNone }

// Times returns an error: there is no Vulkan.
func (*Recorder) Times() ([]int64, error) { return nil, errNone }

// Free does nothing.
func (*Recorder) Free() {}
