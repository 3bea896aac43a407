package loom

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// with returns the network with the weights of the tensors in list, or n if they are equal to its
// own. It notes tensors that are missing, that belong to no layer, and that a Loom file cannot
// hold.
func (n *Network) with(list []*graph.Initializer, refused *container.Refusals) *Network {
	byName := make(map[string]*graph.Initializer, len(list))
	for _, init := range list {
		byName[init.Name] = init
	}
	changed := map[*Blob]*Blob{}
	blobs, paths := n.ordered()
	for _, b := range blobs {
		path := paths[b]
		if b.Shape == nil {
			continue
		}
		init := byName[path]
		if init == nil {
			refused.Add("%s: the network has weights there, and the model has no tensor of that name", path)
			continue
		}
		c, err := b.from(init, byName[path+scales])
		if err != nil {
			refused.Add("%s: %w", path, err)
			continue
		}
		if delete(byName, path); b.Kind == Q4_0 {
			delete(byName, path+scales)
		}
		if c != b {
			changed[b] = c
		}
	}
	for _, init := range list {
		if byName[init.Name] == init {
			refused.Add("tensor %q belongs to no layer of the network", init.Name)
		}
	}
	return n.replaced(changed).labelled(changed, refused)
}

// labelled returns a bundle that names the new dtype of its weights.
func (n *Network) labelled(changed map[*Blob]*Blob, refused *container.Refusals) *Network {
	for b, c := range changed {
		if n.Transformer == nil || b.DType == c.DType || b.Name != "" {
			continue
		}
		if c.DType == Float64 {
			refused.Add("a transformer bundle cannot be of float64")
		}
		k, t := *n, *n.Transformer
		t.WeightDType, k.Transformer = c.DType.String(), &t
		return &k
	}
	return n
}

// replaced returns a copy of the network with blobs replaced according to by, or n if by is empty.
func (n *Network) replaced(by map[*Blob]*Blob) *Network {
	if len(by) == 0 {
		return n
	}
	blob := func(b *Blob) *Blob {
		if c := by[b]; c != nil {
			return c
		}
		return b
	}
	blobs := func(list []*Blob) []*Blob {
		list = slices.Clone(list)
		for i, b := range list {
			list[i] = blob(b)
		}
		return list
	}
	var layer func(l *Layer) *Layer
	layers := func(list []*Layer) []*Layer {
		list = slices.Clone(list)
		for i, l := range list {
			list[i] = layer(l)
		}
		return list
	}
	layer = func(l *Layer) *Layer {
		k := *l
		if c := by[l.Weights]; c != nil {
			k.Weights = c
			if c.DType != l.Weights.DType {
				k.DType = c.DType
			}
		}
		k.Extra, k.Branches, k.Steps = blobs(l.Extra), layers(l.Branches), layers(l.Steps)
		if l.Observed != nil {
			k.Observed = layer(l.Observed)
		}
		return &k
	}
	c := *n
	c.Layers, c.Globals, c.order = layers(n.Layers), blobs(n.Globals), blobs(n.order)
	return &c
}

// from returns the blob with the numbers of a tensor, or b if they are equal to its own.
func (b *Blob) from(init, factors *graph.Initializer) (*Blob, error) {
	own, err := b.initializers(init.Name)
	if err != nil {
		return nil, err
	}
	if sameTensor(own[0], init) && (b.Kind != Q4_0 || factors != nil && sameTensor(own[1], factors)) {
		return b, nil
	}
	t := init.Tensor
	if !t.Shape().Equal(b.Shape) {
		return nil, fmt.Errorf("the tensor is %v, and the layer takes %v", t.Shape(), b.Shape)
	}
	c := *b
	c.offset = -1
	switch b.Kind {
	case Q4_0:
		c.Data, err = packedQ4(init, factors)
	case BitNetTernary:
		c.Data, err = b.packedBitNet(init)
	default:
		err = c.take(init)
	}
	return &c, err
}

// sameTensor compares tensors and their scales.
func sameTensor(a, b *graph.Initializer) bool {
	x, y := a.Tensor, b.Tensor
	if x.DType() != y.DType() || !x.Shape().Equal(y.Shape()) {
		return false
	}
	scale, err := scaleOf(a)
	other, err2 := scaleOf(b)
	if err != nil || err2 != nil || math.Float32bits(scale) != math.Float32bits(other) {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// take gives a store the elements of a tensor: as codes of its own dtype if the tensor has such
// elements, else in the dtype of the tensor's elements.
func (b *Blob) take(init *graph.Initializer) error {
	t := init.Tensor
	before := b.Data
	n := t.Len()
	d, err := b.dtypeFor(t.DType())
	if err != nil {
		return err
	}
	if d != b.DType {
		if b.Name != "" {
			return fmt.Errorf("the tensor is of %v, and that part of a bundle is %v", t.DType(), b.DType)
		}
		b.DType, b.Scale, b.Native, before = d, 1, true, nil
	}
	if d.Scaled() {
		if b.Scale, err = scaleFor(init, b.Scale); err != nil {
			return err
		}
	}
	switch {
	case t.DType() == tensor.F4E2M1:
		err = b.takeDoubled(init)
	case values[d] != nil && t.DType() == tensor.F32:
		err = b.encode(t)
	case values[d] != nil && !d.isStandard(t.Bytes()):
		return fmt.Errorf("the tensor has codes of %v that %v has for other numbers", t.DType(), d)
	default:
		b.Data = d.pack(t)
	}
	if used := d.Bytes(n); err == nil && len(before) > used {
		b.Data = append(b.Data, before[used:]...)
	}
	return err
}

// takeDoubled gives an FP4 store the elements of a float4e2m1 tensor, whose scale is half as large.
func (b *Blob) takeDoubled(init *graph.Initializer) error {
	codes, ok := halved.of(init.Tensor.Bytes())
	if !ok {
		return fmt.Errorf("the tensor has a number of %v with no half in %v (the option to dequantise writes float32)", tensor.F4E2M1, b.DType)
	}
	if slices.ContainsFunc(init.Meta, func(p graph.Pair) bool { return p.Key == "scale" }) {
		b.Scale *= 2
	}
	n := init.Tensor.Len()
	b.Data = lowFirst(codes, (n+1)/2*2, 4)
	return nil
}

// scaleFor returns the scale in a tensor's metadata, or else the store's old one.
func scaleFor(init *graph.Initializer, had float32) (float32, error) {
	if !slices.ContainsFunc(init.Meta, func(p graph.Pair) bool { return p.Key == "scale" }) {
		return had, nil
	}
	return scaleOf(init)
}

// dtypeFor returns the dtype of a store with elements of type t: its own dtype if it can hold them.
// A store held as codes of a standard type becomes float32 if t is float32.
func (b *Blob) dtypeFor(t tensor.DType) (DType, error) {
	codes := dtypes[b.DType].codes
	if codes == t || codes == tensor.Invalid && (t == tensor.F32 && !b.isCoded() || t == standard[b.DType]) || b.DType == Ternary && t == tensor.I2 {
		return b.DType, nil
	}
	for d := range dtypeCount {
		if dtypes[d].codes == t {
			return d, nil
		}
	}
	return 0, fmt.Errorf("a Loom file does not hold elements of %v", t)
}

// isCoded reports whether a store of Loom's own floats becomes a tensor of codes.
func (b *Blob) isCoded() bool {
	t, err := b.DType.tensor(b.Data, b.Scale, b.Shape)
	return err == nil && t.DType() == standard[b.DType]
}

// pack returns the elements of a tensor in the byte order of files.
func (d DType) pack(t *tensor.Tensor) []byte {
	if dtypes[d].bits >= 8 {
		return bytes.Clone(t.Bytes())
	}
	return lowFirst(t.Bytes(), len(t.Bytes())*8/dtypes[d].bits, dtypes[d].bits)
}

// encode quantises numbers. It fails if the dtype does not have one of them exactly.
func (b *Blob) encode(t *tensor.Tensor) error {
	w := tensor.View[float32](t)
	scale := b.Scale
	if b.DType == FP4 && scale == 0 {
		scale = 1
	}
	codes := map[uint32]uint64{}
	for c, v := range values[b.DType] {
		v *= scale
		if _, ok := codes[key(v)]; !ok {
			codes[key(v)] = uint64(c)
		}
	}
	b.Data = make([]byte, b.DType.Bytes(len(w)))
	for i, v := range w {
		c, ok := codes[key(v)]
		if !ok {
			return fmt.Errorf("element %d is %g, which %v with a scale of %g does not have (the option to dequantise writes float32)", i, v, b.DType, b.Scale)
		}
		b.DType.setBits(b.Data, i, c)
	}
	return nil
}

// key returns the bits of a number, the same for every NaN.
func key(v float32) uint32 {
	if v != v {
		return math.Float32bits(float32(math.NaN()))
	}
	return math.Float32bits(v)
}

// packedQ4 returns the bytes of a blob with these codes and scales of blocks.
func packedQ4(codes, factors *graph.Initializer) ([]byte, error) {
	n := codes.Tensor.Len()
	blocks := (n + q4Block - 1) / q4Block
	switch {
	case codes.Tensor.DType() != tensor.I4:
		return nil, fmt.Errorf("the tensor is of %v, and Q4_0 is of %v (safetensors holds it)", codes.Tensor.DType(), tensor.I4)
	case factors == nil || factors.Tensor.DType() != tensor.F32 || factors.Tensor.Len() != blocks:
		return nil, fmt.Errorf("%d weights of Q4_0 have %d float32 scales, in a tensor %s%s", n, blocks, codes.Name, scales)
	}
	b := PackQ4_0(make([]float32, n))
	copy(b[8:], factors.Tensor.Bytes())
	copy(b[8+4*blocks:], codes.Tensor.Bytes())
	return b, nil
}

// packedBitNet returns the bytes of a blob of ternary codes in the same form as b.
func (b *Blob) packedBitNet(init *graph.Initializer) ([]byte, error) {
	if d := init.Tensor.DType(); d != tensor.T2 {
		return nil, fmt.Errorf("the tensor is of %v, and %s is of %v (safetensors holds it)", d, BitNetTernary, tensor.T2)
	}
	t, err := parseBitNet(b.Data)
	if err != nil {
		return nil, err
	}
	scale, err := scaleFor(init, t.scale)
	if err != nil {
		return nil, err
	}
	data := bytes.Clone(b.Data)
	order.PutUint32(data[12:], math.Float32bits(scale))
	layout := tensor.T2.Layout()
	for r := range t.rows {
		row := data[bitNetHead+r*t.stride:]
		for c := range t.cols {
			v := layout.At(init.Tensor.Bytes(), r*t.cols+c)
			at := c % 4 * 2
			row[c/4] = row[c/4]&^(3<<at) | byte(v+1)&3<<at
		}
	}
	return data, nil
}
