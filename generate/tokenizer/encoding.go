package tokenizer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
)

// An Encoding is a text or a pair of texts as a network takes it. Its lists have an element for each
// token, with special tokens and padding.
type Encoding struct {
	IDs     []int32
	TypeIDs []int32 // which text a token belongs to, as the network was trained
	Mask    []int32 // 0 for padding, 1 for other tokens
	// Offsets are the bytes of the text that tokens cover. Tokens that are put around texts, and
	// padding, have the offset 0 to 0. Offsets are at the characters at which the package tokenizers
	// of PyPI has them, which counts characters.
	Offsets []Offset
	// Specials are true for tokens that are put around texts and for padding. Special tokens in the
	// text are false.
	Specials []bool
	// Second is true for tokens of the second text of a pair.
	Second []bool
	// Overflow has the rest of texts that were truncated, in encodings of the same form, if
	// EncodingOptions.Overflow asks for it. If both texts of a pair were truncated, each part of one
	// is with each part of the other. The encodings have no overflow of their own. As in the package
	// tokenizers, a template gives types to the first part of a text only: other parts have 0 in the
	// first text and 1 in the second.
	Overflow []*Encoding
}

// An Offset is a range of bytes of a text, without the one at End.
type Offset struct{ Start, End int }

// An Input is a text to encode, or a pair.
type Input struct {
	Text   string
	Second string
	Pair   bool // Second is the second text of a pair, even if it is empty; it is if it is not empty
}

// EncodingOptions are for encodings. The zero value does what the file says.
type EncodingOptions struct {
	Plain      bool        // no special tokens are put around texts
	Overflow   bool        // Encoding.Overflow is filled
	Literal    bool        // special tokens in texts are text like any other, as texts of strangers need
	Truncation *Truncation // nil for the truncation of the file
	Padding    *Padding    // nil for the padding of the file
}

// A Truncation bounds the tokens of encodings. The zero value has no bound.
type Truncation struct {
	Max      int // tokens of an encoding, with the special ones around texts; 0 for no bound
	Stride   int // tokens that each encoding of Overflow has in common with the one before it
	Strategy Strategy
	Left     bool // texts lose tokens at their beginning, not at their end
}

// A Strategy says which text of a pair loses tokens. A single text loses tokens unless the strategy
// is OnlySecond.
type Strategy int

// The strategies. LongestFirst takes tokens from the longer text until both are equal, and then from
// both.
const (
	LongestFirst Strategy = iota
	OnlyFirst
	OnlySecond
)

// A Padding adds tokens to encodings. The zero value adds none.
type Padding struct {
	Longest  bool // all encodings of a call get the length of the longest
	Size     int  // without Longest: the least length; 0 for no padding
	Multiple int  // lengths become multiples of this number; 0 for any
	ID       int32
	TypeID   int32
	Left     bool // padding is before the text
}

// check reports numbers that make no sense.
func (p *Padding) check() error {
	if p.Size < 0 || p.Multiple < 0 || p.Size > maxLength || p.Multiple > maxLength {
		return fmt.Errorf("padding: a size of %d and multiples of %d: 0 to %d are allowed", p.Size, p.Multiple, maxLength)
	}
	return nil
}

// maxLength bounds the sizes of padding.
const maxLength = math.MaxInt32

// Truncation returns the truncation of the file; nil for none.
func (t *Tokenizer) Truncation() *Truncation {
	if t == nil || t.truncation == nil {
		return nil
	}
	c := *t.truncation
	return &c
}

// Padding returns the padding of the file; nil for none.
func (t *Tokenizer) Padding() *Padding {
	if t == nil || t.padding == nil {
		return nil
	}
	c := *t.padding
	return &c
}

// EncodeInput returns the encoding of a text or a pair. The error is as for EncodeInputs.
func (t *Tokenizer) EncodeInput(ctx context.Context, in Input, o EncodingOptions) (_ *Encoding, err error) {
	defer guard.At("").End(&err)
	list, err := t.encodeInputs(ctx, []Input{in}, o)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// EncodeInputs returns the encodings of texts and pairs. With Padding.Longest all have one length.
//
// The error is ErrLimit or the context's, or says that the texts cannot be truncated: special tokens
// are too many for Truncation.Max, Truncation.Stride is not less than the tokens of a text, the
// strategy truncates a text that is too short or missing, or that the file has no form for pairs.
func (t *Tokenizer) EncodeInputs(ctx context.Context, in []Input, o EncodingOptions) (_ []*Encoding, err error) {
	defer guard.At("").End(&err)
	return t.encodeInputs(ctx, in, o)
}

func (t *Tokenizer) encodeInputs(ctx context.Context, in []Input, o EncodingOptions) (list []*Encoding, err error) {
	defer caught(&err)
	if !t.made() {
		return nil, errNotRead
	}
	if o.Truncation == nil {
		o.Truncation = t.truncation
	}
	if o.Padding == nil {
		o.Padding = t.padding
	}
	if p := o.Padding; p != nil {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("tokenizer: %w", err)
		}
	}
	bytes := 0
	for _, x := range in {
		bytes += len(x.Text) + len(x.Second)
	}
	w := t.limit.work(ctx, encodeRate, bytes)
	check(ctx.Err())
	for i, x := range in {
		e, err := t.encoding(w, x, o)
		if err != nil && len(in) > 1 {
			err = fmt.Errorf("text %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	pad(w, list, o.Padding)
	w.countOpen()
	return list, nil
}

// Memory of a token of an encoding.
const encodedBytes = 4 + 4 + 4 + 16 + 2

// A placedText is a text with its tokens.
type placedText struct {
	text   string
	ids    []int32
	places []place
	rest   bool // it is not the first part of the text
}

// placedText returns the tokens of a text.
func (t *Tokenizer) placedText(w *work, text string, literal bool) placedText {
	if len(text) > maxLength {
		check(fmt.Errorf("%w: a text of %d bytes", ErrLimit, len(text)))
	}
	w.steps(len(text))
	e, _ := t.placing.Get().(*encoder)
	if e == nil {
		e = newEncoder(t)
		e.scratch.placed = true
	}
	p := placed(w, text)
	ids, places := e.encode(w, p, literal)
	w.release(spanBytes * len(p.at))
	t.placing.Put(e)
	return placedText{text: text, ids: ids, places: places}
}

// encoding returns one encoding without padding.
func (t *Tokenizer) encoding(w *work, in Input, o EncodingOptions) (*Encoding, error) {
	texts := []placedText{t.placedText(w, in.Text, o.Literal)}
	if in.Pair || in.Second != "" {
		texts = append(texts, t.placedText(w, in.Second, o.Literal))
	}
	slots, err := t.slots(len(texts) == 2)
	if err != nil {
		return nil, err
	}
	if o.Plain {
		slots = slices.DeleteFunc(slices.Clone(slots), func(s slot) bool { return s.text == special })
		for i := range slots {
			slots[i].all = false
		}
	}
	windows, err := truncated(w, texts, slots, o.Truncation, o.Overflow)
	if err != nil {
		return nil, err
	}
	var list []*Encoding
	add := func(parts ...placedText) { list = append(list, t.filled(w, slots, parts)) }
	for i, first := range windows[0] {
		if len(windows) == 1 {
			add(first)
			continue
		}
		for k, second := range windows[1] {
			if i > 0 || k == 0 {
				add(first, second)
			}
		}
	}
	if len(windows) == 2 {
		for _, second := range windows[1][1:] {
			add(windows[0][0], second)
		}
	}
	list[0].Overflow = list[1:]
	return list[0], nil
}

// filled puts texts into slots.
func (t *Tokenizer) filled(w *work, slots []slot, texts []placedText) *Encoding {
	n := 0
	for _, s := range slots {
		if n += len(s.ids); s.text != special {
			n += len(texts[s.text].ids)
		}
	}
	w.steps(n)
	w.hold(encodedBytes * n)
	e := &Encoding{
		IDs: make([]int32, 0, n), TypeIDs: make([]int32, 0, n), Mask: slices.Repeat([]int32{1}, n),
		Offsets: make([]Offset, 0, n), Specials: make([]bool, 0, n), Second: make([]bool, 0, n),
	}
	for _, s := range slots {
		ids, kind := s.ids, s.kind
		if s.text == special {
			e.Offsets = append(e.Offsets, make([]Offset, len(ids))...)
		} else {
			x := texts[s.text]
			ids = x.ids
			e.Offsets = append(e.Offsets, t.offsets(x)...)
			if x.rest && !s.all {
				kind = int32(s.text)
			}
		}
		e.IDs = append(e.IDs, ids...)
		e.TypeIDs = append(e.TypeIDs, slices.Repeat([]int32{kind}, len(ids))...)
		e.Specials = append(e.Specials, slices.Repeat([]bool{s.text == special}, len(ids))...)
		e.Second = append(e.Second, slices.Repeat([]bool{s.text == 1}, len(ids))...)
	}
	return e
}

// pad pads a batch.
func pad(w *work, list []*Encoding, p *Padding) {
	if p == nil || !p.Longest && p.Size == 0 {
		return
	}
	size := p.Size
	if p.Longest {
		size = 0
		for _, e := range list {
			size = max(size, len(e.IDs))
		}
	}
	if p.Multiple > 0 && size%p.Multiple > 0 {
		size += p.Multiple - size%p.Multiple
	}
	for _, e := range list {
		e.pad(w, p, size)
		for _, o := range e.Overflow {
			o.pad(w, p, size)
		}
	}
}

func (e *Encoding) pad(w *work, p *Padding, size int) {
	n := size - len(e.IDs)
	if n <= 0 {
		return
	}
	w.steps(n)
	w.hold(encodedBytes * size)
	e.IDs = padded(e.IDs, p.ID, n, p.Left)
	e.TypeIDs = padded(e.TypeIDs, p.TypeID, n, p.Left)
	e.Mask = padded(e.Mask, 0, n, p.Left)
	e.Offsets = padded(e.Offsets, Offset{}, n, p.Left)
	e.Specials = padded(e.Specials, true, n, p.Left)
	e.Second = padded(e.Second, false, n, p.Left)
}

func padded[T any](list []T, by T, n int, left bool) []T {
	if left {
		return append(slices.Repeat([]T{by}, n), list...)
	}
	return append(list, slices.Repeat([]T{by}, n)...)
}
