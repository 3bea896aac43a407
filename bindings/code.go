package bindings

import (
	"sync/atomic"
	"unsafe"
)

// The words before the operands of a command in memory, as csrc/core/run.h says.
const (
	commandKernel = iota
	commandLength
	commandScratch
	commandOperands
	commandHeader
)

// job is the nacre_job of csrc/core/run.h.
type job struct {
	code     uint64
	commands uint64
	pool     uint64
	threads  uint64
	times    uint64
	stop     uint64
	done     uint64
	failure  [1 + len(Failure{}.Args)]int64
}

// Code is a list of commands in memory outside Go's heap. Addresses in it are numbers: their memory
// must stay, and must not move, while Run runs.
type Code struct {
	memory  []byte
	words   []uint64
	job     *job
	count   int
	times   []int64
	lending lending
}

// NewCode returns a Code with space for that many commands, and words and operands in total. It
// returns nil if there is no memory.
func NewCode(commands, words, operands int) *Code {
	const size = (int(unsafe.Sizeof(job{})) + 63) / 64 * 64
	total := commands*commandHeader + words + operands
	memory := Alloc(size + 8*total + 8*(commands+1))
	if memory == nil {
		return nil
	}
	at := unsafe.Pointer(unsafe.SliceData(memory))
	c := &Code{memory: memory, job: (*job)(at)}
	c.words = unsafe.Slice((*uint64)(unsafe.Add(at, size)), total)[:0]
	c.times = unsafe.Slice((*int64)(unsafe.Add(at, size+8*total)), commands+1)
	*c.job = job{code: address(unsafe.Pointer(unsafe.SliceData(c.words)))}
	return c
}

// Free releases the memory. Run must not be called afterwards.
func (c *Code) Free() {
	c.lending.free()
	Free(c.memory)
	*c = Code{}
}

// Bytes returns the size of the code in memory.
func (c *Code) Bytes() int { return len(c.memory) }

// Append adds a command. It returns the places of its first operand and of its first word, for Set.
func (c *Code) Append(k Kernel, words []int64, operands int) (operand, word int) {
	start := len(c.words)
	operand = start + commandHeader
	word = operand + operands
	c.words = c.words[:word+len(words)]
	c.words[start+commandKernel] = uint64(k.Word())
	c.words[start+commandLength] = uint64(len(c.words) - start)
	c.words[start+commandScratch] = 0
	c.words[start+commandOperands] = uint64(operands)
	clear(c.words[operand:word])
	for i, w := range words {
		c.words[word+i] = uint64(w)
	}
	c.count++
	return operand, word
}

// ScratchOf returns the place of the scratch address of the command with its first operand at place
// operand.
func ScratchOf(operand int) int { return operand - commandHeader + commandScratch }

// Set changes a word.
func (c *Code) Set(place int, word uint64) { c.words[place] = word }

// Span is memory as numbers. It does not keep the memory.
type Span struct {
	at    uintptr
	bytes int
}

// SpanOf returns the span of b.
func SpanOf(b []byte) Span { return Span{uintptr(unsafe.Pointer(unsafe.SliceData(b))), len(b)} }

// Point sets an operand or a scratch to an offset within memory that contains all of it. Where
// Reaches reports false of the memory, Run copies it there and back.
func (c *Code) Point(place int, of Span, offset int) { c.point(place, of, offset) }

// Len returns the number of commands.
func (c *Code) Len() int { return c.count }

// The values of flags, as csrc/core/parallel.h says.
const (
	flagRuns = iota
	flagStops
	flagYields
)

// Flag stops runs. It is outside Go's heap, so that kernels can read it.
type Flag struct{ word *int32 }

// NewFlag returns a flag that is not set, or nil if there is no memory. Free releases it.
func NewFlag() *Flag {
	b := Alloc(64)
	if b == nil {
		return nil
	}
	f := &Flag{(*int32)(unsafe.Pointer(unsafe.SliceData(b)))}
	f.Clear()
	return f
}

// Set stops the runs that poll the flag, current and future ones, between two chunks of work.
func (f *Flag) Set() { atomic.StoreInt32(f.word, flagStops) }

// Clear allows runs again.
func (f *Flag) Clear() { atomic.StoreInt32(f.word, flagClear) }

// IsSet reports whether Set was called after the last Clear. In a build for one thread, it lets other
// goroutines run first, if they have not for a while.
func (f *Flag) IsSet() bool {
	pause()
	return atomic.LoadInt32(f.word) == flagStops
}

// Free releases the flag. No run may use it afterwards.
func (f *Flag) Free() { Free(unsafe.Slice((*byte)(unsafe.Pointer(f.word)), 64)) }

// Failure is why a command stopped a run: the elements of an input, or a lack of memory.
type Failure struct {
	code int64
	Args [4]int
}

// noMemory is the code of a run that did not begin, because there is no memory for operands.
const noMemory = -1

// Text is a format with a %d for each of the Args; Kind is SHAPE, UNSUPPORTED or MEMORY.
func (f Failure) Text() string { text, _ := f.row(); return text }
func (f Failure) Kind() string { _, kind := f.row(); return kind }

func (f Failure) row() (text, kind string) {
	if f.code == noMemory {
		return "no memory for copies of operands", "MEMORY"
	}
	return failure(f.code)
}

// Run runs the commands on at most threads threads of the pool and returns how many completed. All
// do unless one fails or stop is set. If one fails, failed is true and failure says why. If timed
// is true, Times returns their times.
func (c *Code) Run(p *Pool, threads int, stop *Flag, timed bool) (done int, f Failure, failed bool) {
	c.job.commands = uint64(c.count)
	c.job.threads = uint64(threads)
	c.job.pool = p.word()
	if stop == nil {
		stop = unset()
	}
	c.job.stop = 0
	if stop != nil {
		c.job.stop = address(unsafe.Pointer(stop.word))
	}
	if !c.lending.take(c.words) {
		return 0, Failure{code: noMemory}, true
	}
	c.run(timed)
	c.lending.give()
	if code := c.job.failure[0]; code != 0 {
		f.code = code
		for i := range f.Args {
			f.Args[i] = int(c.job.failure[1+i])
		}
		failed = true
	}
	return int(c.job.done), f, failed
}

// Times returns when each command of a timed run began, and when the last one ended, in nanoseconds
// of an arbitrary clock.
func (c *Code) Times() []int64 { return c.times[:c.count+1] }
