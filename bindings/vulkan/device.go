//go:build cgo && linux && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"

	helper "github.com/nacre-ml/nacre/csrc/vulkan"
)

// Device is an open device with one queue. Its methods are safe for concurrent use.
type Device struct {
	instance *Instance
	physical *physical
	helper   *helper.Device
	device   vk.Device
	cache    vk.PipelineCache
	queue    sync.Mutex
	hung     atomic.Bool
	keeps    atomic.Bool // statistics of pipelines

	mu      sync.Mutex
	layouts map[layoutKey]layouts
	spare   []*Recorder // free recorders
}

type layoutKey struct{ operands, push int }

type layouts struct{ set, pipeline uint64 }

// Open opens device index with all its features. Pipelines is data of PipelineData of an earlier
// device; nil for none. A driver ignores data of another device or driver, but may trust the rest of
// it: the caller must know that no one changed it.
func (i *Instance) Open(index int, pipelines []byte) (*Device, error) {
	if index < 0 || index >= len(i.devices) {
		return nil, fmt.Errorf("there is no device %d", index)
	}
	p := &i.devices[index]
	h, s := helper.NewDevice(i.load, i.instance, p.handle, p.family, p.caps)
	if s != 0 {
		return nil, failed("vkCreateDevice", s)
	}
	d := &Device{instance: i, physical: p, helper: h, device: handle[vk.Device](h.Device),
		layouts: map[layoutKey]layouts{}}
	info := vk.PipelineCacheCreateInfo{SType: vk.StructureTypePipelineCacheCreateInfo}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	if len(pipelines) > 0 {
		pinned.Pin(unsafe.SliceData(pipelines))
		info.InitialDataSize, info.PInitialData = uint(len(pipelines)), unsafe.Pointer(unsafe.SliceData(pipelines))
	}
	defer info.Free()
	var cache vk.PipelineCache
	err := failedCall("vkCreatePipelineCache", vk.CreatePipelineCache(d.device, &info, nil, &cache))
	if d.cache = cache; err != nil {
		d.Close()
		return nil, err
	}
	i.check()
	return d, nil
}

// PipelineData returns the compiled forms of the device's pipelines, for Open.
func (d *Device) PipelineData() ([]byte, error) {
	var n uint
	if err := failedCall("vkGetPipelineCacheData", vk.GetPipelineCacheData(d.device, d.cache, &n, nil)); err != nil {
		return nil, err
	}
	data := make([]byte, max(n, 1))
	err := failedCall("vkGetPipelineCacheData",
		vk.GetPipelineCacheData(d.device, d.cache, &n, unsafe.Pointer(unsafe.SliceData(data))))
	return data[:min(n, uint(len(data)))], err
}

// Info describes the device.
func (d *Device) Info() Info { return d.physical.info }

// Close closes the device. Everything made from it must be freed before. A device that hangs is not
// closed.
func (d *Device) Close() {
	if d.hung.Load() {
		return
	}
	vk.DeviceWaitIdle(d.device)
	for _, r := range d.spare {
		r.destroy()
	}
	for _, l := range d.layouts {
		vk.DestroyPipelineLayout(d.device, handle[vk.PipelineLayout](l.pipeline), nil)
		vk.DestroyDescriptorSetLayout(d.device, handle[vk.DescriptorSetLayout](l.set), nil)
	}
	vk.DestroyPipelineCache(d.device, d.cache, nil)
	vk.DestroyDevice(d.device, nil)
	d.helper.Free()
	d.instance.check()
}

// layoutsOf returns the layouts of pipelines with that many operands and bytes of push constants.
// It makes them once.
func (d *Device) layoutsOf(operands, push int) (layouts, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := layoutKey{operands, push}
	if l, ok := d.layouts[key]; ok {
		return l, nil
	}
	set, pipeline, s := d.helper.Layouts(operands, push)
	if s != 0 {
		return layouts{}, failed("vkCreatePipelineLayout", s)
	}
	d.layouts[key] = layouts{set, pipeline}
	return d.layouts[key], nil
}

// mostBytes returns the largest allocation of a kind.
func (p *physical) mostBytes(kind Kind) int { return min(p.caps.MaxAllocation, p.heaps[kind]) }

// Buffer is a buffer with memory of its own.
type Buffer struct {
	device *Device
	buffer vk.Buffer
	memory vk.DeviceMemory
	bytes  int
	host   []byte
}

// NewBuffer returns a buffer of n bytes for shaders and copies, not cleared. If there is too little
// memory, the error is ErrNoMemory.
func (d *Device) NewBuffer(n int, kind Kind) (*Buffer, error) {
	if n <= 0 {
		return nil, fmt.Errorf("a buffer of %d bytes", n)
	}
	if n > d.physical.mostBytes(kind) {
		return nil, fmt.Errorf("a buffer of %d bytes: %w", n, ErrNoMemory)
	}
	b := &Buffer{device: d, bytes: n}
	info := vk.BufferCreateInfo{
		SType: vk.StructureTypeBufferCreateInfo, Size: vk.DeviceSize(n),
		Usage: vk.BufferUsageFlags(vk.BufferUsageStorageBufferBit | vk.BufferUsageTransferSrcBit | vk.BufferUsageTransferDstBit), SharingMode: vk.SharingModeExclusive,
	}
	defer info.Free()
	var buffer vk.Buffer
	if err := failedCall("vkCreateBuffer", vk.CreateBuffer(d.device, &info, nil, &buffer)); err != nil {
		return nil, err
	}
	b.buffer = buffer
	if err := b.allocate(kind); err != nil {
		b.Free()
		return nil, err
	}
	d.instance.check()
	return b, nil
}

func (b *Buffer) allocate(kind Kind) error {
	d := b.device
	var need vk.MemoryRequirements
	vk.GetBufferMemoryRequirements(d.device, b.buffer, &need)
	need.Deref()
	defer need.Free()
	at := d.physical.types[kind]
	if need.MemoryTypeBits>>at&1 == 0 {
		return fmt.Errorf("memory of type %d cannot hold a buffer", at)
	}
	if int(need.Size) > d.physical.mostBytes(kind) {
		return fmt.Errorf("a buffer of %d bytes: %w", b.bytes, ErrNoMemory)
	}
	info := vk.MemoryAllocateInfo{SType: vk.StructureTypeMemoryAllocateInfo, AllocationSize: need.Size,
		MemoryTypeIndex: uint32(at)}
	defer info.Free()
	var memory vk.DeviceMemory
	if err := failedCall("vkAllocateMemory", vk.AllocateMemory(d.device, &info, nil, &memory)); err != nil {
		return err
	}
	b.memory = memory
	if err := failedCall("vkBindBufferMemory", vk.BindBufferMemory(d.device, b.buffer, b.memory, 0)); err != nil {
		return err
	}
	if kind != Staging {
		return nil
	}
	var p unsafe.Pointer
	if err := failedCall("vkMapMemory", vk.MapMemory(d.device, b.memory, 0, vk.DeviceSize(b.bytes), 0, &p)); err != nil {
		return err
	}
	b.host = unsafe.Slice((*byte)(p), b.bytes)
	return nil
}

// holds reports whether n > 0 and bytes at to at+n-1 are in the buffer.
func (b *Buffer) holds(at, n int) bool { return n > 0 && at >= 0 && n <= b.bytes && at <= b.bytes-n }

// Bytes returns the size of the buffer.
func (b *Buffer) Bytes() int { return b.bytes }

// Host returns the buffer's memory, valid until Free; nil for a buffer of kind Local.
func (b *Buffer) Host() []byte { return b.host }

// Free frees the buffer.
func (b *Buffer) Free() {
	if b.device.hung.Load() {
		return
	}
	d := b.device.device
	vk.DestroyBuffer(d, b.buffer, nil)
	if b.memory != nil {
		vk.FreeMemory(d, b.memory, nil)
	}
	b.device.instance.check()
}

// Pipeline is a shader ready to run.
type Pipeline struct {
	device   *Device
	pipeline vk.Pipeline
	layouts  layouts
	operands int
	push     int
	keeps    bool // statistics
}

// KeepStatistics has the driver keep statistics of the pipelines made later, if it can.
func (d *Device) KeepStatistics() { d.keeps.Store(d.physical.info.Caps.Statistics) }

// Statistics returns the whole numbers that the driver tells about the pipeline, by name; nil if it
// keeps none.
func (p *Pipeline) Statistics() (map[string]uint64, error) {
	if !p.keeps {
		return nil, nil
	}
	list, s := p.device.helper.Statistics(bits(p.pipeline))
	return list, failed("vkGetPipelineExecutableStatisticsKHR", s)
}

// checkPipeline returns an error if a pipeline exceeds the device's limits.
func (d *Device) checkPipeline(code, constants []uint32, operands, push, subgroup int) error {
	c := &d.physical.info.Caps
	switch {
	case len(code) == 0:
		return errors.New("a shader without code")
	case operands < 1 || operands > c.MaxBuffers:
		return fmt.Errorf("a shader with %d operands, and the device takes 1 to %d", operands, c.MaxBuffers)
	case push < 0 || push > c.MaxPush || push%4 != 0:
		return fmt.Errorf("a shader with %d bytes of push constants, and the device takes words of %d bytes in all", push,
			c.MaxPush)
	case len(constants) > helper.MostConstants:
		return fmt.Errorf("a shader with %d specialization constants, and %d are the most", len(constants),
			helper.MostConstants)
	case subgroup != 0 && !c.SubgroupControl:
		return fmt.Errorf("a shader for subgroups of %d, and the device has no control of their size", subgroup)
	case subgroup != 0 && (subgroup < c.SubgroupLeast || subgroup > c.SubgroupMost || subgroup&(subgroup-1) != 0):
		return fmt.Errorf("a shader for subgroups of %d, and the device has powers of two from %d to %d", subgroup,
			c.SubgroupLeast, c.SubgroupMost)
	}
	return nil
}

// NewPipeline makes a pipeline of a module with entry point main. It has operands storage buffers
// and push bytes of push constants. constants are the values of specialization constants from id 0
// on. subgroup is the required size of subgroups, 0 for any.
func (d *Device) NewPipeline(code, constants []uint32, operands, push, subgroup int) (*Pipeline, error) {
	if err := d.checkPipeline(code, constants, operands, push, subgroup); err != nil {
		return nil, err
	}
	l, err := d.layoutsOf(operands, push)
	if err != nil {
		return nil, err
	}
	// The package stores the code's address in C memory.
	var pinned runtime.Pinner
	pinned.Pin(unsafe.SliceData(code))
	defer pinned.Unpin()
	info := vk.ShaderModuleCreateInfo{SType: vk.StructureTypeShaderModuleCreateInfo, CodeSize: uint(4 * len(code)),
		PCode: code}
	defer info.Free()
	var module vk.ShaderModule
	if err := failedCall("vkCreateShaderModule", vk.CreateShaderModule(d.device, &info, nil, &module)); err != nil {
		return nil, err
	}
	defer vk.DestroyShaderModule(d.device, module, nil)
	p, s := d.helper.Pipeline(bits(module), l.pipeline, bits(d.cache), constants, subgroup, d.keeps.Load())
	d.instance.check()
	if s != 0 {
		return nil, failed("vkCreateComputePipelines", s)
	}
	return &Pipeline{d, handle[vk.Pipeline](p), l, operands, push, d.keeps.Load()}, nil
}

// Free frees the pipeline.
func (p *Pipeline) Free() {
	if !p.device.hung.Load() {
		vk.DestroyPipeline(p.device.device, p.pipeline, nil)
	}
}
