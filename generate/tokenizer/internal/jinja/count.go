package jinja

import "strings"

// The most memory that values take beside the bytes of texts.
const (
	itemBytes  = 32  // an item of a list
	fieldBytes = 160 // a field of an object
	scopeBytes = 512
)

// scopeSteps is the work of a scope and its variables.
const scopeSteps = 8

// steps counts work. A step is the work of a small construct, or of 16 bytes of a text.
func (r *run) steps(n int) {
	if err := r.budget.Steps(int64(n)); err != nil {
		panic(failure{err})
	}
}

// reads counts the work on the bytes of a text.
func (r *run) reads(bytes int) { r.steps(1 + bytes/16) }

// hold counts memory before it is allocated.
func (r *run) hold(bytes int) {
	if err := r.budget.Bytes(int64(bytes)); err != nil {
		panic(failure{err})
	}
}

// makes counts the memory and the work of a text before it is made.
func (r *run) makes(bytes int) {
	bounded(bytes)
	r.reads(bytes)
	r.hold(bytes)
}

func bounded(bytes int) {
	if bytes > MaxText {
		fail("a text of more than %d bytes", MaxText)
	}
}

// list returns a list of values. The caller has counted their memory.
func (r *run) list(items []any) *List {
	r.steps(1 + len(items))
	r.hold(2 * itemBytes)
	l := NewList(items)
	l.check()
	return l
}

// object returns an object without fields.
func (r *run) object() *Dict {
	r.hold(fieldBytes)
	return NewDict()
}

// set sets a field of an object.
func (r *run) set(d *Dict, key string, value any) {
	r.reads(len(key))
	r.hold(fieldBytes)
	d.Set(key, value)
	d.check()
}

// A builder makes a text. It counts bytes before it allocates them.
type builder struct {
	run     *run
	bytes   strings.Builder
	counted int
}

func (r *run) builder() *builder { return &builder{run: r} }

// count counts the bytes of a text to append, in portions.
func (b *builder) count(bytes int) {
	size := b.bytes.Len() + bytes
	bounded(size)
	if size > b.counted {
		more := size - b.counted + 64
		b.run.makes(more)
		b.counted += more
	}
}

// WriteString appends a text, as fmt and strings require of a writer.
func (b *builder) WriteString(s string) (int, error) {
	b.count(len(s))
	return b.bytes.WriteString(s)
}

func (b *builder) WriteByte(c byte) error {
	b.count(1)
	return b.bytes.WriteByte(c)
}

func (b *builder) WriteRune(c rune) (int, error) {
	b.count(4)
	return b.bytes.WriteRune(c)
}

// Write appends bytes.
func (b *builder) Write(p []byte) (int, error) {
	b.count(len(p))
	return b.bytes.Write(p)
}

func (b *builder) text() string { return b.bytes.String() }
