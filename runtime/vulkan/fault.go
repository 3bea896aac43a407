package vulkan

import (
	"encoding/binary"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// faultIndex is the index of a Const operand that is a word in which a shader notes a fault,
// and whose data is the message.
const faultIndex = -1

// faultBytes is the size of the word.
const faultBytes = 4

// fault is an operand for elements that make a run fail: a word that is 0, of which a shader
// makes the complement of the number of the first such element. The message has %d for
// that number.
func (b *binder) fault(message string) device.Operand {
	return device.Operand{Place: device.Const, Index: faultIndex, Data: []byte(message)}
}

// brought returns the bytes that the device gets of a Const operand.
func brought(o *device.Operand) []byte {
	if o.Index == faultIndex {
		return make([]byte, faultBytes)
	}
	return o.Data
}

// fault is a word of a segment's constants.
type fault struct {
	command int
	at      int // in the constants
	message string
}

// staged returns where staging memory has the copy of fault i.
func (s *segment) staged(i int) int { return s.faultsAt + faultBytes*i }

// copyFaults records that the words of a chunk's faults are copied to staging memory.
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

// failed returns the first command of a chunk that noted a fault, with its error, and
// makes the words of the chunk's faults 0 again.
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

// clearFaults makes the words of all faults 0.
func (s *segment) clearFaults() error {
	clear(s.staging.Host()[s.faultsAt:][:faultBytes*len(s.faults)])
	return once(s.acc.dev.dev, func(r *vk.Recorder) {
		for i, f := range s.faults {
			o := s.constants.operand(f.at, faultBytes)
			r.Copy(o.Buffer, o.Offset, s.staging, s.staged(i), faultBytes)
		}
	})
}
