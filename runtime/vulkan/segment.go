package vulkan

import (
	"maps"
	"slices"
	"time"
	"unsafe"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// segment is commands that a run submits: copies from the session's memory, dispatches, and copies
// back. They are recorded once. If they depend on attached memory, they are recorded again when it
// changes. Lengths change constants of the recorded commands if that is enough; otherwise the
// commands are recorded again.
type segment struct {
	acc       *Accelerator
	memory    *Memory           // of the frame
	given     []device.Recorded // as the plan has them
	hosts     map[int]unsafe.Pointer
	attached  map[int]*Memory // by base: memory outside the frame's
	symbols   [][]string      // by command of given: the lengths that it depends on
	lengths   map[string]int  // for which the commands are recorded
	stale     bool            // memory was attached since
	commands  []command
	limited   []int // by command of given: its command with limits; -1 for none
	first     []int // by command of given: the first of commands; then the number of commands
	order     []int // in which commands are recorded
	levels    []int // by command: commands of one level run without barriers between them
	moved     *Memory
	constants constants
	faults    faults
	staging   *vk.Buffer
	plain     []*chunk
	timed     []*chunk // nil until a run is timed
	times     []int64
	ended     time.Time // of the last timed run
}

// command is a dispatch or a copy of a segment.
type command struct {
	recorded *device.Recorded
	owner    int       // index in the segment's given list
	copy     *transfer // nil for a dispatch
	with     []int     // further uploads that the copy makes
	kernel   *kernel   // nil for a copy
	push     []uint32
	planned  []vk.Operand // the operands where the plan has them
	operands []vk.Operand // where the commands find them
	isGone   bool         // there is nothing to do
	by       []int        // the commands that do the work of one that is gone
}

// writes reports whether the command writes operand k.
func (c *command) writes(k int) bool {
	if c.copy != nil {
		return c.copy.up
	}
	return c.kernel.module.Kernel.Writes>>k&1 != 0
}

// transfer is a copy between the session's memory and staging memory.
type transfer struct {
	base, offset int            // in the session's memory
	host         unsafe.Pointer // the address that base stands for
	staging      int            // offset in staging memory
	bytes        int
	up           bool
}

// Record prepares commands for runs in memory m. Commands that depend on lengths or on attached
// memory are recorded by Resize instead.
func (a *Accelerator) Record(list []device.Recorded, m device.Memory) (device.AcceleratorSegment, error) {
	memory, _ := m.(*Memory)
	s := &segment{acc: a, memory: memory, given: list, hosts: map[int]unsafe.Pointer{}, attached: map[int]*Memory{}}
	s.symbols = symbolsOf(list)
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

// symbolsOf lists the lengths that each command depends on.
func symbolsOf(list []device.Recorded) [][]string {
	symbols := make([][]string, len(list))
	for i := range list {
		add := func(d graph.Dim) {
			for _, x := range d.Symbols() {
				if !slices.Contains(symbols[i], x) {
					symbols[i] = append(symbols[i], x)
				}
			}
		}
		for _, w := range list[i].Words {
			add(w)
		}
		if k, ok := list[i].Kernel.(*sized); ok {
			k.eachLength(add)
		}
	}
	return symbols
}

// varies reports whether the commands depend on lengths, or on attached memory.
func (s *segment) varies() bool {
	for i := range s.given {
		r := &s.given[i]
		if len(s.symbols[i]) > 0 {
			return true
		}
		_, copies := r.Kernel.(transferKernel)
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
	s.acc.dev.records.Add(1)
	err := s.expand(length)
	if err == nil {
		err = s.prepare(length)
	}
	if err == nil {
		err = s.schedule()
	}
	if err == nil {
		err = s.acc.dev.compile(s.kernels())
	}
	if err == nil {
		s.plain, err = s.record(false)
	}
	return failure(err)
}

// expand lists all commands.
func (s *segment) expand(length func(symbol string) (int, bool)) error {
	s.commands, s.first = make([]command, 0, len(s.given)), make([]int, 0, len(s.given)+1)
	for i := range s.given {
		s.first = append(s.first, len(s.commands))
		list, err := s.commandsOf(i, length)
		if err != nil {
			return err
		}
		for k := range list {
			s.commands = append(s.commands, command{recorded: &list[k], owner: i})
		}
	}
	s.first = append(s.first, len(s.commands))
	s.limited = make([]int, len(s.given))
	for i := range s.given {
		s.limited[i] = -1
		if k, ok := s.given[i].Kernel.(*sized); ok {
			if at := k.limited(s.commands[s.first[i]:s.first[i+1]]); at >= 0 {
				s.limited[i] = s.first[i] + at
			}
		}
	}
	return nil
}

// kernels lists the kernels of all commands.
func (s *segment) kernels() (list []*kernel) {
	for i := range s.commands {
		if c := &s.commands[i]; c.kernel != nil && !c.isGone {
			list = append(list, c.kernel)
		}
	}
	return list
}

// commandsOf returns the commands that a given one becomes: a node with lengths in its extents becomes
// its dispatches for these lengths.
func (s *segment) commandsOf(given int, length func(symbol string) (int, bool)) ([]device.Recorded, error) {
	if k, ok := s.given[given].Kernel.(*sized); ok {
		return k.expand(&s.given[given], length)
	}
	return s.given[given : given+1], nil
}

// Rebase sets the memory of the session that a base stands for.
func (s *segment) Rebase(base int, memory []byte) {
	address := unsafe.Pointer(unsafe.SliceData(memory))
	s.hosts[base] = address
	for i := range s.commands {
		if t := s.commands[i].copy; t != nil && t.base == base {
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

// Resize makes the commands fit lengths and attached memory that have changed.
func (s *segment) Resize(length func(symbol string) (int, bool)) error {
	if !s.varies() {
		return nil
	}
	now := map[string]int{}
	for _, list := range s.symbols {
		for _, symbol := range list {
			now[symbol], _ = length(symbol)
		}
	}
	if !s.stale && (maps.Equal(now, s.lengths) || s.patch(now, length)) {
		s.lengths = now
		return nil
	}
	s.freeRecorded()
	s.stale = true
	if err := s.lay(length); err != nil {
		return err
	}
	s.lengths, s.stale = now, false
	return nil
}

// Run copies values in, submits the chunks, and copies values out. A chunk is submitted before the
// wait for the one before it, so that the device does not wait for the host. Run returns the number
// of commands that ran; on an error, the index of the command that failed or of its chunk's first.
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
	submitted := 0
	settle := func(from int) {
		for _, c := range chunks[from:submitted] {
			c.recorder.Wait() // an error is second to the one before
		}
	}
	for i, c := range chunks {
		if stop != nil && stop.IsSet() {
			settle(i)
			return s.ownerOf(c), nil
		}
		for ; submitted < min(i+2, len(chunks)); submitted++ {
			if err := chunks[submitted].recorder.Submit(); err != nil {
				settle(i)
				return s.ownerOf(chunks[submitted]), failure(err)
			}
		}
		begin := time.Now()
		err := c.recorder.Wait()
		s.acc.dev.waited.Add(int64(time.Since(begin)))
		if err != nil {
			settle(i + 1)
			return s.ownerOf(c), failure(err)
		}
		if owner, err := s.failed(c); err != nil {
			settle(i + 1)
			if lost := s.clearFaults(); lost != nil {
				err = failure(lost)
			}
			return owner, err
		}
		if timed {
			if err := s.addTimes(c); err != nil {
				settle(i + 1)
				return s.ownerOf(c), failure(err)
			}
			s.ended = time.Now()
		}
	}
	s.move(false)
	return len(s.given), nil
}

// ownerOf returns the given command of a chunk's first.
func (s *segment) ownerOf(c *chunk) int { return s.commands[c.commands[0]].owner }

// move copies values to staging memory if up, else from it.
func (s *segment) move(up bool) {
	for i := range s.commands {
		t := s.commands[i].copy
		if t == nil || t.bytes == 0 || t.up != up {
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

// Times returns the start of each given command of a timed run, and the end of the last.
func (s *segment) Times() []int64 {
	if len(s.times) == 0 {
		return make([]int64, len(s.given)+1)
	}
	list := make([]int64, len(s.first))
	for i, at := range s.first {
		list[i] = s.times[at]
	}
	return list
}

// Began returns when the first command of the last timed run began. The end of the last command is
// when the wait for it ended.
func (s *segment) Began() time.Time {
	if len(s.times) == 0 {
		return s.ended
	}
	return s.ended.Add(-time.Duration(s.times[len(s.times)-1] - s.times[0]))
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
	for _, m := range []**Memory{&s.moved, &s.constants.memory, &s.faults.memory} {
		if *m != nil {
			(*m).Free()
			*m = nil
		}
	}
}

// freeRecorded releases the recorders.
func (s *segment) freeRecorded() {
	freeChunks(s.plain)
	freeChunks(s.timed)
	s.plain, s.timed = nil, nil
}

func (s *segment) freeStaging() {
	if s.staging != nil {
		s.staging.Free()
		s.staging = nil
	}
}
