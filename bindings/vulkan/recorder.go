//go:build cgo && linux && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"

	helper "github.com/nacre-ml/nacre/csrc/vulkan"
)

// Recorder holds commands that are recorded once and may run repeatedly, one run at a time.
type Recorder struct {
	device   *Device
	pool     vk.CommandPool
	commands vk.CommandBuffer
	sets     uint64 // a descriptor pool
	queries  vk.QueryPool
	fence    vk.Fence
	stamps   int // of queries
	stamped  int
	err      error   // error of the calls that return none
	empty    *Buffer // replaces operands that are left out
}

// NewRecorder returns a recorder for that many dispatches, operands in total, and timestamps.
func (d *Device) NewRecorder(dispatches, operands, timestamps int) (*Recorder, error) {
	if timestamps > 0 && d.physical.info.Caps.TimestampBits == 0 {
		return nil, errors.New("the device has no timestamps")
	}
	r := &Recorder{device: d, stamps: timestamps}
	if err := r.make(dispatches, operands); err != nil {
		r.Free()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) make(dispatches, operands int) error {
	d := r.device
	pool := vk.CommandPoolCreateInfo{SType: vk.StructureTypeCommandPoolCreateInfo,
		QueueFamilyIndex: uint32(d.physical.family)}
	defer pool.Free()
	var made vk.CommandPool
	if err := failedCall("vkCreateCommandPool", vk.CreateCommandPool(d.device, &pool, nil, &made)); err != nil {
		return err
	}
	r.pool = made
	info := vk.CommandBufferAllocateInfo{SType: vk.StructureTypeCommandBufferAllocateInfo, CommandPool: r.pool,
		Level: vk.CommandBufferLevelPrimary, CommandBufferCount: 1}
	defer info.Free()
	list := make([]vk.CommandBuffer, 1)
	if err := failedCall("vkAllocateCommandBuffers", vk.AllocateCommandBuffers(d.device, &info, list)); err != nil {
		return err
	}
	r.commands = list[0]
	fence := vk.FenceCreateInfo{SType: vk.StructureTypeFenceCreateInfo}
	defer fence.Free()
	var end vk.Fence
	if err := failedCall("vkCreateFence", vk.CreateFence(d.device, &fence, nil, &end)); err != nil {
		return err
	}
	r.fence = end
	if dispatches > 0 {
		var s helper.Status
		if r.sets, s = d.helper.Pool(dispatches, max(operands, 1)); s != 0 {
			return failed("vkCreateDescriptorPool", s)
		}
	}
	if r.stamps > 0 {
		info := vk.QueryPoolCreateInfo{SType: vk.StructureTypeQueryPoolCreateInfo, QueryType: vk.QueryTypeTimestamp,
			QueryCount: uint32(r.stamps)}
		defer info.Free()
		var queries vk.QueryPool
		if err := failedCall("vkCreateQueryPool", vk.CreateQueryPool(d.device, &info, nil, &queries)); err != nil {
			return err
		}
		r.queries = queries
	}
	begin := vk.CommandBufferBeginInfo{SType: vk.StructureTypeCommandBufferBeginInfo}
	defer begin.Free()
	if err := failedCall("vkBeginCommandBuffer", vk.BeginCommandBuffer(r.commands, &begin)); err != nil {
		return err
	}
	if r.stamps > 0 {
		vk.CmdResetQueryPool(r.commands, r.queries, 0, uint32(r.stamps))
	}
	return nil
}

// emptyBytes is the size of the buffer that replaces operands left out.
const emptyBytes = 256

// Dispatch records a dispatch of groups workgroups of a pipeline. An operand that is left out is
// replaced by memory that shaders must not touch.
func (r *Recorder) Dispatch(p *Pipeline, operands []Operand, push []uint32, groups [3]int) error {
	if len(operands) != p.operands {
		return fmt.Errorf("a pipeline with %d operands is given %d", p.operands, len(operands))
	}
	if err := r.device.checkDispatch(p, push, groups); err != nil {
		return err
	}
	list := make([]helper.Operand, len(operands))
	for i, o := range operands {
		if o.Buffer == nil {
			if r.empty == nil {
				var err error
				if r.empty, err = r.device.NewBuffer(emptyBytes, Local); err != nil {
					return err
				}
			}
			o = Operand{r.empty, 0, emptyBytes}
		}
		if err := r.device.checkOperand(o); err != nil {
			return fmt.Errorf("operand %d: %w", i, err)
		}
		list[i] = helper.Operand{Buffer: bits(o.Buffer.buffer), Offset: uint64(o.Offset), Bytes: uint64(o.Bytes)}
	}
	set, s := r.device.helper.Set(r.sets, p.layouts.set, list)
	if s != 0 {
		return failed("vkAllocateDescriptorSets", s)
	}
	layout := handle[vk.PipelineLayout](p.layouts.pipeline)
	vk.CmdBindPipeline(r.commands, vk.PipelineBindPointCompute, p.pipeline)
	vk.CmdBindDescriptorSets(r.commands, vk.PipelineBindPointCompute, layout, 0, 1,
		[]vk.DescriptorSet{handle[vk.DescriptorSet](set)}, 0, nil)
	if len(push) > 0 {
		vk.CmdPushConstants(r.commands, layout, vk.ShaderStageFlags(vk.ShaderStageComputeBit), 0, uint32(4*len(push)),
			unsafe.Pointer(unsafe.SliceData(push)))
	}
	vk.CmdDispatch(r.commands, uint32(groups[0]), uint32(groups[1]), uint32(groups[2]))
	return nil
}

// checkDispatch returns an error if a dispatch does not fit its pipeline or the device.
func (d *Device) checkDispatch(p *Pipeline, push []uint32, groups [3]int) error {
	if 4*len(push) != p.push {
		return fmt.Errorf("a pipeline with %d bytes of push constants is given %d", p.push, 4*len(push))
	}
	for k, n := range groups {
		if most := d.physical.info.Caps.MaxGroups[k]; n < 0 || n > most {
			return fmt.Errorf("a dispatch of %v groups, and the device takes %d along axis %d", groups, most, k)
		}
	}
	return nil
}

// checkOperand returns an error if an operand exceeds its buffer or the device's limits.
func (d *Device) checkOperand(o Operand) error {
	c := &d.physical.info.Caps
	switch {
	case !o.Buffer.holds(o.Offset, o.Bytes):
		return fmt.Errorf("%d bytes from %d on of a buffer of %d", o.Bytes, o.Offset, o.Buffer.bytes)
	case o.Offset%c.OffsetAlign != 0:
		return fmt.Errorf("offset %d is no multiple of %d", o.Offset, c.OffsetAlign)
	case o.Bytes > c.MaxRange:
		return fmt.Errorf("%d bytes, and shaders reach %d", o.Bytes, c.MaxRange)
	}
	return nil
}

// Copy records a copy of n bytes between buffers.
func (r *Recorder) Copy(dst *Buffer, dstAt int, src *Buffer, srcAt, n int) {
	if !dst.holds(dstAt, n) || !src.holds(srcAt, n) {
		r.err = errors.Join(r.err, fmt.Errorf("a copy of %d bytes from %d of %d to %d of %d", n, srcAt, src.bytes, dstAt,
			dst.bytes))
		return
	}
	r.device.helper.Copy(bits(r.commands), bits(src.buffer), srcAt, bits(dst.buffer), dstAt, n)
}

// Fill records that n bytes of a buffer are filled with a word. at and n are multiples of 4.
func (r *Recorder) Fill(dst *Buffer, at, n int, word uint32) {
	if !dst.holds(at, n) || at%4 != 0 || n%4 != 0 {
		r.err = errors.Join(r.err, fmt.Errorf("a fill of %d bytes from %d of %d", n, at, dst.bytes))
		return
	}
	vk.CmdFillBuffer(r.commands, dst.buffer, vk.DeviceSize(at), vk.DeviceSize(n), word)
}

// Barrier makes the writes of earlier shaders and copies visible to later ones and to the host.
func (r *Recorder) Barrier() { r.device.helper.Barrier(bits(r.commands)) }

// Timestamp records the time at which all commands recorded before it have ended.
func (r *Recorder) Timestamp() {
	if r.stamped == r.stamps {
		r.err = errors.Join(r.err, fmt.Errorf("more than %d timestamps", r.stamps))
		return
	}
	vk.CmdWriteTimestamp(r.commands, vk.PipelineStageBottomOfPipeBit, r.queries, uint32(r.stamped))
	r.stamped++
}

// End ends the recording. It also returns the errors of copies, fills and timestamps.
func (r *Recorder) End() error {
	err := failedCall("vkEndCommandBuffer", vk.EndCommandBuffer(r.commands))
	r.device.instance.check()
	r.err = errors.Join(r.err, err)
	return r.err
}

// The duration of a wait, and the number of waits after which a device counts as hung.
const (
	waitTime  = 1e9 // nanoseconds
	mostWaits = 600
)

var errHung = fmt.Errorf("the device did not end its work in %d seconds: %w", mostWaits, ErrLost)

// Run submits the commands and waits until they end.
func (r *Recorder) Run() error {
	d := r.device
	if r.err != nil {
		return r.err
	}
	if d.hung.Load() {
		return errHung
	}
	d.queue.Lock()
	s := d.helper.Submit(bits(r.commands), bits(r.fence))
	d.queue.Unlock()
	if s != 0 {
		return failed("vkQueueSubmit", s)
	}
	for range mostWaits {
		s = d.helper.Wait(bits(r.fence), waitTime)
		if vk.Result(s) != vk.Timeout {
			d.instance.check()
			return failed("vkWaitForFences", s)
		}
	}
	d.hung.Store(true)
	return errHung
}

// Times returns the timestamps of the last run in nanoseconds.
func (r *Recorder) Times() ([]int64, error) {
	list := make([]uint64, r.stamped)
	if len(list) == 0 {
		return nil, nil
	}
	flags := vk.QueryResultFlags(vk.QueryResult64Bit | vk.QueryResultWaitBit)
	err := failedCall("vkGetQueryPoolResults", vk.GetQueryPoolResults(r.device.device, r.queries, 0, uint32(len(list)),
		uint(8*len(list)), unsafe.Pointer(unsafe.SliceData(list)), 8, flags))
	times := make([]int64, len(list))
	for i, t := range list {
		times[i] = int64(float64(t) * r.device.physical.info.Caps.TimestampPeriod)
	}
	return times, err
}

// Free frees the recorder. Its commands must not be running.
func (r *Recorder) Free() {
	if r.device.hung.Load() {
		return
	}
	d := r.device.device
	if r.queries != nil {
		vk.DestroyQueryPool(d, r.queries, nil)
	}
	if r.sets != 0 {
		vk.DestroyDescriptorPool(d, handle[vk.DescriptorPool](r.sets), nil)
	}
	if r.fence != nil {
		vk.DestroyFence(d, r.fence, nil)
	}
	if r.pool != nil {
		vk.DestroyCommandPool(d, r.pool, nil)
	}
	if r.empty != nil {
		r.empty.Free()
	}
	r.device.instance.check()
}
