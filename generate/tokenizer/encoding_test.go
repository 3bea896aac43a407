package tokenizer

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// An answer is an encoding of the package tokenizers of PyPI.
type answer struct {
	IDs, Types, Mask, Offsets, Specials []int32
	Overflow                            []answer
	More                                int // encodings of the overflow, of which the first are there
}

// A batch is inputs with settings and encodings.
type batch struct {
	Inputs              [][]int
	Special             bool
	Truncation, Padding json.RawMessage
	Encodings           []answer // nil: there is an error
}

// encodingsFolder is answersFolder for encodings.
func encodingsFolder(t testing.TB) fs.FS {
	if os.Getenv("NACRE_TOKENIZERS") != "" {
		return answersFolder(t)
	}
	z, err := zip.OpenReader("testdata/encodings.zip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

// TestEncodings compares encodings with those of the package tokenizers.
func TestEncodings(t *testing.T) {
	folder, from := answersFolder(t), encodingsFolder(t)
	var texts []string
	readAnswer(t, folder, "texts.json", &texts)
	const suffix = ".encodings.json"
	names, err := fs.Glob(from, "*"+suffix)
	if err != nil || len(names) == 0 {
		t.Fatal("no encodings:", err)
	}
	for _, file := range names {
		t.Run(strings.TrimSuffix(file, suffix), func(t *testing.T) {
			data, err := fs.ReadFile(folder, strings.TrimSuffix(file, suffix)+".json")
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			var batches []batch
			readAnswer(t, from, file, &batches)
			c := &counter{T: t}
			for _, b := range batches {
				b.compare(c, tok, texts)
			}
			if t.Logf("%d of %d comparisons agree", c.all-c.wrong, c.all); c.wrong > 0 || c.all == 0 {
				t.Errorf("%d of %d comparisons differ", c.wrong, c.all)
			}
		})
	}
}

func (b *batch) compare(c *counter, tok *Tokenizer, texts []string) {
	c.Helper()
	var in []Input
	for _, x := range b.Inputs {
		i := Input{Text: texts[x[0]], Pair: len(x) == 2}
		if i.Pair {
			i.Second = texts[x[1]]
		}
		in = append(in, i)
	}
	var err error
	o := EncodingOptions{Plain: !b.Special, Overflow: true}
	if tok.truncation, err = readTruncation(b.Truncation); err != nil {
		c.Fatal(err)
	}
	if tok.padding, err = readPadding(b.Padding); err != nil {
		c.Fatal(err)
	}
	got, err := tok.EncodeInputs(c.Context(), in, o)
	if (err != nil) != (b.Encodings == nil) {
		c.check(false, "%+v, %s: the error is %v", in, b.Truncation, err)
		return
	}
	for i, e := range got {
		want := b.Encodings[i]
		c.check(len(e.Overflow) == want.More, "%+v: %d encodings of the overflow, want %d", in[i], len(e.Overflow), want.More)
		e.compare(c, tok, in[i], want)
		for k, o := range e.Overflow[:min(len(e.Overflow), len(want.Overflow))] {
			o.compare(c, tok, in[i], want.Overflow[k])
		}
	}
}

// compare checks an encoding.
func (e *Encoding) compare(c *counter, tok *Tokenizer, in Input, want answer) {
	c.Helper()
	got := answer{IDs: e.IDs, Types: e.TypeIDs, Mask: e.Mask, Offsets: []int32{}, Specials: []int32{}}
	for i := range e.IDs {
		text := in.Text
		if e.Second[i] {
			text = in.Second
		}
		for _, at := range []int{e.Offsets[i].Start, e.Offsets[i].End} {
			got.Offsets = append(got.Offsets, int32(utf8.RuneCountInString(text[:at])))
		}
		got.Specials = append(got.Specials, toInt(e.Specials[i]))
	}
	want.Overflow, want.More = nil, 0
	c.check(reflect.DeepEqual(got, want), "%+v:\ntext %q\n got %v\nwant %v", in, tok.names(e.IDs), got, want)
}

func toInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// TestEncodingRefused has options that no encoding follows.
func TestEncodingRefused(t *testing.T) {
	tok, err := Read([]byte(document1(`,"post_processor":{"type":"BertProcessing","sep":["<u>",3],"cls":["<u>",3]}`)))
	if err != nil {
		t.Fatal(err)
	}
	odd, err := Read([]byte(document1(`,"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}}`)))
	if err != nil {
		t.Fatal(err)
	}
	pair := Input{Text: "abab", Second: "b", Pair: true}
	for _, c := range []struct {
		tok  *Tokenizer
		in   Input
		o    EncodingOptions
		want string
	}{
		{tok, pair, EncodingOptions{Truncation: &Truncation{Max: 2}}, "3 tokens around"},
		{tok, pair, EncodingOptions{Truncation: &Truncation{Max: -1}}, "to -1 tokens"},
		{tok, pair, EncodingOptions{Truncation: &Truncation{Max: 5, Stride: 1}}, "stride of 1"},
		{tok, pair, EncodingOptions{Truncation: &Truncation{Max: 5, Strategy: OnlySecond}}, "has 1"},
		{tok, Input{Text: "abab"}, EncodingOptions{Truncation: &Truncation{Max: 5, Strategy: OnlySecond}}, "there is one"},
		{tok, pair, EncodingOptions{Truncation: &Truncation{Max: 5, Strategy: 9}}, "strategy 9"},
		{tok, pair, EncodingOptions{Padding: &Padding{Size: -1}}, "size of -1"},
		{tok, pair, EncodingOptions{Padding: &Padding{Size: 1 << 30}}, "past the limit"},
		{odd, pair, EncodingOptions{}, "template of pairs lacks"},
		{&Tokenizer{}, pair, EncodingOptions{}, "no such tokenizer"},
	} {
		if _, err := c.tok.EncodeInput(t.Context(), c.in, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: the error %v does not say %s", c.o, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tok.EncodeInput(ctx, pair, EncodingOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestOffsets has texts that the package tokenizers does not take or places otherwise: bytes that
// are not UTF-8, a model of SentencePiece, and more marks in a row than Go's normal forms keep.
func TestOffsets(t *testing.T) {
	letters, err := Read([]byte(`{"normalizer":{"type":"NFC"},"decoder":null,"pre_tokenizer":{"type":"WhitespaceSplit"},
		"model":{"type":"WordLevel","vocab":{"?":0},"unk_token":"?"}}`))
	if err != nil {
		t.Fatal(err)
	}
	marks := "a" + strings.Repeat("\u0301", 40)
	sp := known(t, "sp_bpe_nmt.model")
	for _, c := range []struct {
		tok  *Tokenizer
		text string
		want string // of texts with few tokens
	}{
		{known(t, "gpt2.json"), "a\xffb\xe4\xb8", "[{0 1} {1 2} {1 2} {1 2} {2 3} {3 5} {3 5} {3 5}]"},
		{sp, "  Hello,\t world  \u2460 ", ""},
		{sp, " ", "[]"},
		{letters, marks + " " + marks, "[{0 81} {82 163}]"},
	} {
		e, err := c.tok.EncodeInput(t.Context(), Input{Text: c.text}, EncodingOptions{Plain: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(e.Offsets); c.want != "" && got != c.want {
			t.Errorf("%q: the tokens %q are at %s, want %s", c.text, c.tok.names(e.IDs), got, c.want)
		}
		done := 0
		for i, o := range e.Offsets {
			if o.Start > o.End || o.End < done || o.End > len(c.text) {
				t.Errorf("%q: token %d is at %v after %d", c.text, i, o, done)
			}
			done = o.End
		}
	}
}
