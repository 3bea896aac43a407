package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convWeights returns constant input i of a convolution as kernel k reads it, packed for these words
// without changing a number. If the input derives from codes, the operand is scratch memory, and a
// command that decodes the codes in that order is added. ok is as for packed.
func (b *binder) convWeights(i int, k bindings.Kernel, w words) (o device.Operand, ok bool, err error) {
	codes := kit.CodesOf(b.Const(i))
	if codes == nil {
		return b.packed(i, k, w, weightsOperand)
	}
	list, err := b.numbers(w)
	if err != nil {
		return o, false, err
	}
	if n := k.Packed(list, weightsOperand); n > 0 {
		o, ok, err = b.decoded(i, codes, n/4, packKey{packing: k.Packing(), operand: weightsOperand, words: fmt.Sprint("codes ", list)},
			func(index []byte, order []byte) {
				k.Pack(list, weightsOperand, index, order)
			})
	}
	if ok || err != nil {
		return o, ok, err
	}
	return b.packed(i, k, w, weightsOperand)
}

// weightsOperand is the operand of a convolution, or of a product, with its weights.
const weightsOperand = 1

// transformedWeights is convWeights for kernel k of f32_conv_winograd, which reads transformed
// weights. Codes are decoded in their own order, and then transformed in each run.
func (b *binder) transformedWeights(i int, k bindings.Kernel, v *blockedConvWords) (o device.Operand, ok bool, err error) {
	codes := kit.CodesOf(b.Const(i))
	if codes == nil {
		return b.packed(i, k, v.weights(), weightsOperand)
	}
	plain, ok, err := b.decoded(i, codes, codes.Codes.Len(), packKey{words: "codes"}, func(index, order []byte) { copy(order, index) })
	if err != nil {
		return o, false, err
	}
	if !ok {
		return b.packed(i, k, v.weights(), weightsOperand)
	}
	list, err := b.numbers(v.weights())
	if err != nil {
		return o, false, err
	}
	o = b.temp(k.Packed(list, weightsOperand))
	return o, true, b.run("f32_winograd_weights", v.words(), plain, o)
}

// decoded adds a command that makes n floats in scratch memory from constant input i, codes. order
// writes numbers of 32 bits as a kernel packs the weights: index has one for each weight. ok is false
// if the codes would not take much less memory than the floats.
func (b *binder) decoded(i int, codes *kit.Codes, n int, key packKey, order func(index, order []byte)) (o device.Operand, ok bool, err error) {
	t := b.Const(i)
	if !b.packable(t) || n > math.MaxInt32 {
		return o, false, nil
	}
	key.data = t.Identity()
	data, err := b.dev.packs.keep(key, t, func() ([]byte, error) {
		defer b.dev.stages.Begin("pack")()
		return b.dev.packCodes(codes, n, order)
	})
	packed, ok, err := b.packedOperand(i, data, err)
	if err != nil || !ok {
		return o, false, err
	}
	o = b.temp(tensor.F32.Bytes(n))
	return o, true, b.run("f32_conv_weights", words{}, packed, o)
}

// packCodes returns codes as n floats in that order, in the form of csrc/conv/codes.h, or nil if
// they take more than half the memory of the floats.
func (d *Device) packCodes(codes *kit.Codes, n int, order func(index, order []byte)) ([]byte, error) {
	index, list := bindings.Alloc(4*codes.Codes.Len()), bindings.Alloc(4*n)
	defer bindings.Free(index)
	defer bindings.Free(list)
	if index == nil || list == nil {
		return nil, graph.Errorf(graph.ErrMemory, "no memory to order %d codes", n)
	}
	for i := range codes.Codes.Len() {
		binary.NativeEndian.PutUint32(index[4*i:], uint32(i+1))
	}
	clear(list) // kernels may leave gaps
	order(index, list)
	s := newCodeSpread(codes, unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(list))), n))
	size := s.size()
	if size > 4*n/2 {
		return nil, nil
	}
	if err := d.made.Bytes(int64(size)); err != nil {
		return nil, graph.Errorf(graph.ErrMemory, "rearranging a constant of %d codes: %w; the option MemoryLimit sets the limit", n, err)
	}
	out, err := allocPack(size)
	if err == nil {
		s.write(out)
	}
	codes.Codes.Forget()
	return out, err
}

// codeRun is nacre_code_run of csrc/conv/codes.h.
type codeRun struct{ at, n, period, scale, code uint32 }

const (
	codeLanes  = 16      // NACRE_CODES_LANES of csrc/conv/codes.h
	mostPeriod = 128     // NACRE_CODES_PERIOD
	mostRun    = 1 << 14 // weights of a run, so that threads share them
	codeHeader = 40      // bytes of nacre_codes
)

// codeSpread is codes in an order of weights, divided into runs. Weights at places without a code
// are 0.
type codeSpread struct {
	codes *kit.Codes
	from  []int32 // by place: the index of its code and 1, or 0 for none
	scale []int32 // by code: the index of its scale

	runs   []codeRun
	repeat []int32           // the indices of scales, or -1 for 0, that runs repeat
	known  map[string]uint32 // places in repeat, by contents
	units  int               // of 16 bytes of codes
}

func newCodeSpread(codes *kit.Codes, from []int32) *codeSpread {
	s := &codeSpread{codes: codes, from: from, scale: make([]int32, codes.Codes.Len()), known: map[string]uint32{}}
	codes.Each(func(at, n, scale, step int) {
		for i := range n {
			s.scale[at+i] = int32(scale + i*step)
		}
	})
	for at := 0; at < len(from); {
		at = s.run(at)
	}
	return s
}

// of returns the index of the scale at a place, or -1 for none.
func (s *codeSpread) of(place int) int32 {
	if i := s.from[place]; i > 0 {
		return s.scale[i-1]
	}
	return -1
}

// run adds the longest run from a place on, in parts of about mostRun, and returns its end.
func (s *codeSpread) run(at int) int {
	list := make([]int32, s.period(at))
	for i := range list {
		list[i] = -1
	}
	end, lane := at, 0
	for ; end < len(s.from); end++ {
		if of := s.of(end); of >= 0 {
			if list[lane] >= 0 && list[lane] != of {
				break
			}
			list[lane] = of
		}
		if lane++; lane == len(list) {
			lane = 0
		}
	}
	scale, step := s.add(list), mostRun/len(list)*len(list)
	per := codeLanes * 8 / kit.CodeBits(s.codes.Codes.DType())
	for ; at < end; at += step {
		n := min(step, end-at)
		s.runs = append(s.runs, codeRun{uint32(at), uint32(n), uint32(len(list)), scale, uint32(s.units)})
		s.units += (n + per - 1) / per
	}
	return end
}

// period returns after how many places the scale of the first code from a place on comes again, or
// codeLanes if that is too far.
func (s *codeSpread) period(at int) int {
	first := at
	for first < len(s.from) && s.from[first] == 0 {
		first++
	}
	for p := first + 1; p < min(len(s.from), first+1+mostPeriod); p++ {
		if s.of(p) == s.of(first) {
			return p - first
		}
	}
	return codeLanes
}

// add returns the place of a list in repeat.
func (s *codeSpread) add(list []int32) uint32 {
	key := string(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list)))
	at, ok := s.known[key]
	if !ok {
		at = uint32(len(s.repeat))
		s.known[key] = at
		s.repeat = append(s.repeat, list...)
	}
	return at
}

// offsets returns where scales, zero points and codes begin, and the end.
func (s *codeSpread) offsets() (scales, zeros, codes, end int) {
	scales = codeHeader + len(s.runs)*int(unsafe.Sizeof(codeRun{}))
	zeros = scales + 4*len(s.repeat)
	codes = device.AlignUp(zeros + len(s.repeat))
	return scales, zeros, codes, codes + s.units*codeLanes
}

// size returns the bytes that write writes.
func (s *codeSpread) size() int {
	_, _, _, end := s.offsets()
	return end
}

// write writes the form of csrc/conv/codes.h.
func (s *codeSpread) write(to []byte) {
	clear(to)
	scales, zeros, codes, _ := s.offsets()
	d := s.codes.Codes.DType()
	bits := kit.CodeBits(d)
	for i, v := range []int{len(s.runs), bits, scales, zeros, codes} {
		binary.NativeEndian.PutUint64(to[8*i:], uint64(v))
	}
	copy(unsafe.Slice((*codeRun)(unsafe.Pointer(&to[codeHeader])), len(s.runs)), s.runs)
	// Codes of 8 bits become signed, others unsigned.
	flip, mask := byte(0), byte(1<<bits-1)
	if (d.Kind() == tensor.Signed) != (bits == 8) {
		flip = 1 << (bits - 1)
	}
	numbers, points := s.codes.Numbers()
	zero := func(scale int32) byte { return (byte(points[scale]) ^ flip) & mask }
	for i, scale := range s.repeat {
		if scale >= 0 {
			binary.NativeEndian.PutUint32(to[scales+4*i:], math.Float32bits(numbers[scale]))
			to[zeros+i] = zero(scale)
		}
	}
	data, per := s.codes.Codes.Bytes(), 8/bits
	for _, r := range s.runs {
		list := s.repeat[r.scale:][:r.period]
		for i := range int(r.n) {
			code := byte(0)
			if from := int(s.from[int(r.at)+i]) - 1; from >= 0 {
				at := from * bits
				code = (data[at/8]>>(at%8) ^ flip) & mask
			} else if scale := list[i%len(list)]; scale >= 0 {
				code = zero(scale)
			}
			line := i / codeLanes
			to[codes+(int(r.code)+line/per)*codeLanes+i%codeLanes] |= code << (line % per * bits)
		}
	}
}
