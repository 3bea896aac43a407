package shaders_test

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/shaders"
)

// capabilities has the features that each SPIR-V capability needs. Shaders may use no other.
var capabilities = map[uint32]shaders.Feature{
	1:    0, // Shader
	9:    shaders.Float16,
	10:   shaders.Float64,
	11:   shaders.Int64,
	22:   shaders.Int16,
	39:   shaders.Int8,
	61:   shaders.Subgroup,
	63:   shaders.SubgroupArithmetic,
	65:   shaders.SubgroupShuffle,
	4433: shaders.Storage16,
	4448: shaders.Storage8,
	6016: shaders.IntDot,
	6017: shaders.IntDot,
	6018: shaders.IntDot,
	6019: shaders.IntDot,
	5116: shaders.CoopBF16,
	5118: shaders.CoopBF16,
	5055: shaders.Clock,
	5345: shaders.CoopMatrix, // the memory model, without which there are no matrices
	6022: shaders.CoopMatrix,
}

// body has the declarations of a module.
type body struct {
	version      uint32
	capabilities []uint32
	constants    []uint32 // ids of specialization constants, in order
	bindings     []uint32 // in order
	push         int      // bytes of the block of push constants
}

// parse reads the instructions of a module.
func parse(t *testing.T, code []uint32) body {
	if len(code) < 5 || code[0] != 0x07230203 {
		t.Fatal("not SPIR-V")
	}
	b := body{version: code[1]}
	m := memory{code: map[uint32][]uint32{}, strides: map[uint32]int{}, offsets: map[[2]uint32]int{}}
	var block uint32
	isBlock := map[uint32]bool{} // by structure; members that are structures are none
	for at := 5; at < len(code); {
		n := int(code[at] >> 16)
		if n == 0 || at+n > len(code) {
			t.Fatalf("instruction of %d words at %d of %d", n, at, len(code))
		}
		op, args := code[at]&0xffff, code[at+1:at+n]
		switch op {
		case 17: // OpCapability
			b.capabilities = append(b.capabilities, args[0])
		case 71: // OpDecorate
			switch args[1] {
			case 1: // SpecId
				b.constants = append(b.constants, args[2])
			case 2: // Block
				isBlock[args[0]] = true
			case 6: // ArrayStride
				m.strides[args[0]] = int(args[2])
			case 33: // Binding
				b.bindings = append(b.bindings, args[2])
			}
		case 72: // OpMemberDecorate
			if args[2] == 35 { // Offset
				m.offsets[[2]uint32{args[0], args[1]}] = int(args[3])
			}
		case 21, 22, 23, 28, 30: // OpTypeInt, Float, Vector, Array, Struct
			m.code[args[0]] = append([]uint32{op}, args[1:]...)
		case 43: // OpConstant
			m.code[args[1]] = append([]uint32{op}, args[2:]...)
		case 32: // OpTypePointer
			if args[1] == 9 && isBlock[args[2]] { // PushConstant
				block = args[2]
			}
		}
		at += n
	}
	slices.Sort(b.constants)
	b.constants = slices.Compact(b.constants)
	slices.Sort(b.bindings)
	if block != 0 {
		b.push = m.size(block)
	}
	return b
}

// memory has the types of a module with their strides and offsets.
type memory struct {
	code    map[uint32][]uint32 // opcode and arguments after the result
	strides map[uint32]int
	offsets map[[2]uint32]int // by structure and member
}

func (m *memory) size(id uint32) int {
	switch c := m.code[id]; c[0] {
	case 23:
		return m.size(c[1]) * int(c[2])
	case 28:
		return m.strides[id] * int(m.code[c[2]][1])
	case 30:
		last := uint32(len(c) - 2)
		return m.offsets[[2]uint32{id, last}] + m.size(c[1+last])
	default:
		return int(c[1] / 8)
	}
}
