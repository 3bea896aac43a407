package vulkan

import (
	"encoding/binary"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// faultIndex is the index of a Const operand for a word in which a shader notes a fault. The
// operand's data is the message.
const faultIndex = -1

// faultBytes is the size of the word.
const faultBytes = 4

// fault returns an operand for a word that starts as 0. If elements make the run fail, the shader
// sets it to the complement of the first such element's number. The message has %d for that number.
func (b *binder) fault(message string) device.Operand {
	return device.Operand{Place: device.Const, Index: faultIndex, Data: []byte(message)}
}

// faults is the words of a segment's fault operands, side by side in the device's memory. One copy
// brings them all to staging memory.
type faults struct {
	memory *Memory
	list   []fault // in the order of commands
	stride int     // bytes from word to word
	staged int     // offset of the copy in staging memory
}

// fault is the word of a fault operand.
type fault struct {
	command int // that notes it
	owner   int // the given command that it is an error of
	message string
}

// operand returns the word of fault i.
func (f *faults) operand(i int) vk.Operand { return f.memory.operand(f.stride*i, faultBytes) }

// index returns the fault whose word an operand is. It reports false if it is none.
func (f *faults) index(o vk.Operand) (i int, ok bool) {
	if len(f.list) == 0 || !contains(f.memory.operand(0, f.bytes()), o) {
		return 0, false
	}
	return (o.Offset - f.memory.at) / f.stride, true
}

// bytes is the size of all words.
func (f *faults) bytes() int { return f.stride * len(f.list) }

// makeFaults makes memory for the words of all faults. They are 0 between runs.
func (s *segment) makeFaults() error {
	f := &s.faults
	f.stride = max(faultBytes, s.acc.dev.info.Caps.OffsetAlign)
	if len(f.list) == 0 || f.memory != nil && f.memory.bytes >= f.bytes() {
		return nil
	}
	if f.memory != nil {
		f.memory.Free()
	}
	var err error
	if f.memory, err = s.acc.dev.pool.alloc(f.bytes()); err != nil {
		return err
	}
	return s.clearFaults()
}

// copyFaults records the copy of the words to staging memory, if commands of the chunk have any.
func (s *segment) copyFaults(c *chunk) {
	in := make([]bool, len(s.commands))
	for _, i := range c.commands {
		in[i] = true
	}
	for i, f := range s.faults.list {
		if in[f.command] {
			c.faults = append(c.faults, i)
		}
	}
	if len(c.faults) > 0 {
		c.recorder.Barrier()
		o := s.faults.memory.operand(0, s.faults.bytes())
		c.recorder.Copy(s.staging, s.faults.staged, o.Buffer, o.Offset, o.Bytes)
	}
}

// failed returns the given command of the chunk's first fault that a shader noted, with its error.
func (s *segment) failed(c *chunk) (owner int, err error) {
	for _, i := range c.faults {
		word := binary.LittleEndian.Uint32(s.staging.Host()[s.faults.staged+s.faults.stride*i:])
		if word != 0 {
			f := &s.faults.list[i]
			return f.owner, graph.Errorf(graph.ErrShape, f.message, int32(^word))
		}
	}
	return 0, nil
}

// clearFaults sets the words of all faults to 0.
func (s *segment) clearFaults() error {
	o := s.faults.memory.operand(0, s.faults.memory.bytes)
	return once(s.acc.dev.dev, func(r *vk.Recorder) { r.Fill(o.Buffer, o.Offset, o.Bytes, 0) })
}
