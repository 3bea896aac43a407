package loom

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDecodeText decodes texts that end near the end of a chunk.
func TestDecodeText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 2*chunk)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for _, n := range []int{0, 1, 2, 3, 4, chunk/4*3 - 1, chunk / 4 * 3, chunk/4*3 + 1, chunk/4*3 + 2, chunk/2*3 - 1, chunk / 2 * 3, chunk/2*3 + 1} {
		text := []byte(base64.StdEncoding.EncodeToString(data[:n]))
		var got bytes.Buffer
		if err := decodeText(nil, &got, text); err != nil || !bytes.Equal(got.Bytes(), data[:n]) || decodedLen(text) != n {
			t.Errorf("%d bytes: %v, %d of %d", n, err, got.Len(), decodedLen(text))
		}
	}
	text := strings.Repeat("A", 2*chunk)
	for _, c := range []struct {
		at   int
		with string
		want int64
	}{{5, "!", 5}, {chunk - 1, "=", chunk}, {chunk, "=", chunk}, {chunk + 7, "!", chunk + 7}, {2*chunk - 1, "!", 2*chunk - 1}} {
		err := decodeText(nil, new(bytes.Buffer), []byte(text[:c.at]+c.with+text[c.at+1:]))
		var wrong base64.CorruptInputError
		if !errors.As(err, &wrong) || int64(wrong) != c.want {
			t.Errorf("%q at %d: %v", c.with, c.at, err)
		}
	}
	if err := decodeText(nil, new(bytes.Buffer), []byte(text[:chunk+4]+"\n"+text[chunk+4:])); !errors.Is(err, errBreaks) {
		t.Errorf("a line break: %v", err)
	}
}

// TestParse finds errors next to long strings.
func TestParse(t *testing.T) {
	long := strings.Repeat("A", 2*chunk)
	for _, c := range []struct {
		text string
		off  int // of the error; -1 for none
	}{
		{`{"a":"` + long + `","b":1}`, -1},
		{`{"` + long + `":"` + long + `"}`, -1},
		{`["` + long + `","x","` + long + `",]`, 2*len(long) + 11},
		{`["` + long + `" "` + long + `"]`, len(long) + 4},
		{`["` + long, len(long) + 2},
		{`["` + long + `\"`, len(long) + 4},
		{`["` + long + `\x` + `"]`, len(long) + 3},
		{`["` + long + "\n" + `"]`, len(long) + 2},
		{`["` + long + `\n"]`, -1},
		{`["` + long + `"` + strings.Repeat(" ", 2*len(long)) + `]`, -1},
	} {
		v, off, err := parse(nil, []byte(c.text), 0)
		if (err == nil) != (c.off < 0) || err != nil && off != c.off || err == nil && string(v.text) != c.text {
			t.Errorf("%.5q...%.9q: %v at %d, not %d", c.text, c.text[max(0, len(c.text)-9):], err, off, c.off)
		}
	}
}
