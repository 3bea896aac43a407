//go:build cgo && linux && (amd64 || arm64)

package vulkan

import (
	"errors"
	"fmt"
	"slices"
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
	room     recorderRoom
	stamps   int // timestamps that may be recorded
	stamped  int
	err      error     // error of the calls that return none
	empty    []*Buffer // replace operands that are left out
	left     int       // of these
}

// recorderRoom is the dispatches, operands and timestamps that a recorder's pools have room for.
type recorderRoom struct{ dispatches, operands, stamps int }

// holds reports whether every room is at least the other's.
func (r recorderRoom) holds(o recorderRoom) bool {
	return r.dispatches >= o.dispatches && r.operands >= o.operands && r.stamps >= o.stamps
}

// mostSpare is the most free recorders that a device keeps.
const mostSpare = 8

// NewRecorder returns a recorder for that many dispatches, operands in total, and timestamps. It
// reuses a freed recorder if there is one: its fence and its pools are made once and reset.
func (d *Device) NewRecorder(dispatches, operands, timestamps int) (*Recorder, error) {
	if timestamps > 0 && d.physical.info.Caps.TimestampBits == 0 {
		return nil, errors.New("the device has no timestamps")
	}
	room := recorderRoom{dispatches, max(operands, min(dispatches, 1)), timestamps}
	r := d.spareRecorder(room)
	var err error
	if r == nil {
		r = &Recorder{device: d}
		err = r.make()
	} else {
		err = failedCall("vkResetCommandPool", vk.ResetCommandPool(d.device, r.pool, 0))
	}
	if err == nil {
		err = r.begin(room)
	}
	if err != nil {
		r.destroy()
		return nil, err
	}
	return r, nil
}

// spareRecorder takes a free recorder, one with the given room if possible. Without one it returns
// nil.
func (d *Device) spareRecorder(room recorderRoom) *Recorder {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.spare)
	if n == 0 {
		return nil
	}
	at := max(slices.IndexFunc(d.spare, func(r *Recorder) bool { return r.room.holds(room) }), 0)
	r := d.spare[at]
	d.spare = slices.Delete(d.spare, at, at+1)
	return r
}

// make makes the objects that do not depend on what is recorded.
func (r *Recorder) make() error {
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
	return nil
}

// begin empties the pools, makes those that are too small again, and begins the recording.
func (r *Recorder) begin(room recorderRoom) error {
	d := r.device
	if room.dispatches > r.room.dispatches || room.operands > r.room.operands {
		r.freeSets()
		r.room.dispatches, r.room.operands = room.dispatches, room.operands
		var s helper.Status
		if r.sets, s = d.helper.Pool(room.dispatches, room.operands); s != 0 {
			return failed("vkCreateDescriptorPool", s)
		}
	} else if r.sets != 0 {
		vk.ResetDescriptorPool(d.device, handle[vk.DescriptorPool](r.sets), 0)
	}
	if room.stamps > r.room.stamps {
		r.freeQueries()
		r.room.stamps = room.stamps
		info := vk.QueryPoolCreateInfo{SType: vk.StructureTypeQueryPoolCreateInfo, QueryType: vk.QueryTypeTimestamp,
			QueryCount: uint32(room.stamps)}
		defer info.Free()
		var queries vk.QueryPool
		if err := failedCall("vkCreateQueryPool", vk.CreateQueryPool(d.device, &info, nil, &queries)); err != nil {
			return err
		}
		r.queries = queries
	}
	r.stamps, r.stamped, r.err = room.stamps, 0, nil
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
			var err error
			if o, err = r.leaveOut(); err != nil {
				return err
			}
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

// emptyBytes is the memory that replaces an operand left out, and a multiple of all alignments.
const emptyBytes = 256

// leaveOut returns the memory that replaces an operand left out. The validation layer takes it for
// memory that the dispatch reads or writes, so under it each operand has memory of its own.
func (r *Recorder) leaveOut() (Operand, error) {
	slots := 1
	if r.device.instance.log != nil {
		slots = 256
	}
	if r.left%slots == 0 && (slots > 1 || r.empty == nil) {
		b, err := r.device.NewBuffer(slots*emptyBytes, Local)
		if err != nil {
			return Operand{}, err
		}
		r.empty = append(r.empty, b)
	}
	at := r.left % slots * emptyBytes
	r.left++
	return Operand{r.empty[len(r.empty)-1], at, emptyBytes}, nil
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
	r.CopyAll(dst, src, []Region{{dstAt, srcAt, n}})
}

// CopyAll records copies between two buffers as one command. Regions of dst do not overlap.
func (r *Recorder) CopyAll(dst, src *Buffer, list []Region) {
	regions := make([]helper.Region, len(list))
	for i, x := range list {
		if !dst.holds(x.Dst, x.Bytes) || !src.holds(x.Src, x.Bytes) {
			r.err = errors.Join(r.err, fmt.Errorf("a copy of %d bytes from %d of %d to %d of %d", x.Bytes, x.Src, src.bytes,
				x.Dst, dst.bytes))
			return
		}
		regions[i] = helper.Region{Src: uint64(x.Src), Dst: uint64(x.Dst), Bytes: uint64(x.Bytes)}
	}
	r.device.helper.Copy(bits(r.commands), bits(src.buffer), bits(dst.buffer), regions)
}

// Fill records that n bytes of a buffer are filled with a word. at and n are multiples of 4.
func (r *Recorder) Fill(dst *Buffer, at, n int, word uint32) {
	if !dst.holds(at, n) || at%4 != 0 || n%4 != 0 {
		r.err = errors.Join(r.err, fmt.Errorf("a fill of %d bytes from %d of %d", n, at, dst.bytes))
		return
	}
	vk.CmdFillBuffer(r.commands, dst.buffer, vk.DeviceSize(at), vk.DeviceSize(n), word)
}

// Barrier makes the writes of earlier shaders and copies visible to later ones.
func (r *Recorder) Barrier() { r.device.helper.Barrier(bits(r.commands), false) }

// Timestamp records the time at which all commands recorded before it have ended.
func (r *Recorder) Timestamp() {
	if r.stamped == r.stamps {
		r.err = errors.Join(r.err, fmt.Errorf("more than %d timestamps", r.stamps))
		return
	}
	vk.CmdWriteTimestamp(r.commands, vk.PipelineStageBottomOfPipeBit, r.queries, uint32(r.stamped))
	r.stamped++
}

// End ends the recording. Writes of shaders and copies are visible to the host after a run, and to
// commands that are submitted later. End also returns the errors of copies, fills and timestamps.
func (r *Recorder) End() error {
	r.device.helper.Barrier(bits(r.commands), true)
	err := failedCall("vkEndCommandBuffer", vk.EndCommandBuffer(r.commands))
	r.device.instance.check()
	r.err = errors.Join(r.err, err)
	return r.err
}

// The duration of a wait, the number of waits after which a device counts as hung, and the duration
// of polling before. A wait wakes the process up later than a poll sees the end.
const (
	waitTime  = 1e9 // nanoseconds
	mostWaits = 600
	pollTime  = 150e3 // nanoseconds
)

var errHung = fmt.Errorf("the device did not end its work in %d seconds: %w", mostWaits, ErrLost)

// Run submits the commands and waits until they end.
func (r *Recorder) Run() error {
	if err := r.Submit(); err != nil {
		return err
	}
	return r.Wait()
}

// Submit submits the commands. They start after all commands submitted before. Wait must follow.
func (r *Recorder) Submit() error {
	d := r.device
	if r.err != nil {
		return r.err
	}
	if d.hung.Load() {
		return errHung
	}
	d.queue.Lock()
	defer d.queue.Unlock()
	return failed("vkQueueSubmit", d.helper.Submit(bits(r.commands), bits(r.fence)))
}

// Wait waits until the submitted commands end. It polls first, unless the device is a CPU, which
// then needs the processor itself.
func (r *Recorder) Wait() error {
	d, poll := r.device, int64(pollTime)
	if d.physical.info.Type == "cpu" {
		poll = 0
	}
	for range mostWaits {
		s := d.helper.Wait(bits(r.fence), poll, waitTime)
		if vk.Result(s) != vk.Timeout {
			d.instance.check()
			return failed("vkWaitForFences", s)
		}
		poll = 0
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

// Free frees the recorder, for reuse by NewRecorder. Its commands must not be running.
func (r *Recorder) Free() {
	d := r.device
	d.mu.Lock()
	keep := len(d.spare) < mostSpare && r.err == nil
	if keep {
		d.spare = append(d.spare, r)
	}
	d.mu.Unlock()
	if !keep {
		r.destroy()
	}
}

func (r *Recorder) destroy() {
	if r.device.hung.Load() {
		return
	}
	d := r.device.device
	r.freeQueries()
	r.freeSets()
	if r.fence != nil {
		vk.DestroyFence(d, r.fence, nil)
	}
	if r.pool != nil {
		vk.DestroyCommandPool(d, r.pool, nil)
	}
	for _, b := range r.empty {
		b.Free()
	}
	r.device.instance.check()
}

func (r *Recorder) freeSets() {
	if r.sets != 0 {
		vk.DestroyDescriptorPool(r.device.device, handle[vk.DescriptorPool](r.sets), nil)
		r.sets = 0
	}
}

func (r *Recorder) freeQueries() {
	if r.queries != nil {
		vk.DestroyQueryPool(r.device.device, r.queries, nil)
		r.queries = nil
	}
}
