package plan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// record cuts the steps into segments and resolves the operands of their commands.
func (b *builder) record() {
	weights := &segmentWeights{all: b.Program.device.Weights()}
	for i := range b.Steps {
		st := &b.Steps[i]
		last := len(b.Segments) - 1
		reads := weights.of(b, st)
		if last < 0 || st.isAlone() || b.Steps[b.Segments[last].First].isAlone() ||
			st.Offloaded() != b.Segments[last].Offloaded || weights.exceed(reads) {
			b.Segments = append(b.Segments, Segment{First: i, Offloaded: st.Offloaded()})
			last++
			weights.begin()
		}
		seg := &b.Segments[last]
		weights.add(seg, reads)
		seg.End = i + 1
		for k := range st.Commands {
			r := b.resolve(st, &st.Commands[k])
			r.Step = i
			seg.Recorded = append(seg.Recorded, r)
			seg.Owner = append(seg.Owner, i)
		}
	}
}

// resolve finds the bases of a command's operands. A constant operand gets its data instead.
func (b *builder) resolve(st *Step, c *device.Command) device.Recorded {
	own := *c
	own.Operands = append([]device.Operand(nil), c.Operands...)
	r := device.Recorded{
		Command: &own, Bases: make([]int, len(own.Operands)), Offsets: make([]graph.Dim, len(own.Operands)),
		Bytes:   make([]int, len(own.Operands)),
		Scratch: device.Slot{Base: BaseScratch, Offset: device.AlignUp(st.Temp)},
	}
	for i := range own.Operands {
		o := &own.Operands[i]
		r.Offsets[i] = o.Offset
		switch o.Place {
		case device.Temp:
			if r.Bases[i] = BaseScratch; st.Offloaded() {
				r.Bases[i], r.Offsets[i] = device.BaseDevice, o.Offset.Add(graph.Known(b.DeviceScratch))
			}
		case device.In, device.Out:
			id := st.Out
			if o.Place == device.In {
				id = st.In
			}
			s := &b.Slots[b.root(id[o.Index])]
			r.Bytes[i] = s.Bytes()
			switch s.Place {
			case Const:
				o.Data = s.Const.Bytes()
			case Arena:
				if r.Bases[i] = BaseArena; s.Layout.IsOffloaded() {
					r.Bases[i] = device.BaseDevice
				}
				r.Offsets[i] = o.Offset.Add(graph.Known(s.Offset))
			default:
				r.Bases[i] = s.Base
			}
		}
	}
	return r
}
