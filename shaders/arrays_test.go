package shaders_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/shaders"
)

// inMemory has the kernels whose invocations may index arrays of their own while they run, each with
// its reason. Drivers keep such arrays in memory, and a sum there takes ten times as long.
var inMemory = map[string]string{
	"conv/deform":   "coordinates along one to three axes, each computed once for a tap",
	"reduce/window": "extents and strides of push constants",
	"rnn/cells":     "units of a layer that one invocation updates, a few for each step with barriers",
	"vision/grid":   "taps along one to three axes, each computed once for a pixel",
}

// mostUnrolled is the most instructions of a loop that drivers are trusted to unroll.
const mostUnrolled = 1000

// TestNoIndexedArrays checks that invocations keep their arrays in registers: every index is a
// constant, or counts the turns of a small loop that is to be unrolled.
func TestNoIndexedArrays(t *testing.T) {
	indexed := map[string]bool{}
	each(t, func(t *testing.T, m *shaders.Module) {
		why := slices.Compact(slices.Sorted(slices.Values(readArrays(m.Code).indexed())))
		if len(why) > 0 {
			indexed[m.Kernel.Name] = true
		}
		if _, ok := inMemory[m.Kernel.Name]; !ok && len(why) > 0 {
			t.Errorf("arrays are indexed while the shader runs: %v", why)
		}
	})
	for name := range inMemory {
		if !indexed[name] {
			t.Errorf("%s indexes no array of its own: it needs no exception", name)
		}
	}
}

// instruction is an instruction of SPIR-V. Its place is its number in the module.
type instruction struct {
	op    uint32
	args  []uint32
	place int
}

// loop is a loop of SPIR-V: the places of its header, of its continue target, and of its end.
type loop struct {
	header, next, end int
	unroll            bool
}

// arrays is what decides about the indices of a module.
type arrays struct {
	list   []instruction
	by     map[uint32]*instruction // results
	own    map[uint32]bool         // pointer types of memory of one invocation
	labels map[uint32]int
	loops  []loop
}

// Instructions that the test knows.
const (
	opTypePointer, opVariable, opLoad, opStore       = 32, 59, 61, 62
	opAccessChain, opInBoundsAccessChain             = 65, 66
	opVectorExtractDynamic, opVectorInsertDynamic    = 77, 78
	opPhi, opLoopMerge, opLabel, opBranchConditional = 245, 246, 248, 250
	opParameter                                      = 55
)

// noResult are instructions without a result that have a second argument: of modes and decorations,
// stores, barriers and branches.
var noResult = map[uint32]bool{
	5: true, 6: true, 14: true, 15: true, 16: true, 71: true, 72: true, opStore: true, 63: true, 224: true, 225: true, 228: true,
	opLoopMerge: true, 247: true, 250: true, 251: true, 4458: true,
}

func readArrays(code []uint32) *arrays {
	a := &arrays{by: map[uint32]*instruction{}, own: map[uint32]bool{}, labels: map[uint32]int{}}
	for at := 5; at < len(code); {
		n := int(code[at] >> 16)
		a.list = append(a.list, instruction{code[at] & 0xffff, code[at+1 : at+n], len(a.list)})
		at += n
	}
	header := 0
	for i := range a.list {
		x := &a.list[i]
		switch {
		case x.op == opLabel:
			a.labels[x.args[0]], header = i, i
		case x.op == opTypePointer:
			a.own[x.args[0]] = x.args[1] == 6 || x.args[1] == 7 // Private, Function
		case x.op == opLoopMerge:
			a.loops = append(a.loops, loop{header: header, next: int(x.args[1]), end: int(x.args[0]), unroll: x.args[2]&1 != 0})
		case len(x.args) > 1 && !noResult[x.op]:
			a.by[x.args[1]] = x
		}
	}
	for i, l := range a.loops {
		a.loops[i].next, a.loops[i].end = a.labels[uint32(l.next)], a.labels[uint32(l.end)]
	}
	return a
}

// indexed says which indices of arrays and vectors of an invocation are no constants.
func (a *arrays) indexed() (why []string) {
	for i := range a.list {
		x := &a.list[i]
		var indices []uint32
		switch x.op {
		case opAccessChain, opInBoundsAccessChain:
			if base := a.by[x.args[2]]; base != nil && (base.op == opVariable || base.op == opParameter) && a.own[base.args[0]] {
				indices = x.args[3:]
			}
		case opVectorExtractDynamic:
			indices = x.args[3:]
		case opVectorInsertDynamic:
			indices = x.args[4:]
		}
		for _, id := range indices {
			if reason := a.varies(id, i, map[uint32]bool{}); reason != "" {
				why = append(why, reason)
			}
		}
	}
	return why
}

// varies says why an index at a place is no constant after loops were unrolled; empty if it is one.
func (a *arrays) varies(id uint32, place int, seen map[uint32]bool) string {
	x := a.by[id]
	if x == nil || seen[id] {
		return ""
	}
	seen[id] = true
	operands := x.args[2:]
	switch {
	case x.op >= 41 && x.op <= 52: // constants, also of specialization
		return ""
	case x.op == opPhi:
		own := slices.IndexFunc(a.loops, func(l loop) bool { return l.header < x.place && a.blockOf(x.place) == l.header })
		if own < 0 {
			return "by a value of several blocks"
		}
		if reason := a.loops[own].small(); reason != "" {
			return reason
		}
		operands = nil
		for k := 2; k < len(x.args); k += 2 {
			operands = append(operands, x.args[k])
		}
	case x.op == opLoad:
		for k := len(a.loops) - 1; k >= 0; k-- {
			if l := a.loops[k]; l.header < place && place < l.end && a.counts(l, x.args[2]) {
				return l.small()
			}
		}
		return "by a value from memory"
	case x.op >= 124 && x.op <= 139 || x.op == 169 || x.op >= 194 && x.op <= 200: // arithmetic, selections, bits
	default:
		return fmt.Sprintf("by the result of instruction %d", x.op)
	}
	for _, o := range operands {
		if reason := a.varies(o, place, seen); reason != "" {
			return reason
		}
	}
	return ""
}

// blockOf returns the place of the label of the block that has a place.
func (a *arrays) blockOf(place int) int {
	for place > 0 && a.list[place].op != opLabel {
		place--
	}
	return place
}

// counts reports whether the continue target of a loop stores a variable.
func (a *arrays) counts(l loop, variable uint32) bool {
	for i := l.next + 1; i < len(a.list) && a.list[i].op != opLabel; i++ {
		if a.list[i].op == opStore && a.list[i].args[0] == variable {
			return true
		}
	}
	return false
}

// small says why drivers may not unroll a loop; empty if they are trusted to.
func (l loop) small() string {
	switch {
	case !l.unroll:
		return "by the turns of a loop that is not to be unrolled"
	case l.end-l.header > mostUnrolled:
		return fmt.Sprintf("by the turns of a loop of %d instructions", l.end-l.header)
	}
	return ""
}
