//go:build cgo && linux && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"

	helper "github.com/nacre-ml/nacre/csrc/vulkan"
)

// loader returns the loader's entry point, found once per process.
var loader = sync.OnceValues(func() (unsafe.Pointer, error) {
	p, err := helper.Load()
	if err != nil {
		return nil, fmt.Errorf("the Vulkan loader was not found; install it (Debian: libvulkan1): %w", err)
	}
	vk.SetGetInstanceProcAddr(p)
	if err := vk.Init(); err != nil {
		return nil, err
	}
	return p, nil
})

// bits returns a handle as helpers take it; handle converts it back.
func bits[T any](h T) uint64 { return uint64(*(*uintptr)(unsafe.Pointer(&h))) }

func handle[T any](b uint64) (h T) {
	*(*uintptr)(unsafe.Pointer(&h)) = uintptr(b)
	return h
}

// failed returns the error of a call, nil for success.
func failed(call string, status helper.Status) error {
	switch r := vk.Result(status); r {
	case vk.Success:
		return nil
	case vk.ErrorOutOfDeviceMemory, vk.ErrorOutOfHostMemory, vk.ErrorTooManyObjects, vk.ErrorOutOfPoolMemory:
		return fmt.Errorf("%s: %w", call, ErrNoMemory)
	case vk.ErrorDeviceLost:
		return fmt.Errorf("%s: %w", call, ErrLost)
	default:
		return fmt.Errorf("%s: Vulkan's result is %d", call, r)
	}
}

func failedCall(call string, r vk.Result) error { return failed(call, helper.Status(r)) }

// Instance is a Vulkan instance and its devices.
type Instance struct {
	load     unsafe.Pointer
	instance uint64
	devices  []physical

	mu  sync.Mutex
	log *helper.Log // nil if there is no validation
	say func(message string)
}

// physical describes one of the instance's devices.
type physical struct {
	handle uint64
	info   Info
	caps   *helper.Caps
	family int
	types  [2]int // index of the memory type, by Kind
	heaps  [2]int // size of its heap in bytes
}

var (
	initMutex sync.Mutex
	initDone  bool
)

// initCalls looks up the functions of vulkan-go with the first instance of the process. They belong
// to the loader and serve every instance.
func initCalls(instance uint64) error {
	initMutex.Lock()
	defer initMutex.Unlock()
	if initDone {
		return nil
	}
	err := vk.InitInstance(handle[vk.Instance](instance))
	initDone = err == nil
	return err
}

// Open makes an instance. The error says which component is missing.
func Open(o Options) (*Instance, error) {
	load, err := loader()
	if err != nil {
		return nil, err
	}
	i := &Instance{load: load, say: o.Validate}
	if o.Validate != nil {
		i.log = helper.NewLog()
	}
	var s helper.Status
	if i.instance, s = helper.Instance(load, i.log); s != 0 {
		if i.log != nil {
			i.log.Free()
		}
		return nil, noInstance(s, o.Validate != nil)
	}
	if err := initCalls(i.instance); err != nil {
		i.Close()
		return nil, err
	}
	if err := i.find(); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// noInstance returns an error that says why there is no instance.
func noInstance(s helper.Status, validate bool) error {
	switch r := vk.Result(s); {
	case r == vk.ErrorIncompatibleDriver:
		return errors.New("no Vulkan driver was found; install the driver of the GPU, or a software driver (Debian: " +
			"mesa-vulkan-drivers)")
	case validate && (r == vk.ErrorLayerNotPresent || r == vk.ErrorExtensionNotPresent):
		return errors.New("the validation layer was not found; install it (Debian: vulkan-validationlayers)")
	}
	return failed("vkCreateInstance", s)
}

// find lists the devices with Vulkan 1.1 or later and a compute queue.
func (i *Instance) find() error {
	var n uint32
	instance := handle[vk.Instance](i.instance)
	if err := failedCall("vkEnumeratePhysicalDevices", vk.EnumeratePhysicalDevices(instance, &n, nil)); err != nil ||
		n == 0 {
		return err
	}
	list := make([]vk.PhysicalDevice, n)
	if err := failedCall("vkEnumeratePhysicalDevices", vk.EnumeratePhysicalDevices(instance, &n, list)); err != nil {
		return err
	}
	for _, p := range list[:n] {
		d, ok, err := i.describe(p)
		if err != nil {
			return err
		}
		if ok {
			d.info.Index = len(i.devices)
			i.devices = append(i.devices, *d)
		}
	}
	return nil
}

var typeNames = map[vk.PhysicalDeviceType]string{
	vk.PhysicalDeviceTypeDiscreteGpu: "discrete", vk.PhysicalDeviceTypeIntegratedGpu: "integrated",
	vk.PhysicalDeviceTypeVirtualGpu: "virtual", vk.PhysicalDeviceTypeCpu: "cpu",
}

// describe returns a description of a device. ok is false if it cannot be used.
func (i *Instance) describe(p vk.PhysicalDevice) (d *physical, ok bool, err error) {
	d = &physical{handle: bits(p)}
	var props vk.PhysicalDeviceProperties
	vk.GetPhysicalDeviceProperties(p, &props)
	props.Deref()
	defer props.Free()
	version := vk.Version(props.ApiVersion)
	if props.ApiVersion < vk.MakeVersion(1, 1, 0) {
		return nil, false, nil
	}
	var timestamps int
	if d.family, timestamps = helper.Family(i.load, i.instance, d.handle); d.family < 0 {
		return nil, false, nil
	}
	caps, s := helper.Query(i.load, i.instance, d.handle)
	if s != 0 {
		return nil, false, failed("vkGetPhysicalDeviceFeatures2", s)
	}
	d.caps = caps
	kind := typeNames[props.DeviceType]
	if kind == "" {
		kind = "other"
	}
	d.info = Info{Name: vk.ToString(props.DeviceName[:]), Driver: caps.Driver, Type: kind, Version: version.String(),
		VendorID: props.VendorID, DeviceID: props.DeviceID, DriverVersion: props.DriverVersion,
		CacheID: props.PipelineCacheUUID}
	props.Limits.Deref()
	d.info.Caps = capsOf(caps, &props.Limits)
	d.info.Caps.TimestampBits = timestamps
	if !d.findMemory(p) {
		return nil, false, nil
	}
	d.info.Caps.MaxAllocation = d.mostBytes(Local)
	return d, true, nil
}

func capsOf(c *helper.Caps, l *vk.PhysicalDeviceLimits) Caps {
	list := func(a [3]uint32) [3]int { return [3]int{int(a[0]), int(a[1]), int(a[2])} }
	elements := map[helper.ElementType]string{helper.F16: "f16", helper.BF16: "bf16", helper.F32: "f32", helper.I8: "i8",
		helper.I32: "i32"}
	var matrices []Matrix
	for _, m := range c.Matrices {
		if a, sum := elements[m.Operands], elements[m.Sums]; a != "" && sum != "" {
			matrices = append(matrices, Matrix{m.M, m.N, m.K, a, sum})
		}
	}
	return Caps{
		Storage16: c.Storage16, Storage8: c.Storage8, Float16: c.Float16, Int8: c.Int8, Int16: c.Int16, Int64: c.Int64,
		Float64: c.Float64,
		IntDot:  c.IntDot, IntDotFast: c.IntDotFast, CoopMatrix: c.CoopMatrix, CoopBF16: c.CoopBF16, Matrices: matrices,
		Statistics: c.Statistics, Clock: c.Clock, MemoryModel: c.MemoryModel, SubgroupControl: c.SubgroupControl,
		SubgroupSize: c.SubgroupSize, SubgroupLeast: c.SubgroupLeast, SubgroupMost: c.SubgroupMost, Subgroups: c.Subgroups,
		SubgroupBasic: c.SubgroupBasic, SubgroupArithmetic: c.SubgroupArithmetic, Units: c.Units,
		MaxRange: int(l.MaxStorageBufferRange), MaxShared: int(l.MaxComputeSharedMemorySize),
		MaxInvocations: int(l.MaxComputeWorkGroupInvocations),
		MaxPush:        int(l.MaxPushConstantsSize),
		MaxBuffers: min(int(l.MaxPerStageDescriptorStorageBuffers), int(l.MaxDescriptorSetStorageBuffers), c.MaxSet,
			helper.MostOperands),
		OffsetAlign: int(l.MinStorageBufferOffsetAlignment), ImportAlign: c.ImportAlign,
		MaxGroups: list(l.MaxComputeWorkGroupCount), MaxGroupSize: list(l.MaxComputeWorkGroupSize),
		TimestampPeriod: float64(l.TimestampPeriod),
	}
}

// findMemory chooses the memory types. It reports whether there is one of each kind.
func (d *physical) findMemory(p vk.PhysicalDevice) bool {
	var props vk.PhysicalDeviceMemoryProperties
	vk.GetPhysicalDeviceMemoryProperties(p, &props)
	props.Deref()
	defer props.Free()
	best := [2]int{-1, -1} // scores by Kind
	for i := range int(props.MemoryTypeCount) {
		t := &props.MemoryTypes[i]
		t.Deref()
		heap := &props.MemoryHeaps[t.HeapIndex]
		heap.Deref()
		has := func(f vk.MemoryPropertyFlagBits) int {
			if vk.MemoryPropertyFlagBits(t.PropertyFlags)&f == f {
				return 1
			}
			return 0
		}
		visible := has(vk.MemoryPropertyHostVisibleBit | vk.MemoryPropertyHostCoherentBit)
		scores := [2]int{2 * has(vk.MemoryPropertyDeviceLocalBit), visible*(1+2*has(vk.MemoryPropertyHostCachedBit)) - 1}
		for k, s := range scores {
			if s > best[k] {
				best[k], d.types[k], d.heaps[k] = s, i, int(heap.Size)
				if Kind(k) == Local {
					d.info.Caps.HeapBytes, d.info.Caps.Unified = int(heap.Size), visible == 1
				}
			}
		}
	}
	return best[Local] >= 0 && best[Staging] >= 0
}

// Devices describes the devices.
func (i *Instance) Devices() []Info {
	list := make([]Info, len(i.devices))
	for k := range i.devices {
		list[k] = i.devices[k].info
	}
	return list
}

// check passes on the messages of the validation layer.
func (i *Instance) check() {
	if i.log == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for line := range strings.Lines(i.log.Take()) {
		i.say(strings.TrimSpace(line))
	}
}

// Close closes the instance. Its devices must be closed before.
func (i *Instance) Close() {
	if i.log != nil {
		helper.Deaf(i.load, i.log, i.instance)
	}
	vk.DestroyInstance(handle[vk.Instance](i.instance), nil)
	i.check()
	if i.log != nil {
		i.log.Free()
	}
}
