package vulkan

import (
	"fmt"
	"slices"
	"unsafe"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// Bounds of one submission: its dispatches, and their multiply-adds. Drivers of phones give up on
// submissions that take long.
const (
	maxDispatches = 100
	maxWork       = 1 << 30
)

// segment is commands that a run submits: copies from the session's memory, dispatches, and copies
// back. They are recorded once. If they depend on lengths or on attached memory, they are recorded
// again when these change.
type segment struct {
	acc       *Accelerator
	memory    *Memory           // of the frame
	given     []device.Recorded // as the plan has them
	hosts     map[int]unsafe.Pointer
	attached  map[int]*Memory // by base: memory outside the frame's
	lengths   string          // for which the commands are recorded
	stale     bool            // memory was attached since
	names     []string        // of the lengths that commands depend on; nil before the first call of symbols
	constants *Memory         // constants that steps bring with them; nil for none
	staging   *vk.Buffer
	list      []device.Recorded // the recorded commands: given, with dispatches in place of nodes with lengths
	owner     []int             // by command of list: its index in given
	copies    []transfer        // by command
	operands  [][]vk.Operand
	faults    []fault // in the order of commands
	faultsAt  int     // offset of their words in staging memory
	keys      []drawn
	keysAt    int // their offset in staging memory
	plain     []*chunk
	timed     []*chunk // nil until a run is timed
	times     []int64
}

// transfer is a copy between the session's memory and staging memory.
type transfer struct {
	base, offset int            // in the session's memory
	host         unsafe.Pointer // the address that base stands for
	staging      int            // offset in staging memory
	bytes        int
	isCopy       bool // if false, the command is a dispatch
	up           bool
}

// chunk is the commands from first to end - 1, submitted together.
type chunk struct {
	first, end int
	recorder   *vk.Recorder
}

// has reports whether the chunk has command i.
func (c *chunk) has(i int) bool { return i >= c.first && i < c.end }

// Record prepares commands for runs in memory m. Commands that depend on lengths or on attached
// memory are recorded by Resize instead.
func (a *Accelerator) Record(list []device.Recorded, m device.Memory) (device.AcceleratorSegment, error) {
	memory, _ := m.(*Memory)
	s := &segment{acc: a, memory: memory, given: list, hosts: map[int]unsafe.Pointer{}, attached: map[int]*Memory{}}
	if s.varies() {
		s.stale = true
		return s, nil
	}
	if err := s.lay(nil); err != nil {
		s.Free()
		return nil, err
	}
	return s, nil
}

// varies reports whether the commands depend on lengths, or on attached memory.
func (s *segment) varies() bool {
	for i := range s.given {
		r := &s.given[i]
		_, copies := r.Kernel.(transferKernel)
		if _, ok := r.Kernel.(*sized); ok || copies && !r.Words[0].IsKnown() {
			return true
		}
		for k, base := range r.Bases {
			if !copies && base > device.BaseDevice && r.Operands[k].Place != device.None {
				return true
			}
		}
	}
	return false
}

// lay records the commands for lengths.
func (s *segment) lay(length func(symbol string) (int, bool)) error {
	err := s.expand(length)
	if err == nil {
		err = s.prepare(length)
	}
	if err == nil {
		s.plain, err = s.record(false)
	}
	return failure(err)
}

// expand fills list: a node with lengths in its extents is replaced by its dispatches.
func (s *segment) expand(length func(symbol string) (int, bool)) error {
	s.list, s.owner = make([]device.Recorded, 0, len(s.given)), make([]int, 0, len(s.given))
	for i := range s.given {
		list := s.given[i : i+1]
		if k, ok := list[0].Kernel.(*sized); ok {
			var err error
			if list, err = k.expand(&s.given[i], length); err != nil {
				return err
			}
		}
		for range list {
			s.owner = append(s.owner, i)
		}
		s.list = append(s.list, list...)
	}
	s.copies, s.operands, s.faults, s.keys = make([]transfer, len(s.list)), make([][]vk.Operand, len(s.list)), nil, nil
	return nil
}

// prepare finds the operands of all commands and makes staging memory.
func (s *segment) prepare(length func(symbol string) (int, bool)) error {
	staged := 0
	err := s.bringConstants()
	if err != nil {
		return err
	}
	if err := s.acc.weights.hold(s.weights()); err != nil {
		return err
	}
	own := 0
	for i := range s.list {
		r := &s.list[i]
		if t, ok := r.Kernel.(transferKernel); ok {
			if s.copies[i], err = s.transfer(r, t == upload, staged, length); err != nil {
				return err
			}
			staged += alignUp(s.copies[i].bytes)
			continue
		}
		for k := range r.Operands {
			o, n, err := s.operand(r, k, own)
			if err != nil {
				return err
			}
			switch x := &r.Operands[k]; x.Index {
			case faultIndex:
				s.faults = append(s.faults, fault{i, own, string(x.Data)})
			case drawIndex:
				s.keys = append(s.keys, drawn{i, own})
			}
			own += n
			s.operands[i] = append(s.operands[i], o)
		}
	}
	s.faultsAt = staged
	s.keysAt = s.faultsAt + faultBytes*len(s.faults)
	if staged = s.keysAt + keyBytes*len(s.keys); staged == 0 {
		return nil
	}
	if s.staging != nil && s.staging.Bytes() >= staged {
		return nil
	}
	s.freeStaging()
	s.staging, err = s.acc.dev.dev.NewBuffer(staged, vk.Staging)
	return err
}

// weights lists the constants of the model that the commands read.
func (s *segment) weights() (list [][]byte) {
	for i := range s.list {
		for _, o := range s.list[i].Operands {
			if o.Place != device.Const && len(o.Data) > 0 {
				list = append(list, o.Data)
			}
		}
	}
	return list
}

// bringConstants copies the constants that steps bring with them to the device.
func (s *segment) bringConstants() error {
	var data []byte
	for i := range s.list {
		for _, o := range s.list[i].Operands {
			if o.Place == device.Const {
				own := brought(&o)
				data = append(data, own...)
				data = append(data, make([]byte, alignUp(len(own))-len(own))...)
			}
		}
	}
	if len(data) == 0 {
		return nil
	}
	var err error
	s.constants, err = s.acc.dev.upload(data)
	return err
}

// transfer returns the copy of an upload or a download. The command's operands are the value and
// its copy.
func (s *segment) transfer(
	r *device.Recorded, up bool, staged int, length func(symbol string) (int, bool),
) (transfer, error) {
	host := 0
	if !up {
		host = 1
	}
	at, _ := r.Offsets[host].Value()
	n, ok := r.Words[0].Eval(length)
	if !ok || n > r.Bytes[1-host] {
		return transfer{}, fmt.Errorf("%v bytes of a copy are %d, and its memory has %d", r.Words[0], n, r.Bytes[1-host])
	}
	from := s.hosts[r.Bases[host]]
	if data := r.Operands[host].Data; data != nil {
		from = unsafe.Pointer(unsafe.SliceData(data)) // of a constant
	}
	return transfer{base: r.Bases[host], host: from, offset: at, staging: staged, bytes: n, isCopy: true, up: up}, nil
}

// operand returns operand k of a dispatch, and the bytes that it takes of the segment's constants.
// Own is the offset of the next of these constants.
func (s *segment) operand(r *device.Recorded, k, own int) (vk.Operand, int, error) {
	o := &r.Operands[k]
	at, ok := r.Offsets[k].Value()
	if !ok {
		return vk.Operand{}, 0, fmt.Errorf("offset %v of an operand of %s is not known", r.Offsets[k], r.Kernel.Op())
	}
	switch {
	case o.Place == device.None:
		return vk.Operand{}, 0, nil
	case o.Place == device.Const:
		n := len(brought(o))
		return s.constants.operand(own, wholeWords(n)), alignUp(n), nil
	case len(o.Data) > 0:
		m, err := s.acc.weights.get(o.Data)
		if err != nil {
			return vk.Operand{}, 0, err
		}
		n := len(o.Data) - at
		if o.Bytes > 0 {
			n = o.Bytes
		}
		return m.operand(at, wholeWords(n)), 0, nil
	}
	memory := s.memory
	if r.Bases[k] != device.BaseDevice {
		if memory = s.attached[r.Bases[k]]; memory == nil {
			return vk.Operand{}, 0, fmt.Errorf("operand %d of %s is not in the device's memory", k, r.Kernel.Op())
		}
	}
	n := r.Bytes[k]
	if o.Bytes > 0 {
		n = o.Bytes
	} else if inner, _ := o.Offset.Value(); inner > 0 {
		n -= inner
	}
	n = min(wholeWords(n), memory.bytes-at, s.acc.dev.info.Caps.MaxRange)
	return memory.operand(at, n), 0, nil
}

// record records the commands in chunks. If timed, each command gets a timestamp.
func (s *segment) record(timed bool) (list []*chunk, err error) {
	defer func() {
		if err != nil {
			freeChunks(list)
		}
	}()
	for first := 0; first < len(s.list); {
		c := &chunk{first: first, end: s.chunkEnd(first)}
		list = append(list, c)
		if err := s.recordChunk(c, timed); err != nil {
			return list, err
		}
		first = c.end
	}
	return list, nil
}

// chunkEnd returns the end of the chunk that begins with command first.
func (s *segment) chunkEnd(first int) int {
	dispatches, work := 0, 0
	for i := first; i < len(s.list); i++ {
		if k, ok := s.list[i].Kernel.(*kernel); ok {
			dispatches++
			work += k.work
		}
		if i > first && (dispatches > maxDispatches || work > maxWork) {
			return i
		}
	}
	return len(s.list)
}

func (s *segment) recordChunk(c *chunk, timed bool) (err error) {
	operands, stamps := 0, 0
	for i := c.first; i < c.end; i++ {
		operands += len(s.operands[i])
	}
	if timed {
		stamps = c.end - c.first + 1
	}
	if c.recorder, err = s.acc.dev.dev.NewRecorder(c.end-c.first, operands, stamps); err != nil {
		return err
	}
	s.copyKeys(c)
	var h hazards
	for i := c.first; i < c.end; i++ {
		if h.conflicts(s, i) || timed && i > c.first {
			c.recorder.Barrier()
			h.clear()
		}
		if timed {
			c.recorder.Timestamp()
		}
		if err := s.command(c.recorder, i); err != nil {
			return err
		}
		h.add(s, i)
	}
	c.recorder.Barrier()
	s.copyFaults(c)
	if timed {
		c.recorder.Timestamp()
	}
	return c.recorder.End()
}

// command records one command.
func (s *segment) command(r *vk.Recorder, i int) error {
	x := &s.list[i]
	if t := &s.copies[i]; t.isCopy {
		if t.bytes == 0 {
			return nil
		}
		o := s.memory.operand(s.deviceAt(i), t.bytes)
		if t.up {
			r.Copy(o.Buffer, o.Offset, s.staging, t.staging, t.bytes)
		} else {
			r.Copy(s.staging, t.staging, o.Buffer, o.Offset, t.bytes)
		}
		return nil
	}
	k := x.Kernel.(*kernel)
	if o := s.operands[i]; k.whole && o[0] == o[1] {
		return nil
	}
	p, err := s.acc.dev.pipeline(k)
	if err != nil {
		return err
	}
	push := make([]uint32, len(x.Words))
	for i, w := range x.Words {
		n, _ := w.Value()
		push[i] = uint32(n)
	}
	return r.Dispatch(p, s.operands[i], push, k.groups)
}

// deviceAt returns the offset of a transfer's device side in the frame's memory.
func (s *segment) deviceAt(i int) int {
	side := 1
	if !s.copies[i].up {
		side = 0
	}
	at, _ := s.list[i].Offsets[side].Value()
	return at
}

// Rebase sets the memory of the session that a base stands for.
func (s *segment) Rebase(base int, memory []byte) {
	address := unsafe.Pointer(unsafe.SliceData(memory))
	s.hosts[base] = address
	for i := range s.copies {
		if t := &s.copies[i]; t.base == base {
			t.host = address
		}
	}
}

// Attach sets the memory that a base stands for.
func (s *segment) Attach(base int, m device.Memory) {
	memory, _ := m.(*Memory)
	if s.attached[base] != memory {
		s.attached[base], s.stale = memory, true
	}
}

// Resize records the commands again if lengths or attached memory have changed.
func (s *segment) Resize(length func(symbol string) (int, bool)) error {
	if !s.varies() {
		return nil
	}
	key := s.lengthsOf(length)
	if !s.stale && key == s.lengths {
		return nil
	}
	s.freeRecorded()
	s.stale = true
	if err := s.lay(length); err != nil {
		return err
	}
	s.lengths, s.stale = key, false
	return nil
}

// lengthsOf formats the lengths on which the commands depend.
func (s *segment) lengthsOf(length func(symbol string) (int, bool)) string {
	var key []byte
	for _, symbol := range s.symbols() {
		n, _ := length(symbol)
		key = fmt.Appendf(key, "%d ", n)
	}
	return string(key)
}

// symbols lists the lengths on which the commands depend.
func (s *segment) symbols() []string {
	if s.names != nil {
		return s.names
	}
	s.names = []string{}
	add := func(d graph.Dim) {
		for _, x := range d.Symbols() {
			if !slices.Contains(s.names, x) {
				s.names = append(s.names, x)
			}
		}
	}
	for i := range s.given {
		for _, w := range s.given[i].Words {
			add(w)
		}
		if k, ok := s.given[i].Kernel.(*sized); ok {
			k.eachLength(add)
		}
	}
	return s.names
}

// Run copies values in, submits the chunks, and copies values out. It returns the number of
// commands that ran; on an error, the index of the command that failed or of its chunk's first.
func (s *segment) Run(stop device.Flag, timed bool) (int, error) {
	chunks := s.plain
	if timed {
		if s.timed == nil {
			list, err := s.record(true)
			if err != nil {
				return 0, failure(err)
			}
			s.timed = list
		}
		chunks, s.times = s.timed, s.times[:0]
	}
	s.move(true)
	for _, c := range chunks {
		if stop != nil && stop.IsSet() {
			return s.owner[c.first], nil
		}
		if err := c.recorder.Run(); err != nil {
			return s.owner[c.first], failure(err)
		}
		if at, err := s.failed(c); err != nil {
			return s.owner[at], err
		}
		if timed {
			if err := s.addTimes(c); err != nil {
				return s.owner[c.first], failure(err)
			}
		}
	}
	s.move(false)
	return len(s.given), nil
}

// move copies values to staging memory if up, else from it.
func (s *segment) move(up bool) {
	for i := range s.copies {
		t := &s.copies[i]
		if t.bytes == 0 || t.up != up {
			continue
		}
		host := unsafe.Slice((*byte)(unsafe.Add(t.host, t.offset)), t.bytes)
		staged := s.staging.Host()[t.staging:][:t.bytes]
		if up {
			copy(staged, host)
		} else {
			copy(host, staged)
		}
	}
}

// addTimes appends the start of each command of a chunk and the end of the last.
func (s *segment) addTimes(c *chunk) error {
	list, err := c.recorder.Times()
	if err != nil {
		return err
	}
	if n := len(s.times); n > 0 {
		s.times = s.times[:n-1]
	}
	s.times = append(s.times, list...)
	return nil
}

// Times returns the start of each command of a timed run, and the end of the last.
func (s *segment) Times() []int64 {
	list, at := make([]int64, 0, len(s.given)+1), 0
	if len(s.times) == 0 {
		return make([]int64, len(s.given)+1)
	}
	for i := range s.given {
		list = append(list, s.times[at])
		for at < len(s.owner) && s.owner[at] == i {
			at++
		}
	}
	return append(list, s.times[len(s.times)-1])
}

// Bytes returns the bytes of the session's memory that the segment takes.
func (s *segment) Bytes() int {
	if s.staging == nil {
		return 0
	}
	return s.staging.Bytes()
}

// Free releases the memory and the recorders of the segment.
func (s *segment) Free() {
	s.freeRecorded()
	s.freeStaging()
}

// freeRecorded releases recorders and constants.
func (s *segment) freeRecorded() {
	freeChunks(s.plain)
	freeChunks(s.timed)
	s.plain, s.timed = nil, nil
	if s.constants != nil {
		s.constants.Free()
		s.constants = nil
	}
}

func (s *segment) freeStaging() {
	if s.staging != nil {
		s.staging.Free()
		s.staging = nil
	}
}

func freeChunks(list []*chunk) {
	for _, c := range list {
		if c.recorder != nil {
			c.recorder.Free()
		}
	}
}
