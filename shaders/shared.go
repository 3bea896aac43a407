package shaders

import (
	"fmt"
	"sync"
)

// The instructions of SPIR-V that shared memory depends on.
const (
	opTypeInt           = 21
	opTypeFloat         = 22
	opTypeVector        = 23
	opTypeArray         = 28
	opTypeStruct        = 30
	opTypePointer       = 32
	opConstantTrue      = 41
	opConstantFalse     = 42
	opConstant          = 43
	opConstantComposite = 44
	opSpecTrue          = 48
	opSpecFalse         = 49
	opSpecConstant      = 50
	opSpecComposite     = 51
	opSpecOp            = 52
	opVariable          = 59
	opDecorate          = 71

	specID    = 1 // a decoration
	workgroup = 4 // a storage class
)

// declarations are the instructions of a module by the id that they define.
type declarations struct {
	by        map[uint32][]uint32 // with their first word
	spec      map[uint32]uint32   // numbers of specialization constants
	variables []uint32            // types of variables in shared memory
}

// parsed has the declarations of modules that were asked for.
var parsed sync.Map

// declare returns the declarations of a module.
func declare(code []uint32) *declarations {
	const header = 5
	d := &declarations{by: map[uint32][]uint32{}, spec: map[uint32]uint32{}}
	for at := header; at < len(code); {
		n := int(code[at] >> 16)
		if n == 0 || at+n > len(code) {
			break
		}
		x := code[at : at+n]
		switch op := x[0] & 0xffff; {
		case op == opDecorate && n == 4 && x[2] == specID:
			d.spec[x[1]] = x[3]
		case op == opVariable && x[3] == workgroup:
			d.variables = append(d.variables, x[1])
		case op >= opTypeInt && op <= opTypePointer:
			d.by[x[1]] = x
		case op >= opConstantTrue && op <= opSpecOp:
			d.by[x[2]] = x
		}
		at += n
	}
	return d
}

// SharedBytes returns the bytes of shared memory that a workgroup takes with these specialization
// constants, from number 0 on. Constants that are left out have the module's values.
func (m *Module) SharedBytes(constants []uint32) (bytes int, err error) {
	d, ok := parsed.Load(m)
	if !ok {
		d, _ = parsed.LoadOrStore(m, declare(m.Code))
	}
	e := evaluation{d.(*declarations), constants}
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("shader %s/%s: %v", m.Kernel.Name, m.Variant.Name, x)
		}
	}()
	for _, pointer := range e.variables {
		bytes += e.size(e.by[pointer][3])
	}
	return bytes, nil
}

// evaluation computes constants. It panics for an instruction that it does not know.
type evaluation struct {
	*declarations
	constants []uint32
}

// size returns the bytes of a type.
func (e evaluation) size(id uint32) int {
	x := e.by[id]
	if x == nil {
		return 4 // a boolean
	}
	switch x[0] & 0xffff {
	case opTypeInt, opTypeFloat:
		return int(x[2]) / 8
	case opTypeVector:
		return int(x[3]) * e.size(x[2])
	case opTypeArray:
		return int(e.value(x[3])) * e.size(x[2])
	case opTypeStruct:
		n := 0
		for _, member := range x[2:] {
			n += e.size(member)
		}
		return n
	}
	panic(fmt.Sprintf("the size of a type by instruction %d is not known", x[0]&0xffff))
}

// value returns a constant of 32 bits; booleans are 0 and 1.
func (e evaluation) value(id uint32) uint32 {
	x := e.by[id]
	if x == nil {
		panic(fmt.Sprintf("constant %d is missing", id))
	}
	if k, ok := e.spec[id]; ok && int(k) < len(e.constants) {
		return e.constants[k]
	}
	switch x[0] & 0xffff {
	case opConstantTrue, opSpecTrue:
		return 1
	case opConstantFalse, opSpecFalse:
		return 0
	case opConstant, opSpecConstant:
		return x[3]
	case opSpecOp:
		return e.operation(x[3], x[4:])
	}
	panic(fmt.Sprintf("a constant by instruction %d is not known", x[0]&0xffff))
}

// operations are the instructions of two operands that constants are computed by.
var operations = map[uint32]func(a, b uint32) uint32{
	128: func(a, b uint32) uint32 { return a + b },
	130: func(a, b uint32) uint32 { return a - b },
	132: func(a, b uint32) uint32 { return a * b },
	134: func(a, b uint32) uint32 { return a / max(b, 1) },
	137: func(a, b uint32) uint32 { return a % max(b, 1) },
	166: func(a, b uint32) uint32 { return a | b },
	167: func(a, b uint32) uint32 { return a & b },
	170: func(a, b uint32) uint32 { return truth(a == b) },
	171: func(a, b uint32) uint32 { return truth(a != b) },
	172: func(a, b uint32) uint32 { return truth(a > b) },
	174: func(a, b uint32) uint32 { return truth(a >= b) },
	176: func(a, b uint32) uint32 { return truth(a < b) },
	177: func(a, b uint32) uint32 { return truth(int32(a) < int32(b)) },
	178: func(a, b uint32) uint32 { return truth(a <= b) },
	194: func(a, b uint32) uint32 { return a >> (b & 31) },
	196: func(a, b uint32) uint32 { return a << (b & 31) },
	197: func(a, b uint32) uint32 { return a | b },
	199: func(a, b uint32) uint32 { return a & b },
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// operation returns the result of an instruction on constants.
func (e evaluation) operation(op uint32, operands []uint32) uint32 {
	const compositeExtract, logicalNot, selection = 81, 168, 169
	switch f := operations[op]; {
	case f != nil:
		return f(e.value(operands[0]), e.value(operands[1]))
	case op == logicalNot:
		return 1 - e.value(operands[0])
	case op == selection && e.value(operands[0]) != 0:
		return e.value(operands[1])
	case op == selection:
		return e.value(operands[2])
	case op == compositeExtract && len(operands) == 2:
		if x := e.by[operands[0]]; x != nil && (x[0]&0xffff == opSpecComposite || x[0]&0xffff == opConstantComposite) {
			return e.value(x[3+operands[1]])
		}
	}
	panic(fmt.Sprintf("constant expressions by instruction %d are not known", op))
}
