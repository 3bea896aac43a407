package vulkan

import (
	"math"
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// chunk is commands that are submitted together.
type chunk struct {
	commands []int // in the order in which they are recorded
	faults   []int // of these commands
	recorder *vk.Recorder
}

// submission returns the bounds of one submission: its dispatches, and their multiply-adds. Drivers
// of phones give up on submissions that take long, and a run is cancelled only between two.
func (d *Device) submission() (dispatches, work int) {
	if d.info.Type == "discrete" {
		return 1 << 13, int(min(int64(1)<<36, math.MaxInt))
	}
	return 100, 1 << 30
}

// record records the commands in chunks. If timed, commands are in the plan's order, and each gets
// a timestamp.
func (s *segment) record(timed bool) (list []*chunk, err error) {
	defer func() {
		if err != nil {
			freeChunks(list)
		}
	}()
	order := s.order
	if timed {
		order = make([]int, len(s.commands))
		for i := range order {
			order[i] = i
		}
	}
	for len(order) > 0 {
		n := s.chunkLen(order)
		c := &chunk{commands: order[:n]}
		list = append(list, c)
		if err := s.recordChunk(c, len(list) == 1, timed); err != nil {
			return list, err
		}
		order = order[n:]
	}
	return list, nil
}

// chunkLen returns the number of commands of the chunk at the start of order.
func (s *segment) chunkLen(order []int) int {
	mostDispatches, mostWork := s.acc.dev.submission()
	dispatches, work := 0, 0
	for n, i := range order {
		if k := s.commands[i].kernel; k != nil {
			dispatches++
			work += k.work
		}
		if n > 0 && (dispatches > mostDispatches || work > mostWork) {
			return n
		}
	}
	return len(order)
}

func (s *segment) recordChunk(c *chunk, first, timed bool) (err error) {
	operands, stamps := 0, 0
	for _, i := range c.commands {
		operands += len(s.commands[i].operands)
	}
	if timed {
		stamps = len(c.commands) + 1
	}
	if c.recorder, err = s.acc.dev.dev.NewRecorder(len(c.commands), operands, stamps); err != nil {
		return err
	}
	if first {
		s.copyConstants(c.recorder)
	}
	for n, i := range c.commands {
		if n > 0 && (timed || s.levels[i] != s.levels[c.commands[n-1]]) {
			c.recorder.Barrier()
		}
		if timed {
			c.recorder.Timestamp()
		}
		if err := s.command(c.recorder, &s.commands[i], timed); err != nil {
			return err
		}
	}
	s.copyFaults(c)
	if timed {
		c.recorder.Timestamp()
	}
	return c.recorder.End()
}

// command records one command. If timed, further uploads are commands of their own.
func (s *segment) command(r *vk.Recorder, c *command, timed bool) error {
	if c.isGone {
		return nil
	}
	if t := c.copy; t != nil {
		o := c.operands[0]
		if !t.up {
			r.Copy(s.staging, t.staging, o.Buffer, o.Offset, t.bytes)
			return nil
		}
		list := []vk.Region{{Dst: o.Offset, Src: t.staging, Bytes: t.bytes}}
		for _, i := range c.with {
			if u := &s.commands[i]; !timed {
				list = append(list, vk.Region{Dst: u.operands[0].Offset, Src: u.copy.staging, Bytes: u.copy.bytes})
			}
		}
		r.CopyAll(o.Buffer, s.staging, list)
		return nil
	}
	p, err := s.acc.dev.pipeline(c.kernel)
	if err != nil {
		return err
	}
	return r.Dispatch(p, s.acc.dev.reached(c.operands), c.push, c.kernel.groups)
}

// reached returns the operands as dispatches bind them. Many devices check no bounds: a shader that
// leaves its operand reads and writes what is beside it. Drivers in software do check, so wide
// devices show tests the same.
func (d *Device) reached(operands []vk.Operand) []vk.Operand {
	if !d.wide {
		return operands
	}
	list := slices.Clone(operands)
	for i := range list {
		if o := &list[i]; o.Buffer != nil {
			o.Bytes = min(o.Buffer.Bytes()-o.Offset, d.info.Caps.MaxRange)
		}
	}
	return list
}

func freeChunks(list []*chunk) {
	for _, c := range list {
		if c.recorder != nil {
			c.recorder.Free()
		}
	}
}
