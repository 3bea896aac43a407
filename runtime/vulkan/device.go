// Package vulkan computes nodes on GPUs through Vulkan. Open returns a device to pass in the
// options of a session. Plans then place nodes on it. The package is for programs that use a GPU.
//
// Each family of operators is one file. It holds the rows of the operators, each a function that
// turns a node with known extents into dispatches of shaders.
package vulkan

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/shaders"
)

// Options configure a device. The zero value is a good choice.
type Options struct {
	// Validate receives the messages of the validation layers. They are loaded only if it is not
	// nil.
	Validate func(message string)
	// Everything places every node on the device that it can compute, even if copies of operands
	// take longer than that saves.
	Everything bool
	// Level bounds the features that shaders may use; 0 for all that the device has.
	Level Level
	// Profile bounds limits of the device to those of other devices; empty for its own.
	Profile Profile
	// Progress is called while constants are copied to the device: done of the total bytes that a
	// segment of a plan reads are there. It is called by one goroutine at a time.
	Progress func(done, total int)
	// Compiled is called while shaders are compiled: done of the total that a segment of a plan needs
	// are ready. It is called by one goroutine at a time.
	Compiled func(done, total int)
	// PipelineCache is the folder for a file of compiled shaders per device, so that later processes
	// need not compile them; empty for nacre/vulkan in os.UserCacheDir. Files are written by renaming,
	// and files of another device or driver, or with other contents than were written, are ignored.
	// A folder that cannot be used is no error.
	PipelineCache string
	// NoPipelineCache keeps compiled shaders in memory alone.
	NoPipelineCache bool
	// Statistics has the driver keep statistics of compiled shaders, for Device.Shaders.
	Statistics bool
	// MaxRange bounds the bytes of a buffer that a shader sees as one operand; 0 for the device's
	// limit.
	MaxRange int
	// MaxGroups bounds the workgroups along an axis of a dispatch; 0 for the device's limit.
	MaxGroups int
}

// Device is an open Vulkan device. It may be used from many goroutines at once, and by sessions of
// many models.
type Device struct {
	instance *vk.Instance
	dev      *vk.Device
	info     vk.Info
	options  Options
	features shaders.Feature
	matrices map[string]vk.Matrix // by element type of the operands
	find     func(kernel, variant string) (*shaders.Module, error)
	pool     *pool
	records  atomic.Int64 // recordings of segments
	commands atomic.Int64 // of the last recording
	barriers atomic.Int64 // between these
	waited   atomic.Int64 // nanoseconds of waits for submissions

	mu        sync.Mutex
	pipelines map[string]*pipeline
	file      pipelineFile
	reports   sync.Mutex // held during calls of Options.Compiled and while the file is written
}

// Devices describes the Vulkan devices of the machine: Index, Name, Driver, Type (discrete, integrated,
// virtual, cpu or other), Version, numbers of the device and its driver, and capabilities in Caps, as
// "go doc github.com/nacre-ml/nacre/bindings/vulkan.Info" and "go doc
// github.com/nacre-ml/nacre/bindings/vulkan.Caps" show them. If Vulkan is missing, the error says why.
func Devices() ([]vk.Info, error) {
	i, err := vk.Open(vk.Options{})
	if err != nil {
		return nil, failure(err)
	}
	defer i.Close()
	return i.Devices(), nil
}

// Open opens the device with that name: an index of Devices, or a part of a device's name. An empty
// name opens the first device that is not a CPU. Drivers in software are slower than the CPU
// kernels and meant for tests. Errors wrap graph.ErrDevice.
func Open(name string, o Options) (*Device, error) {
	i, err := vk.Open(vk.Options{Validate: o.Validate})
	if err != nil {
		return nil, failure(err)
	}
	d, err := open(i, name, o)
	if err != nil {
		i.Close()
		return nil, failure(err)
	}
	return d, nil
}

func open(i *vk.Instance, name string, o Options) (*Device, error) {
	if _, ok := profiles[o.Profile]; !ok && o.Profile != NoProfile {
		return nil, fmt.Errorf("there is no profile %q; have %v", o.Profile, Profiles())
	}
	list := i.Devices()
	at, err := find(list, name)
	if err != nil {
		return nil, err
	}
	file := pipelineFile{path: o.pipelinePath(&list[at]), info: &list[at]}
	dev, err := i.Open(at, file.read())
	if err != nil {
		return nil, err
	}
	d := &Device{instance: i, dev: dev, info: dev.Info(), options: o, find: shaders.Find, pipelines: map[string]*pipeline{},
		file: file}
	if o.Statistics {
		dev.KeepStatistics()
	}
	d.features = Features(&d.info) & o.Level.features()
	d.matrices = matrices(&d.info.Caps, d.features)
	o.Profile.limit(&d.info.Caps)
	if o.MaxRange > 0 {
		d.info.Caps.MaxRange = min(d.info.Caps.MaxRange, o.MaxRange)
	}
	if o.MaxGroups > 0 {
		for k := range d.info.Caps.MaxGroups {
			d.info.Caps.MaxGroups[k] = min(d.info.Caps.MaxGroups[k], o.MaxGroups)
		}
	}
	d.pool = newPool(dev, &d.info.Caps)
	return d, nil
}

// find returns the index of the device that a name selects.
func find(list []vk.Info, name string) (int, error) {
	if len(list) == 0 {
		return 0, fmt.Errorf("no Vulkan device was found; install the driver of the GPU, or mesa-vulkan-drivers for one " +
			"in software")
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(list) {
			return 0, fmt.Errorf("there is no Vulkan device %d; the last is %d", n, len(list)-1)
		}
		return n, nil
	}
	var names []string
	for i := range list {
		switch {
		case name == "" && list[i].Type == "cpu":
		case strings.Contains(strings.ToLower(list[i].Name), strings.ToLower(name)):
			return i, nil
		}
		names = append(names, fmt.Sprintf("%d, %s", i, list[i].Name))
	}
	have := strings.Join(names, "; ")
	if name == "" {
		return 0, fmt.Errorf("every Vulkan device is one in software, which must be named, "+
			"by its number or by a part of its name: %s", have)
	}
	return 0, fmt.Errorf("no Vulkan device has %q in its name; have %s", name, have)
}

// failure wraps an error in graph.ErrDevice.
func failure(err error) error {
	if err == nil {
		return nil
	}
	return graph.Errorf(graph.ErrDevice, "vulkan: %w", err)
}

// Features returns the features for shaders that a device has.
func Features(i *vk.Info) (f shaders.Feature) {
	c := &i.Caps
	for _, x := range []struct {
		has bool
		bit shaders.Feature
	}{
		{c.Storage16, shaders.Storage16},
		{c.Storage8, shaders.Storage8},
		{c.Float16, shaders.Float16},
		{c.Int8, shaders.Int8},
		{c.Int16, shaders.Int16},
		{c.Int64, shaders.Int64},
		{c.Float64, shaders.Float64},
		{c.IntDot, shaders.IntDot},
		{c.CoopMatrix, shaders.CoopMatrix},
		{c.CoopBF16, shaders.CoopBF16},
		{c.SubgroupBasic, shaders.Subgroup},
		{c.SubgroupArithmetic, shaders.SubgroupArithmetic},
		{c.Clock, shaders.Clock},
	} {
		if x.has {
			f |= x.bit
		}
	}
	return f
}

// Name returns "vulkan".
func (d *Device) Name() string { return "vulkan" }

// Info describes the device, as Devices does.
func (d *Device) Info() vk.Info { return d.info }

// Accelerator returns the device for the plans of one model. It holds the model's constants until
// it is closed.
func (d *Device) Accelerator() (device.Accelerator, error) {
	return &Accelerator{dev: d, weights: newWeights(d)}, nil
}

// Close releases the device. No session may use it afterwards.
func (d *Device) Close() {
	for _, p := range d.pipelines {
		if p.made != nil {
			p.made.Free()
		}
	}
	d.pool.free()
	d.dev.Close()
	d.instance.Close()
}
