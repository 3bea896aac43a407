package tokenizer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/internal/budget"
)

// ErrLimit reports a file or a text that takes more memory or more work than a Limit allows.
var ErrLimit = errors.New("tokenizer: past the limit")

// Options are for reading a tokenizer. The zero value has the default limits.
type Options struct {
	// Limit bounds the reading of the file, and each call of the tokenizer's methods.
	Limit Limit
}

// Limit bounds one call. A number of 0 stands for the default, which depends on the bytes of the
// call's file, text, ids or chat:
//
//	call       Bytes                     Steps
//	Load       64 MiB + 64 for a byte    no bound: they follow the bytes
//	Encode     64 MiB + 64 for a byte    2^26 + 1024 for a byte
//	Decode     64 MiB + 64 for a byte    2^26 + 1024 for a byte
//	ApplyChat  64 MiB + 16 for a byte    2^22 + 4 for a byte
//
// An id counts as 16 bytes. A Stream holds 64 MiB, and its steps have no bound.
type Limit struct {
	Bytes int64 // memory held at once, beside the argument
	Steps int64 // units of work, of about a nanosecond to a microsecond each
}

// A rate is the default limit of a call: a base, and more for each byte of its argument.
type rate struct{ base, bytes, steps, stepsOfByte int64 }

var (
	readRate   = rate{base: 64 << 20, bytes: 64}
	encodeRate = rate{base: 64 << 20, bytes: 64, steps: 1 << 26, stepsOfByte: 1024}
	chatRate   = rate{base: 64 << 20, bytes: 16, steps: 1 << 22, stepsOfByte: 4}
)

// idBytes is the size that an id counts as.
const idBytes = 16

// A work counts the memory and the steps of one call. Past a limit, or when the context ends, it
// panics with a failure, which caught turns into an error.
type work struct {
	budget   *budget.Budget
	open     int // steps that the budget has not counted yet
	counted  int // steps that the budget has counted
	room     int // bytes that the budget has counted and that are free
	searches map[*program]*search
	spare    []*cursor
	eager    bool // text is decoded as soon as it can be
	ofByte   int  // memory that the default limit allows for a byte of the argument
}

// A failure is the error of a panic that ends a call.
type failure struct{ error }

// caught turns a failure into an error.
func caught(err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.error
	default:
		panic(f)
	}
}

// work begins to count a call. Bytes is the size of its argument.
func (l Limit) work(ctx context.Context, r rate, bytes int) *work {
	limits := budget.Limits(l)
	if limits.Bytes == 0 {
		limits.Bytes = r.base + r.bytes*int64(bytes)
	}
	if limits.Steps == 0 && r.steps > 0 {
		limits.Steps = r.steps + r.stepsOfByte*int64(bytes)
	}
	w := &work{budget: budget.New(ctx, limits)}
	if l.Bytes == 0 {
		w.ofByte = int(r.bytes)
	}
	return w
}

// argument counts bytes of the argument that become known during the call.
func (w *work) argument(bytes int) { w.budget.Release(int64(w.ofByte) * int64(bytes)) }

func check(err error) {
	switch {
	case err == nil:
	case errors.Is(err, budget.ErrBytes), errors.Is(err, budget.ErrSteps):
		panic(failure{fmt.Errorf("%w: %w", ErrLimit, err)})
	default:
		panic(failure{err})
	}
}

// Portions of steps and of bytes that the budget counts at once.
const (
	portion     = 1 << 10
	roomPortion = 1 << 14
)

// steps counts n steps of work.
func (w *work) steps(n int) {
	if w.open += n; w.open >= portion {
		w.countOpen()
	}
}

// countOpen passes the open steps to the budget.
func (w *work) countOpen() {
	n := w.open
	w.open = 0
	w.counted += n
	check(w.budget.Steps(int64(n)))
}

// hold counts memory before it is allocated.
func (w *work) hold(bytes int) {
	if w.room -= bytes; w.room < 0 {
		w.grow()
	}
}

// grow passes the missing bytes to the budget, and a further portion if the budget has it.
func (w *work) grow() {
	lack := int64(-w.room)
	if w.budget.Bytes(lack+roomPortion) == nil {
		w.room = roomPortion
		return
	}
	w.room = 0
	check(w.budget.Bytes(lack))
}

// release gives memory back.
func (w *work) release(bytes int) {
	if w.room += bytes; w.room > 2*roomPortion {
		w.budget.Release(int64(w.room - roomPortion))
		w.room = roomPortion
	}
}

// text returns the result of f, made from a text of a size in bytes. The result is longer by at
// most a factor of times.
func (w *work) text(bytes, times int, f func() string) string {
	w.steps(bytes)
	w.hold(times * bytes)
	text := f()
	w.release(times*bytes - len(text))
	return text
}

// jsonValue is the most memory that a value of a JSON file takes in all tables made of it, beside
// its bytes.
const jsonValue = 64

// json counts the memory for the values of a JSON text.
func (w *work) json(data []byte) {
	values, quoted := 1, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == ':' || c == '[' || c == '{'):
			values++
		}
	}
	w.steps(len(data))
	w.hold(2*len(data) + jsonValue*values)
}

// A builder makes a text. It counts bytes before it allocates them.
type builder struct {
	work    *work
	bytes   strings.Builder
	counted int
}

func (w *work) builder(bytes int) *builder {
	b := &builder{work: w}
	b.count(bytes)
	b.bytes.Grow(bytes)
	return b
}

// count counts bytes to append.
func (b *builder) count(bytes int) {
	if size := b.bytes.Len() + bytes; size > b.counted {
		more := size - b.counted + b.counted/2
		b.work.hold(more)
		b.counted += more
	}
}

// WriteString appends a text. It never fails.
func (b *builder) WriteString(s string) (int, error) {
	b.work.steps(1 + len(s)/16)
	b.count(len(s))
	return b.bytes.WriteString(s)
}

// String returns the text. Its bytes stay counted.
func (b *builder) String() string {
	b.work.release(b.counted - b.bytes.Len())
	b.counted = b.bytes.Len()
	return b.bytes.String()
}
