package vulkan

import (
	"fmt"
	"unsafe"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/device"
)

// maxDispatches bounds the dispatches of one submission, and maxWork their multiply-adds:
// drivers of phones give up on submissions that take long.
const (
	maxDispatches = 100
	maxWork       = 1 << 30
)

// segment is commands recorded once, which a run submits: copies of values from the
// session's memory, dispatches, and copies back.
type segment struct {
	acc       *Accelerator
	memory    *Memory // of the frame
	constants *Memory // those that steps bring with them; nil for none
	staging   *vk.Buffer
	list      []device.Recorded
	copies    []transfer // by command; bytes is 0 for dispatches
	operands  [][]vk.Operand
	faults    []fault // in the order of commands
	faultsAt  int     // where staging memory has their words
	plain     []*chunk
	timed     []*chunk // nil until a run is timed
	times     []int64
}

// transfer is a copy between the session's memory and staging memory.
type transfer struct {
	base, offset int            // in the session's memory
	host         unsafe.Pointer // what base stands for
	staging      int            // offset in staging memory
	bytes        int
	up           bool
}

// chunk is commands from first up to end that are submitted together.
type chunk struct {
	first, end int
	recorder   *vk.Recorder
}

// has reports whether the chunk has command i.
func (c *chunk) has(i int) bool { return i >= c.first && i < c.end }

// Record lays commands out for runs in memory m.
func (a *Accelerator) Record(list []device.Recorded, m device.Memory) (device.Segment, error) {
	memory, _ := m.(*Memory)
	s := &segment{acc: a, memory: memory, list: list, copies: make([]transfer, len(list)), operands: make([][]vk.Operand, len(list))}
	err := s.prepare()
	if err == nil {
		s.plain, err = s.record(false)
	}
	if err != nil {
		s.Free()
		return nil, failure(err)
	}
	return s, nil
}

// prepare finds the operands of all commands, and makes staging memory.
func (s *segment) prepare() error {
	staged := 0
	if err := s.bringConstants(); err != nil {
		return err
	}
	if err := s.acc.weights.hold(s.weights()); err != nil {
		return err
	}
	own := 0
	for i := range s.list {
		r := &s.list[i]
		if t, ok := r.Kernel.(transferKernel); ok {
			s.copies[i] = s.transfer(r, t == upload, staged)
			staged += alignUp(s.copies[i].bytes)
			continue
		}
		for k := range r.Operands {
			o, n, err := s.operand(r, k, own)
			if err != nil {
				return err
			}
			if x := &r.Operands[k]; x.Index == faultIndex {
				s.faults = append(s.faults, fault{i, own, string(x.Data)})
			}
			own += n
			s.operands[i] = append(s.operands[i], o)
		}
	}
	s.faultsAt = staged
	if staged += faultBytes * len(s.faults); staged == 0 {
		return nil
	}
	var err error
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

// transfer returns the copy of an upload or a download, whose operands are the value and
// its copy.
func (s *segment) transfer(r *device.Recorded, up bool, staged int) transfer {
	host := 0
	if !up {
		host = 1
	}
	at, _ := r.Offsets[host].Value()
	n, _ := r.Words[0].Value()
	return transfer{base: r.Bases[host], offset: at, staging: staged, bytes: n, up: up}
}

// operand returns operand k of a dispatch. Own is where in the segment's constants the next
// lies; the bytes that the operand has of them are returned.
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
	case r.Bases[k] != device.BaseDevice:
		return vk.Operand{}, 0, fmt.Errorf("operand %d of %s lies in the session's memory", k, r.Kernel.Op())
	}
	n := r.Bytes[k]
	if o.Bytes > 0 {
		n = o.Bytes
	} else if inner, _ := o.Offset.Value(); inner > 0 {
		n -= inner
	}
	n = min(wholeWords(n), s.memory.bytes-at, s.acc.dev.info.Caps.MaxRange)
	return s.memory.operand(at, n), 0, nil
}

// record records the commands in chunks, with times of all of them if timed.
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

// chunkEnd returns where the chunk ends that begins with command first.
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
	if t := &s.copies[i]; t.bytes > 0 {
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

// deviceAt returns where the device's side of a transfer lies in the frame's memory.
func (s *segment) deviceAt(i int) int {
	side := 1
	if !s.copies[i].up {
		side = 0
	}
	at, _ := s.list[i].Offsets[side].Value()
	return at
}

// Rebase sets the address that a base of the session's memory stands for.
func (s *segment) Rebase(base int, address unsafe.Pointer) {
	for i := range s.copies {
		if t := &s.copies[i]; t.bytes > 0 && t.base == base {
			t.host = address
		}
	}
}

// Resize does nothing: words and offsets are numbers.
func (s *segment) Resize(func(symbol string) (int, bool)) error { return nil }

// Run copies values in, submits the chunks, and copies values out.
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
			return c.first, nil
		}
		if err := c.recorder.Run(); err != nil {
			return c.first, failure(err)
		}
		if at, err := s.failed(c); err != nil {
			return at, err
		}
		if timed {
			if err := s.addTimes(c); err != nil {
				return c.first, failure(err)
			}
		}
	}
	s.move(false)
	return len(s.list), nil
}

// move copies values to staging memory, or from there.
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

// addTimes adds when each command of a chunk began, and when the last ended.
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

// Times is when each command of a timed run began, and when the last ended.
func (s *segment) Times() []int64 { return s.times }

// Bytes returns the session's memory that the segment takes.
func (s *segment) Bytes() int {
	if s.staging == nil {
		return 0
	}
	return s.staging.Bytes()
}

// Free gives back what the segment holds.
func (s *segment) Free() {
	freeChunks(s.plain)
	freeChunks(s.timed)
	if s.staging != nil {
		s.staging.Free()
	}
	if s.constants != nil {
		s.constants.Free()
	}
}

func freeChunks(list []*chunk) {
	for _, c := range list {
		if c.recorder != nil {
			c.recorder.Free()
		}
	}
}
