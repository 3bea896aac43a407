package cpu

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// row is one way in which the device computes the operators of one Go type.
type row = device.Row[*binder]

// rowFor returns a row for operators of type T. Bind adds commands to the step or refuses.
func rowFor[T op.Op](name string, bind func(o T, b *binder) error) row {
	return device.RowFor(name, bind)
}

// rowsOf returns the rows for a node, best first.
func rowsOf(b *device.Binding) []row {
	rows := byType().For(b.Op)
	if b.OnlyNumbers() {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.Texts })
}

// binder makes the step of one node.
type binder struct {
	*device.Binding
	dev      *Device
	step     *device.Step
	skip     map[string]int   // by op: how many fitting kernels to pass over
	replaced []device.Operand // by input: the operand that replaces it; nil for no replacements

	unsized bool  // Shape or OutShape was asked for extents that are not numbers
	failed  error // see Note
}

// Note keeps the first error that is not nil. Commands, and the step, then fail with it.
func (b *binder) Note(err error) {
	if b.failed == nil {
		b.failed = err
	}
}

// Shape is device.Binding.Shape. If extents are not numbers, the step is refused.
func (b *binder) Shape(i int) tensor.Shape {
	s := b.Binding.Shape(i)
	b.unsized = b.unsized || s == nil && b.Has(i)
	return s
}

// OutShape is Shape of output i.
func (b *binder) OutShape(i int) tensor.Shape {
	s := b.Binding.OutShape(i)
	b.unsized = b.unsized || s == nil && b.Wants(i)
	return s
}

// words holds the words of a command, in the order of the C struct that reads them.
type words []graph.Dim

// int appends integers: sizes, strides, flags. Its first call allocates for the words of most
// commands.
func (w *words) int(list ...int) {
	if *w == nil {
		*w = make(words, 0, 32)
	}
	for _, n := range list {
		*w = append(*w, graph.Known(n))
	}
}

// dim appends extents. They may be expressions over lengths.
func (w *words) dim(list ...graph.Dim) { *w = append(*w, list...) }

// typeWord returns the word for an element type, its number in csrc/core/dtypes.inc. An operand
// that is left out has type float32.
func typeWord(d tensor.DType) int {
	if d == tensor.Invalid {
		d = tensor.F32
	}
	return int(d)
}

// dtype appends element types.
func (w *words) dtype(list ...tensor.DType) {
	for _, d := range list {
		w.int(typeWord(d))
	}
}

// float appends a number as a double.
func (w *words) float(list ...float64) {
	for _, f := range list {
		*w = append(*w, graph.Known(int(math.Float64bits(f))))
	}
}

// bool appends 1 or 0.
func (w *words) bool(list ...bool) {
	for _, b := range list {
		n := 0
		if b {
			n = 1
		}
		*w = append(*w, graph.Known(n))
	}
}

// part appends kernels that the command calls; the zero Kernel for none.
func (w *words) part(list ...bindings.Kernel) {
	for _, k := range list {
		*w = append(*w, graph.Known(int(k.Word())))
	}
}

// fixed reports whether all words are numbers.
func (w words) fixed() bool {
	return !slices.ContainsFunc(w, func(d graph.Dim) bool { return !d.IsKnown() })
}

// numbers evaluates the words for the greatest lengths.
func (b *binder) numbers(w words) ([]int64, error) {
	if b.failed != nil {
		return nil, b.failed
	}
	list := make([]int64, len(w))
	for i, d := range w {
		n, ok := b.Max(d)
		if !ok {
			return nil, device.Refuse("extent %v is not known", d)
		}
		list[i] = int64(n)
	}
	return list, nil
}

// kernel returns the best kernel of an op within the session's levels, for use as a part. It notes
// the error if there is none.
func (b *binder) kernel(op string) bindings.Kernel {
	k, err := b.find(op)
	b.Note(err)
	return k
}

// find is kernel with the error as a result.
func (b *binder) find(op string) (bindings.Kernel, error) {
	if b.skip[op] == 0 {
		return bindings.Select(op, b.dev.isa)
	}
	skip := b.skip[op]
	var last bindings.Kernel
	for _, k := range bindings.Variants(op) {
		if !k.IsPart() || k.ISA()&^b.dev.isa != 0 || k.IsSamePart(last) {
			continue
		}
		last = k
		if skip == 0 {
			return k, nil
		}
		skip--
	}
	return bindings.Kernel{}, device.Refuse("no other kernel %s", op)
}

// tiles returns the best kernel of f32_gemm that computes all products. Kernels that multiply by
// its tiles, or pack operands for them, call it as a part.
func (b *binder) tiles() bindings.Kernel {
	const op = "f32_gemm"
	skip := b.skip[op]
	var last bindings.Kernel
	for _, k := range bindings.Variants(op) {
		if !k.IsPart() || !k.TakesAll() || k.ISA()&^b.dev.isa != 0 || k.IsSamePart(last) {
			continue
		}
		last = k
		if skip == 0 {
			return k
		}
		skip--
	}
	b.Note(device.Refuse("no other kernel %s", op))
	return bindings.Kernel{}
}

// choose returns the best kernel of an op within the session's levels that fits the words.
func (b *binder) choose(op string, w words) (bindings.Kernel, error) {
	list, err := b.numbers(w)
	if err != nil {
		return bindings.Kernel{}, err
	}
	return b.chooseFor(op, w.fixed(), func(bindings.Kernel) []int64 { return list })
}

// chooseFor is choose with words that depend on the kernel. fixed tells whether they are numbers.
func (b *binder) chooseFor(op string, fixed bool, words func(k bindings.Kernel) []int64) (bindings.Kernel, error) {
	found, skip := false, b.skip[op]
	for _, k := range bindings.Variants(op) {
		if !k.IsCommand() || k.ISA()&^b.dev.isa != 0 {
			continue
		}
		found = true
		if k.IsExact() && !fixed || !k.Fits(words(k)) {
			continue
		}
		if skip == 0 {
			return k, nil
		}
		skip--
	}
	if !found {
		return bindings.Kernel{}, fmt.Errorf("no kernel %q for instruction-set levels %s", op, b.dev.isa)
	}
	return bindings.Kernel{}, device.Refuse("no variant of kernel %s fits", op)
}

// chooseWith returns the best kernel of an op that computes products by a part, and the part: the
// first kernel of the ops products with which the command fits. with returns the words with a part.
// varies tells that products of a run may be smaller than the words say.
func (b *binder) chooseWith(
	op string, varies bool, with func(part bindings.Kernel) words, products ...string,
) (k, part bindings.Kernel, err error) {
	return b.choosePart(op, varies, with, func(w words) (bindings.Kernel, error) { return b.choose(op, w) }, products...)
}

// choosePart is chooseWith for a kernel that choose returns for words with a part.
func (b *binder) choosePart(
	op string, varies bool, with func(part bindings.Kernel) words, choose func(w words) (bindings.Kernel, error), products ...string,
) (k, part bindings.Kernel, err error) {
	for _, name := range products {
		skip := b.skip[name]
		for _, part = range bindings.Variants(name) {
			if !part.IsPart() || part.ISA()&^b.dev.isa != 0 {
				continue
			}
			w := with(part)
			if part.IsExact() && (varies || !w.fixed()) {
				continue
			}
			k, err = choose(w)
			var refusal *device.Refusal
			switch {
			case errors.As(err, &refusal):
				continue
			case err != nil || skip == 0:
				return k, part, err
			}
			skip--
		}
	}
	if err == nil {
		err = device.Refuse("no other product for kernel %s", op)
	}
	return bindings.Kernel{}, bindings.Kernel{}, err
}

// packer returns the first kernel within the session's levels that packs constants as a part does,
// so that commands with different parts share packed constants.
func (b *binder) packer(part bindings.Kernel) bindings.Kernel {
	for _, k := range bindings.Variants(part.Op()) {
		if k.IsPart() && k.ISA()&^b.dev.isa == 0 && k.Packing() == part.Packing() {
			return k
		}
	}
	return part
}

// add adds a command to the step. Parts are the kernels that words name; plans print them.
func (b *binder) add(k bindings.Kernel, parts []bindings.Kernel, w words, operands ...device.Operand) error {
	if b.failed != nil {
		return b.failed
	}
	if !k.IsCommand() || len(w) < k.Words() || len(operands) != k.Operands() {
		return fmt.Errorf("%w: kernel %s/%s is given %d words and %d operands", guard.ErrInternal, k.Op(), k.Variant(),
			len(w), len(operands))
	}
	list, err := b.numbers(w)
	if err != nil {
		return err
	}
	c := device.Command{Kernel: k, Words: w, Operands: operands, Scratch: k.Scratch(list, b.dev.threads)}
	for _, p := range parts {
		if p.Valid() {
			c.Parts = append(c.Parts, p)
		}
	}
	b.step.Commands = append(b.step.Commands, c)
	return nil
}

// run chooses a kernel of an op and adds a command of it.
func (b *binder) run(op string, w words, operands ...device.Operand) error {
	k, err := b.choose(op, w)
	if err != nil {
		return err
	}
	return b.add(k, nil, w, operands...)
}

// Input returns input i as an operand, or none if it is left out.
func (b *binder) Input(i int) device.Operand {
	if b.Has(i) && i < len(b.replaced) && b.replaced[i].Place != device.None {
		return b.replaced[i]
	}
	return b.Binding.Input(i)
}

func (b *binder) in(i int) device.Operand  { return b.Input(i) }
func (b *binder) out(i int) device.Operand { return b.Output(i) }

// Step returns the step.
func (b *binder) Step() *device.Step { return b.step }

// Scratch is temp.
func (b *binder) Scratch(n int) device.Operand { return b.temp(n) }

// temp returns n bytes of scratch. They last for all commands of the step.
func (b *binder) temp(n int) device.Operand {
	o := device.Operand{Place: device.Temp, Offset: graph.Known(b.step.Temp)}
	b.step.Temp += device.AlignUp(n)
	return o
}

// constant returns an operand with numbers that the step owns.
func constant[T float32 | float64 | int64 | int32](list ...T) device.Operand {
	if len(list) == 0 {
		return device.Operand{}
	}
	return device.Operand{Place: device.Const,
		Data: unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))}
}

// packed returns constant input i, packed as that operand of a command of kernel k. The words are
// the command's, without the flag for a packed operand. ok is false if the input is not constant or
// the kernel does not pack it.
func (b *binder) packed(i int, k bindings.Kernel, w words, operand int) (o device.Operand, ok bool, err error) {
	data, err := b.packedTensor(b.Const(i), k, w, operand)
	return b.packedOperand(i, data, err)
}

// packedOperand returns data as the packed bytes of constant input i. ok is false if data is nil.
func (b *binder) packedOperand(i int, data []byte, err error) (o device.Operand, ok bool, _ error) {
	if data == nil || err != nil {
		return o, false, err
	}
	b.step.Dropped |= 1 << i
	return device.Operand{Place: device.Packed, Index: i, Data: data}, true, nil
}

// packedTensor returns constant t, packed as that operand of a command of kernel k. It returns nil
// if t is nil or empty, if the kernel does not pack it, or if t moves in and out of memory.
func (b *binder) packedTensor(t *tensor.Tensor, k bindings.Kernel, w words, operand int) ([]byte, error) {
	return b.packedPieces(t, k, w, operand, func(list []int64, _ int) pieces { return whole(k, list, operand) })
}

// packable reports whether t is a constant with elements that stay in memory.
func (b *binder) packable(t *tensor.Tensor) bool {
	return t != nil && t.Len() > 0 && !b.dev.packs.weights.moves(t)
}

// whole packs a constant in one piece.
func whole(k bindings.Kernel, list []int64, operand int) pieces {
	fill := func(t *tensor.Tensor, _, _ int, all []byte) error {
		k.Pack(list, operand, t.Bytes(), all)
		return nil
	}
	return pieces{rows: 1, step: 1, unit: 1, fill: fill, unaligned: k.PacksUnaligned()}
}

// packedPieces is packedTensor for a constant that cut divides into pieces. cut receives the words
// and the number of packed bytes.
func (b *binder) packedPieces(
	t *tensor.Tensor, k bindings.Kernel, w words, operand int, cut func(list []int64, n int) pieces,
) ([]byte, error) {
	if !b.packable(t) {
		return nil, nil
	}
	list, err := b.numbers(w)
	if err != nil {
		return nil, err
	}
	n := k.Packed(list, operand)
	if n == 0 {
		return nil, nil
	}
	key := packKey{packing: k.Packing(), operand: operand,
		words: string(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 8*len(list)))}
	return b.dev.packPieces(t, key, n, cut(list, n))
}
