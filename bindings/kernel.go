package bindings

import "unsafe"

// Kernel is one row of a family's kernels.inc: an implementation of an op.
// The zero Kernel is no kernel.
type Kernel struct{ row *row }

// row is what Go reads of a nacre_kernel and its nacre_entry.
type row struct {
	op, variant string
	isa         ISA
	at          unsafe.Pointer // the nacre_kernel
	fn, pack    uintptr        // functions; 0 for none
	words       int
	operands    int
	panel       int
	command     bool // it has an entry
	exact       bool
	takesAll    bool
	unaligned   bool
}

// Op returns the function that the kernel computes, such as f32_gemm.
func (k Kernel) Op() string { return k.row.op }

// Variant returns the name of the implementation, such as 12x32_avx512; the oracle is scalar.
func (k Kernel) Variant() string { return k.row.variant }

// ISA returns the levels that the kernel needs.
func (k Kernel) ISA() ISA { return k.row.isa }

// Valid reports whether k is a kernel.
func (k Kernel) Valid() bool { return k.row != nil }

// IsCommand reports whether commands can run the kernel. Other kernels are parts only.
func (k Kernel) IsCommand() bool { return k.row.command }

// IsPart reports whether commands of other kernels can call the kernel.
func (k Kernel) IsPart() bool { return k.row.fn != 0 }

// TakesAll reports whether the kernel can compute every command that has its words.
func (k Kernel) TakesAll() bool { return k.row.takesAll }

// IsExact reports whether the kernel is only for commands whose lengths do not vary.
func (k Kernel) IsExact() bool { return k.row.exact }

// IsSamePart reports whether commands that call either kernel call the same function.
func (k Kernel) IsSamePart(other Kernel) bool { return other.row != nil && k.row.fn == other.row.fn }

// Words returns the least number of words of a command, Operands the number of its operands.
func (k Kernel) Words() int    { return k.row.words }
func (k Kernel) Operands() int { return k.row.operands }

// Word returns the kernel as a word of a command that calls it as a part, 0 for the zero Kernel.
func (k Kernel) Word() int64 {
	if k.row == nil {
		return 0
	}
	return int64(address(k.row.at))
}

// Packing identifies how kernels pack constants. Kernels of equal Packing pack alike for the same
// words.
type Packing struct {
	pack, fn uintptr
	panel    int
}

// Packing returns how the kernel packs constants.
func (k Kernel) Packing() Packing {
	p := Packing{pack: k.row.pack, panel: k.row.panel}
	if p.panel == 0 {
		p.fn = k.row.fn
	}
	return p
}

// Panel returns the columns of a panel, if the kernel packs a right matrix as panels of columns that
// follow each other. It returns 0 for another form.
func (k Kernel) Panel() int { return k.row.panel }

// Fits reports whether the kernel can compute a command with these words.
func (k Kernel) Fits(words []int64) bool { return k.row.takesAll || fits(k.row, words) }

// Scratch returns the bytes of scratch that a command needs on that many threads.
func (k Kernel) Scratch(words []int64, threads int) int { return scratch(k.row, words, threads) }

// Packed returns the bytes that Pack writes for a constant operand, 0 if commands take the operand
// unpacked.
func (k Kernel) Packed(words []int64, operand int) int { return packedSize(k.row, words, operand) }

// PacksUnaligned reports whether Pack takes elements at any address.
func (k Kernel) PacksUnaligned() bool { return k.row.unaligned }

// Pack packs operand src, with all that it reads, into dst. dst has Packed bytes at a multiple of 64.
// src is at a multiple of its element size, unless PacksUnaligned reports true.
func (k Kernel) Pack(words []int64, operand int, src, dst []byte) {
	pack(k.row, words, operand, src, dst)
}
