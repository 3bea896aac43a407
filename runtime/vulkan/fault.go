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

// brought returns the bytes of a Const operand that are copied to the device.
func brought(o *device.Operand) []byte {
	if o.Index == faultIndex {
		return make([]byte, faultBytes)
	}
	return o.Data
}

// fault is the word of a fault operand among a segment's constants.
type fault struct {
	command int
	at      int // in the constants
	message string
}

// staged returns the offset of the copy of fault i in staging memory.
func (s *segment) staged(i int) int { return s.faultsAt + faultBytes*i }

// copyFaults records copies of the words of a chunk's faults to staging memory.
func (s *segment) copyFaults(c *chunk) {
	any := false
	for i, f := range s.faults {
		if c.has(f.command) {
			o := s.constants.operand(f.at, faultBytes)
			c.recorder.Copy(s.staging, s.staged(i), o.Buffer, o.Offset, faultBytes)
			any = true
		}
	}
	if any {
		c.recorder.Barrier()
	}
}

// failed returns the command of the chunk's first fault that a shader noted, with its error. It
// then clears the words of all faults.
func (s *segment) failed(c *chunk) (command int, err error) {
	for i, f := range s.faults {
		if !c.has(f.command) {
			continue
		}
		if word := binary.LittleEndian.Uint32(s.staging.Host()[s.staged(i):]); word != 0 && err == nil {
			command, err = f.command, graph.Errorf(graph.ErrShape, f.message, int32(^word))
		}
	}
	if err == nil {
		return 0, nil
	}
	if lost := s.clearFaults(); lost != nil {
		return command, failure(lost)
	}
	return command, err
}

// clearFaults sets the words of all faults to 0.
func (s *segment) clearFaults() error {
	clear(s.staging.Host()[s.faultsAt:][:faultBytes*len(s.faults)])
	return once(s.acc.dev.dev, func(r *vk.Recorder) {
		for i, f := range s.faults {
			o := s.constants.operand(f.at, faultBytes)
			r.Copy(o.Buffer, o.Offset, s.staging, s.staged(i), faultBytes)
		}
	})
}
