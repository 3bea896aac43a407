package text

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// murmur is MurmurHash3: the 32-bit hash MurmurHash3_x86_32 of every element.
type murmur struct {
	seed     uint32
	positive bool
}

func newMurmur(n *op.Node) (op.Op, error) {
	seed := n.Int("seed", 0)
	if seed < 0 || int64(seed) > math.MaxUint32 {
		return nil, graph.Errorf(graph.ErrFormat, "seed %d is no unsigned integer of 32 bits", seed)
	}
	return &murmur{uint32(seed), n.Bool("positive", true)}, nil
}

// Infer sets uint32 if o.positive is set, otherwise int32.
func (o *murmur) Infer(c *op.Infer) error {
	d := tensor.I32
	if o.positive {
		d = tensor.U32
	}
	c.Set(0, d, c.In[0].Dims)
	return nil
}

// Run hashes the bytes of each element.
func (o *murmur) Run(c *op.Run) error {
	x, out := c.In[0].Aligned(), c.Out[0].Bytes()
	pace := c.Pace()
	switch x.DType() {
	case tensor.I64, tensor.U64, tensor.F64:
		for from, end := range pace.Stretches(x.Len(), 4) {
			for in, to := x.Bytes()[8*from:8*end], out[4*from:]; len(in) > 0; in, to = in[8:], to[4:] {
				h := mixed(mixed(o.seed, binary.LittleEndian.Uint32(in)), binary.LittleEndian.Uint32(in[4:]))
				binary.NativeEndian.PutUint32(to, spread(h^8))
			}
		}
		return nil
	case tensor.I32, tensor.U32, tensor.F32:
		for from, end := range pace.Stretches(x.Len(), 4) {
			for in, to := x.Bytes()[4*from:4*end], out[4*from:]; len(in) > 0; in, to = in[4:], to[4:] {
				binary.NativeEndian.PutUint32(to, spread(mixed(o.seed, binary.LittleEndian.Uint32(in))^4))
			}
		}
		return nil
	}
	width := x.DType().Bytes(1)
	for i := range x.Len() {
		var h uint32
		if x.DType() == tensor.String {
			pace.Work(32 + len(x.Strings()[i]))
			h = murmur3([]byte(x.Strings()[i]), o.seed)
		} else {
			pace.Work(16)
			h = murmur3(x.Bytes()[i*width:][:width], o.seed)
		}
		binary.NativeEndian.PutUint32(out[4*i:], h)
	}
	return nil
}

// scramble mixes the bits of a word in murmur3.
func scramble(k uint32) uint32 { return bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593 }

// mixed returns the state of murmur3 after a word.
func mixed(h, k uint32) uint32 { return bits.RotateLeft32(h^scramble(k), 13)*5 + 0xe6546b64 }

// spread is the final step of murmur3.
func spread(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// murmur3 is MurmurHash3_x86_32 by Austin Appleby.
func murmur3(data []byte, seed uint32) uint32 {
	h := seed
	n := uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		h = mixed(h, binary.LittleEndian.Uint32(data))
	}
	if len(data) > 0 {
		var tail [4]byte
		copy(tail[:], data)
		h ^= scramble(binary.LittleEndian.Uint32(tail[:]))
	}
	return spread(h ^ n)
}

var hashRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MurmurHash3", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		Types: op.Types{tensor.I32, tensor.U32, tensor.I64, tensor.U64, tensor.F32, tensor.F64, tensor.String}, New: newMurmur},
	{Domain: kit.Microsoft, Name: "NGramHashMapping", Since: []int{1}, In: [2]int{3, 7}, Out: [2]int{1, 2}, Types: ids, Heap: 8, New: newNGrams(false)},
	{Domain: kit.Microsoft, Name: "VarlenNGramHashMapping", Since: []int{1}, In: [2]int{4, 10}, Out: [2]int{1, 4}, Types: ids, Heap: 8, New: newNGrams(true)},
}

var ids = op.Types{tensor.I32, tensor.I64}
