package elements

import "github.com/nacre-ml/nacre/runtime/tensor"

// mostInBlock is the largest number of elements of a block.
const mostInBlock = 256

// unpackBlocks is Get for types of blocks.
func unpackBlocks[N Number](list []N, t *tensor.Tensor, at int) {
	b, data := t.DType().Blocks(), t.Bytes()
	var buffer [mostInBlock]float32
	floats, same := any(list).([]float32)
	for i := 0; i < len(list); {
		block, skip := (at+i)/b.Elements, (at+i)%b.Elements
		from := data[block*b.Bytes:]
		if whole := (len(list) - i) / b.Elements * b.Elements; same && skip == 0 && whole > 0 {
			b.Unpack(floats[i:i+whole], from)
			i += whole
			continue
		}
		b.Unpack(buffer[:b.Elements], from)
		for _, v := range buffer[skip:min(b.Elements, skip+len(list)-i)] {
			list[i] = N(v)
			i++
		}
	}
}
