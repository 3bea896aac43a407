package tensor

import "unsafe"

// ItemBytes is the memory in bytes of one element of a sequence besides its value.
const ItemBytes = 16

// Sizes of headers in bytes.
const (
	header    = int(unsafe.Sizeof(Tensor{}))
	extent    = int(unsafe.Sizeof(int(0)))
	stringRef = int(unsafe.Sizeof(""))
)

// SizeOf returns the memory in bytes of a tensor of New: its elements, the padding that aligns
// them, its extents and its header.
func SizeOf(d DType, shape Shape) int {
	n := shape.Len()
	size := header + extent*len(shape)
	if d == String {
		return size + stringRef*n
	}
	return size + d.Bytes(n) + Align
}

// Footprint returns the memory in bytes of a value: SizeOf of its tensors, the text of their
// strings, and the structures around them. Consecutive strings that share memory count once.
func Footprint(v Value) int {
	switch v := v.(type) {
	case *Tensor:
		if v == nil {
			return 0
		}
		return SizeOf(v.dtype, v.shape) + textBytes(v.strings)
	case *Sequence:
		if n := v.bytes.Load(); n > 0 {
			return int(n)
		}
		n := SequenceBytes(len(v.Items))
		for _, item := range v.Items {
			n += Footprint(item)
		}
		v.bytes.Store(int64(n))
		return n
	case *Optional:
		return ItemBytes + Footprint(v.Item)
	case *Map:
		return MapBytes + Footprint(v.Keys) + Footprint(v.Values)
	}
	return 0
}

// MapBytes is the memory in bytes of a map besides its tensors.
const MapBytes = int(unsafe.Sizeof(Map{}))

// SequenceBytes returns the memory in bytes of a sequence of n elements besides these.
func SequenceBytes(n int) int { return int(unsafe.Sizeof(Sequence{})) + ItemBytes*n }

// textBytes returns the memory of the text of strings.
func textBytes(list []string) int {
	n := 0
	var last *byte
	for _, s := range list {
		if at := unsafe.StringData(s); at != last {
			n, last = n+len(s), at
		}
	}
	return n
}
