//go:build !cgo && !js

package wazero

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/bindings/internal/hosted"
)

// Numbers of WebAssembly's binary format.
const (
	sectionTable  = 4
	sectionMemory = 5
	sectionGlobal = 6
	sectionExport = 7

	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3

	typeI32     = 0x7f
	typeFuncref = 0x70
	opI32Const  = 0x41
	opEnd       = 0x0b
)

// environment returns a module, named env, that exports what the module of kernels imports: a memory of
// fixed pages, a table, and the globals with the module's places in them. Functions of Go can provide
// functions only.
func environment(pages int, layout hosted.Layout) []byte {
	memory := append([]byte{1}, limits(pages, pages)...)
	table := append([]byte{1, typeFuncref}, limits(1+layout.Table, 1+layout.Table)...)
	globals := []byte{3}
	exports := append([]byte{5}, export("memory", kindMemory, 0)...)
	exports = append(exports, export("__indirect_function_table", kindTable, 0)...)
	for i, g := range []struct {
		name    string
		mutable byte
		value   int
	}{
		{"__stack_pointer", 1, layout.Data}, {"__memory_base", 0, layout.Data}, {"__table_base", 0, 1},
	} {
		globals = append(globals, typeI32, g.mutable, opI32Const)
		globals = append(append(globals, signed(g.value)...), opEnd)
		exports = append(exports, export(g.name, kindGlobal, i)...)
	}
	m := []byte("\x00asm\x01\x00\x00\x00")
	const name = "\x04name\x00\x04\x03env" // the section of names: the module's
	m = append(m, 0, byte(len(name)))
	m = append(m, name...)
	for _, s := range []struct {
		id   byte
		body []byte
	}{{sectionTable, table}, {sectionMemory, memory}, {sectionGlobal, globals}, {sectionExport, exports}} {
		m = append(m, s.id)
		m = append(append(m, unsigned(len(s.body))...), s.body...)
	}
	return m
}

func limits(least, most int) []byte {
	return append(append([]byte{1}, unsigned(least)...), unsigned(most)...)
}

func export(name string, kind byte, index int) []byte {
	b := append(unsigned(len(name)), name...)
	return append(append(b, kind), unsigned(index)...)
}

// unsigned returns n, and signed a positive n, in LEB128.
func unsigned(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func signed(n int) (b []byte) {
	for n >= 1<<6 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}
