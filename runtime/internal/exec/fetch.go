package exec

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fetch makes the values with extents that an accelerator counted.
func (r *run) fetch(f *frame, at int) error {
	bring := func() error { return f.bring(at) }
	if r.prof != nil {
		return r.prof.host(f, at, bring)
	}
	return bring()
}

// bring reads the number that was counted, and the counted part of each output.
func (f *frame) bring(at int) error {
	s := &f.plan.Steps[at]
	from := func(k int) int { return f.plan.Slots[s.In[k]].Offset }
	var word [4]byte
	if err := f.memory.Read(from(len(s.Out)), word[:]); err != nil {
		return err
	}
	count := int(int32(binary.LittleEndian.Uint32(word[:])))
	for k, id := range s.Out {
		if id < 0 {
			continue
		}
		d, shape := f.plan.Slots[id].Type.DType, f.plan.Extents(s, k, count)
		if err := shape.Check(); err != nil {
			return graph.Errorf(graph.ErrShape, "output %d: %w", k, err)
		}
		if err := f.Reserve(tensor.SizeOf(d, shape)); err != nil {
			return err
		}
		t := tensor.New(d, shape...)
		if t.Len() > 0 {
			if err := f.memory.Read(from(k), t.Bytes()); err != nil {
				return err
			}
		}
		f.set(id, t)
	}
	f.bury(at)
	return nil
}
