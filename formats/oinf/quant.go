package oinf

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The keys of the metadata that describes a tensor's quantisation.
const (
	quantScheme    = "quant.scheme"
	quantScale     = "quant.scale"
	quantScaleAxis = "quant.scale_axis"
	quantZero      = "quant.zero_point"
	quantZeroAxis  = "quant.zero_point_axis"
)

// quantLen is the size of a quantisation without its numbers, in bytes.
const quantLen = 48

// The words for the scheme and mode codes of a quantisation.
var (
	schemes = []string{1: "symmetric", 2: "asymmetric"}
	modes   = []string{none: "none", perTensor: "per_tensor", perChannel: "per_channel"}
)

const symmetric = 1

// The modes of scales and zero points.
const (
	none = iota
	perTensor
	perChannel
)

// quant is the quantisation of a tensor as a file stores it.
type quant struct {
	scheme, scaleMode, zeroMode, reserved      uint32
	scaleAxis, scaleCount, zeroAxis, zeroCount uint64
	scales, zeros                              []byte
}

// quantOf reads the quantisation of a tensor with extents dims. at is the offset of the fields size
// and offset. It returns nil if the tensor has no quantisation, and after a problem.
func (r *reader) quantOf(has bool, size, offset uint64, at int, dims []uint64, what string) []graph.Pair {
	if !has {
		if size != 0 || offset != 0 {
			r.Add(at, graph.ErrFormat, "%s has no quantisation, and %d bytes of it at %d", what, size, offset)
		}
		return nil
	}
	what += ": quantisation"
	data, ok := r.payload(offset, size, at+8, what)
	if !ok {
		return nil
	}
	q, err := parseQuant(data)
	if err == nil {
		err = q.check(dims)
	}
	if err != nil {
		r.Add(int(offset), graph.ErrFormat, "%s: %w", what, err)
		return nil
	}
	return q.pairs()
}

func parseQuant(b []byte) (*quant, error) {
	if len(b) < quantLen {
		return nil, fmt.Errorf("it takes at least %d bytes, not %d", quantLen, len(b))
	}
	word, long := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	q := &quant{
		scheme: word(b), scaleMode: word(b[4:]), zeroMode: word(b[8:]), reserved: word(b[12:]),
		scaleAxis: long(b[16:]), scaleCount: long(b[24:]), zeroAxis: long(b[32:]), zeroCount: long(b[40:]),
	}
	room := uint64(len(b)-quantLen) / 4
	if q.scaleCount > room || q.zeroCount > room-q.scaleCount {
		return nil, fmt.Errorf("%d scales and %d zero points in %d bytes", q.scaleCount, q.zeroCount, len(b)-quantLen)
	}
	begin := quantLen + 4*int(q.scaleCount)
	end := begin + 4*int(q.zeroCount)
	if n := padded(uint64(end)); n != uint64(len(b)) {
		return nil, fmt.Errorf("it takes %d bytes, not %d", n, len(b))
	}
	q.scales, q.zeros = b[quantLen:begin:begin], b[begin:end:end]
	return q, nil
}

// check checks the fields of the quantisation of a tensor with extents dims.
func (q *quant) check(dims []uint64) error {
	switch {
	case q.scheme == 0 || q.scheme >= uint32(len(schemes)):
		return fmt.Errorf("scheme %d is not known", q.scheme)
	case q.scaleMode == none || q.scaleMode >= uint32(len(modes)):
		return fmt.Errorf("mode %d of scales is not known", q.scaleMode)
	case q.zeroMode >= uint32(len(modes)):
		return fmt.Errorf("mode %d of zero points is not known", q.zeroMode)
	case q.reserved != 0:
		return fmt.Errorf("the reserved field is %d, not 0", q.reserved)
	case q.scheme == symmetric && q.zeroMode != none:
		return fmt.Errorf("it is symmetric, and has zero points")
	case q.zeroMode == none && q.zeroCount != 0:
		return fmt.Errorf("it has no zero points, and %d of them", q.zeroCount)
	case q.zeroMode != none && q.zeroMode != q.scaleMode:
		return fmt.Errorf("scales are %s and zero points %s", modes[q.scaleMode], modes[q.zeroMode])
	case q.zeroMode == perChannel && q.zeroAxis != q.scaleAxis:
		return fmt.Errorf("scales are along axis %d and zero points along %d", q.scaleAxis, q.zeroAxis)
	}
	if err := spread("scales", q.scaleMode, q.scaleAxis, q.scaleCount, dims); err != nil || q.zeroMode == none {
		return err
	}
	return spread("zero points", q.zeroMode, q.zeroAxis, q.zeroCount, dims)
}

// spread checks that the number of scales or zero points suits a tensor.
func spread(what string, mode uint32, axis, count uint64, dims []uint64) error {
	if mode == perTensor {
		if axis != 0 || count != 1 {
			return fmt.Errorf("%d %s along axis %d for the whole tensor", count, what, axis)
		}
		return nil
	}
	if axis >= uint64(len(dims)) {
		return fmt.Errorf("%s along axis %d of %d", what, axis, len(dims))
	}
	if count != dims[axis] {
		return fmt.Errorf("%d %s for %d channels", count, what, dims[axis])
	}
	return nil
}

// pairs returns the quantisation as metadata.
func (q *quant) pairs() []graph.Pair {
	return []graph.Pair{
		{Key: quantScheme, Value: schemes[q.scheme]},
		{Key: quantScale, Kind: modes[q.scaleMode], Data: view(tensor.F32, tensor.Shape{int(q.scaleCount)}, q.scales)},
		{Key: quantScaleAxis, Value: strconv.FormatUint(q.scaleAxis, 10)},
		{Key: quantZero, Kind: modes[q.zeroMode], Data: view(tensor.I32, tensor.Shape{int(q.zeroCount)}, q.zeros)},
		{Key: quantZeroAxis, Value: strconv.FormatUint(q.zeroAxis, 10)},
	}
}

// quantFrom is the reverse of pairs, for a tensor of the given shape. If the metadata holds no
// quantisation, q is nil. rest is the other metadata.
func quantFrom(list []graph.Pair, shape tensor.Shape) (q *quant, rest []graph.Pair, err error) {
	found := map[string]graph.Pair{}
	for _, p := range list {
		switch p.Key {
		case quantScheme, quantScale, quantScaleAxis, quantZero, quantZeroAxis:
			found[p.Key] = p
		default:
			rest = append(rest, p)
		}
	}
	if len(found) == 0 {
		return nil, rest, nil
	}
	q = &quant{}
	code := func(word string, words []string) uint32 {
		for i, w := range words {
			if w == word && w != "" {
				return uint32(i)
			}
		}
		return uint32(len(words))
	}
	numbers := func(p graph.Pair, d tensor.DType) (uint64, []byte) {
		if err == nil && (p.Data == nil || p.Data.DType() != d || len(p.Data.Shape()) != 1) {
			err = fmt.Errorf("%s is %v, not a vector of %v", p.Key, p.Data, d)
		}
		if err != nil {
			return 0, nil
		}
		return uint64(p.Data.Len()), p.Data.Bytes()
	}
	axis := func(p graph.Pair) uint64 {
		n, e := strconv.ParseUint(p.Value, 10, 64)
		if err == nil && e != nil {
			err = fmt.Errorf("%s is %q, no axis", p.Key, p.Value)
		}
		return n
	}
	for _, key := range []string{quantScheme, quantScale, quantScaleAxis, quantZero, quantZeroAxis} {
		if _, ok := found[key]; !ok {
			return nil, rest, fmt.Errorf("there is no %s", key)
		}
	}
	q.scheme = code(found[quantScheme].Value, schemes)
	q.scaleMode, q.zeroMode = code(found[quantScale].Kind, modes), code(found[quantZero].Kind, modes)
	q.scaleCount, q.scales = numbers(found[quantScale], tensor.F32)
	q.zeroCount, q.zeros = numbers(found[quantZero], tensor.I32)
	q.scaleAxis, q.zeroAxis = axis(found[quantScaleAxis]), axis(found[quantZeroAxis])
	if err == nil {
		dims := make([]uint64, len(shape))
		for i, n := range shape {
			dims[i] = uint64(n)
		}
		err = q.check(dims)
	}
	return q, rest, err
}

// len returns the number of bytes of the quantisation, with padding.
func (q *quant) len() uint64 { return padded(quantLen + uint64(len(q.scales)) + uint64(len(q.zeros))) }

func (q *quant) write(w *binio.Writer) {
	for _, v := range []uint32{q.scheme, q.scaleMode, q.zeroMode, 0} {
		w.U32(v)
	}
	for _, v := range []uint64{q.scaleAxis, q.scaleCount, q.zeroAxis, q.zeroCount} {
		w.U64(v)
	}
	w.Write(q.scales)
	w.Write(q.zeros)
	w.Align(8)
}
