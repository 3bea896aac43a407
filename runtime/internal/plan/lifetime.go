package plan

import (
	"math"
	"slices"
	"sort"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// buffer is a piece of the arena that several values share if they are views of each other or one
// is computed over another.
type buffer struct {
	bytes       int
	first, last int // the first and the last step that use it
	offset      int
	members     []int
}

// piece is a position in a buffer.
type piece struct {
	of *buffer
	at int // bytes from its start
}

// placer gives every value of the steps a slot, in the order of the steps.
type placer struct {
	*Plan
	last     []int // by value id: the last step that reads it; -1 if none does
	isResult []bool
	of       []*buffer     // by value id; nil for a value outside the arena
	at       []int         // by value id: bytes from the start of its buffer
	kept     map[int]piece // by value id: the position of a value in the output of a step that joins it
	list     []*buffer
	device   []*buffer // the buffers in an accelerator's memory
	apart    int       // the size of device if no two values shared memory
}

// maxBytes bounds the total size of the values of a plan: more than any machine has, and small
// enough to count without overflow.
const maxBytes = min(1<<48, math.MaxInt>>2)

// finish sets up the slots, gives every value a place, and records the segments. Values in given
// get the given place.
func (b *builder) finish(given []int, place Place) error {
	used := make([]bool, len(b.values))
	for _, list := range [][]*Node{b.rest, b.nodesOf()} {
		for _, n := range list {
			for _, id := range n.In {
				if id >= 0 {
					used[id] = true
				}
			}
		}
	}
	for _, id := range b.Program.Outputs {
		used[id] = true
	}
	for id, v := range b.values {
		s := &b.Slots[id]
		s.Type = v.Type
		if v.Kind == graph.TensorType {
			s.Shape, _ = v.Dims.Concrete()
			s.Most, _ = b.Lengths.most(v.Dims)
		}
		if v.Const != nil && used[id] {
			s.Place, s.Const = Const, v.Const
			if t := b.moving[id]; t != nil {
				s.Const = t
			}
		}
	}
	for _, id := range given {
		if b.Slots[id].Place != Const || place == Input {
			b.Slots[id].Place = place
			b.rebase(id)
		}
	}
	b.Lengths.place(b.Plan)
	b.findLive(given)
	if err := b.placeAll(); err != nil {
		return err
	}
	b.record()
	return nil
}

func (b *builder) nodesOf() []*Node {
	list := make([]*Node, len(b.nodes))
	for i, n := range b.nodes {
		list[i] = n.Node
	}
	return list
}

// rebase gives a value its own base.
func (pl *Plan) rebase(id int) {
	pl.Slots[id].Base = pl.Bases
	pl.Bases++
}

// findLive lists the values that exist at the end of the stage and that the rest reads, and the
// values that decide extents of the rest.
func (b *builder) findLive(given []int) {
	if b.Done() {
		return
	}
	there := make([]bool, len(b.values))
	for _, id := range given {
		there[id] = true
	}
	for _, n := range b.nodes {
		for _, id := range n.Out {
			if id >= 0 {
				there[id] = true
			}
		}
	}
	wanted := map[int]bool{}
	for id := range b.expose {
		wanted[id] = true
		b.exposed = append(b.exposed, id)
	}
	for _, n := range b.rest {
		for _, id := range n.In {
			if id >= 0 {
				wanted[id] = true
			}
		}
	}
	for _, id := range b.Program.Outputs {
		wanted[id] = true
	}
	for id := range wanted {
		if there[id] && b.values[id].Const == nil {
			b.live = append(b.live, id)
		}
	}
	sort.Ints(b.live)
	sort.Ints(b.exposed)
}

func (b *builder) placeAll() error {
	n := len(b.Slots)
	p := &placer{Plan: b.Plan, last: make([]int, n), isResult: make([]bool, n), of: make([]*buffer, n),
		at: make([]int, n), kept: map[int]piece{}}
	for id := range p.last {
		p.last[id] = -1
	}
	for i, s := range p.Steps {
		for _, id := range s.In {
			if id >= 0 {
				p.last[id] = i
			}
		}
	}
	for _, id := range p.live {
		p.last[id] = len(p.Steps)
	}
	for _, id := range p.Program.Outputs {
		p.last[id] = len(p.Steps)
		p.isResult[id] = true
	}
	for i := len(p.nodes) - 1; i >= 0; i-- {
		if n := p.nodes[i]; n.Row.View && n.Out[0] >= 0 && n.In[0] >= 0 {
			p.last[n.In[0]] = max(p.last[n.In[0]], p.last[n.Out[0]])
		}
	}
	p.keepParts()
	at := 0 // the last step so far
	for _, node := range p.nodes {
		if node.step < 0 {
			p.view(node.Out[0], node.In[0])
			continue
		}
		at = node.step
		p.step(at)
		if p.NaiveBytes > maxBytes || p.ResultBytes > maxBytes || p.apart > maxBytes {
			return p.Program.fail(p.Steps[at].Node.Node,
				graph.Errorf(graph.ErrShape, "outputs up to here take more than %d bytes", maxBytes))
		}
	}
	for id, last := range p.last {
		if p.Slots[id].Place == Dynamic && last >= 0 && last < len(p.Steps) {
			p.Steps[last].Dead = append(p.Steps[last].Dead, id)
		}
	}
	p.copies()
	p.layOut()
	return nil
}

// copies counts the memory of results that a run copies for the caller: views of the arena, inputs,
// constants, and values that are results twice. Results of unknown size are not counted.
func (p *placer) copies() {
	given := map[int]bool{}
	for _, id := range p.Program.Outputs {
		root := p.Root(id)
		switch p.Slots[root].Place {
		case Unused, Earlier, InState, Dynamic:
			continue
		case Result:
			if !given[root] {
				given[root] = true
				continue
			}
		}
		if s := &p.Slots[id]; s.Type.Kind == graph.TensorType && s.Type.DType != tensor.String {
			p.ResultBytes += min(s.Bytes(), 2*maxBytes)
		}
	}
}

func (p *placer) layOut() {
	p.ArenaBytes, p.DeviceScratch = p.place(p.list), p.place(p.device)
	scratch := 0
	for i := range p.Steps {
		if p.Steps[i].Offloaded() {
			scratch = max(scratch, p.Steps[i].Temp)
			continue
		}
		p.ScratchBytes = max(p.ScratchBytes, device.AlignUp(p.Steps[i].Scratch()))
	}
	p.DeviceBytes = p.DeviceScratch + scratch
}

// place lays out the buffers of one memory and returns their total size in bytes.
func (p *placer) place(list []*buffer) (bytes int) {
	layout(list)
	for _, b := range list {
		bytes = max(bytes, b.offset+b.bytes)
		for _, id := range b.members {
			p.Slots[id].Offset = b.offset + p.at[id]
		}
	}
	return bytes
}

func (p *placer) step(i int) {
	st := &p.Steps[i]
	for k, id := range st.Out {
		if id < 0 {
			continue
		}
		s := &p.Slots[id]
		switch {
		case s.Place == InState || p.updates(i, id):
		case k == 0 && st.Row.View && s.Type.Kind == graph.TensorType:
			p.view(id, st.In[0])
		case st.Dynamic || s.Type.Kind != graph.TensorType || s.Type.DType == tensor.String:
			s.Place = Dynamic
			p.rebase(id)
		case p.isResult[id]:
			s.Place = Result
			p.rebase(id)
			p.ResultBytes += min(s.Bytes(), 2*maxBytes)
		default:
			p.arena(i, k, id)
		}
	}
}

// view makes value id a view of value src.
func (p *placer) view(id, src int) {
	p.Slots[id].Place, p.Slots[id].ViewOf = View, src
	if b := p.of[src]; b != nil {
		p.join(b, p.at[src], id)
	}
}

// join puts a value at an offset of a buffer.
func (p *placer) join(b *buffer, at, id int) {
	b.members = append(b.members, id)
	p.at[id] = at
	b.last = max(b.last, p.last[id])
	p.of[id] = b
}

// arena puts output k of a step in the arena. If the step allows it, the output takes over an input
// that nothing reads afterwards.
func (p *placer) arena(step, k, id int) {
	st, s := &p.Steps[step], &p.Slots[id]
	s.Place = Arena
	bytes := alignUp(min(s.Bytes(), 2*maxBytes))
	list := &p.list
	if s.Layout.IsOffloaded() {
		align := p.Program.device.Accelerator().Align()
		bytes, list = (bytes+align-1)/align*align, &p.device
		p.apart += bytes
	} else {
		p.NaiveBytes += bytes
	}
	if piece, ok := p.kept[id]; ok {
		p.join(piece.of, piece.at, id)
		return
	}
	if piece, ok := p.splitOf(st, k, id); ok {
		p.join(piece.of, piece.at, id)
		return
	}
	if k == 0 {
		at := slices.IndexFunc(st.InPlace, func(i int) bool {
			return i < len(st.In) && p.canTakeOver(step, s, st.In[i])
		})
		if at >= 0 {
			st.Over = st.InPlace[at]
			from := st.In[st.Over]
			p.join(p.of[from], p.at[from], id)
			return
		}
	}
	b := &buffer{bytes: bytes, first: step, last: step}
	*list = append(*list, b)
	p.join(b, 0, id)
}

// canTakeOver reports whether s can take over the memory of value id, an input of the step. The
// value must be in the arena and have the extents, layout and element size of s. No other input of
// the step and no later step may read that memory.
func (p *placer) canTakeOver(step int, s *Slot, id int) bool {
	if id < 0 || p.of[id] == nil {
		return false
	}
	from := &p.Slots[id]
	if from.Most == nil || !from.Type.Dims.Same(s.Type.Dims) || from.Layout != s.Layout || from.Type.DType.Bits() != s.Type.DType.Bits() ||
		from.Type.DType.Blocks() != s.Type.DType.Blocks() {
		return false
	}
	st := &p.Steps[step]
	for i, other := range st.In {
		if other >= 0 && p.of[other] == p.of[id] && (other != id || !slices.Contains(st.InPlace, i)) {
			return false
		}
	}
	return !slices.ContainsFunc(p.of[id].members, func(m int) bool { return p.last[m] > step })
}

// root returns the value that owns the bytes of value id.
func (pl *Plan) root(id int) int {
	for pl.Slots[id].Place == View {
		id = pl.Slots[id].ViewOf
	}
	return id
}

// Root returns the value that owns the bytes of value id: itself, or the value that it views.
func (pl *Plan) Root(id int) int { return pl.root(id) }
