package npy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestRoundTrip(t *testing.T) {
	for _, d := range tensor.DTypes() {
		for _, shape := range []tensor.Shape{{}, {0}, {3}, {2, 3}, {1, 0, 4}, {2, 1, 3, 2}} {
			t.Run(fmt.Sprintf("%v%v", d, shape), func(t *testing.T) {
				in := tensor.New(d, shape...)
				for i := range in.Bytes() {
					in.Bytes()[i] = byte(i)
				}
				for i := range in.Strings() {
					in.Strings()[i] = strings.Repeat("ä∂", i)
				}
				var buf bytes.Buffer
				err := Write(&buf, in)
				if !Holds(d) {
					if err == nil {
						t.Fatal("written, though the format lacks the type")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if d != tensor.String && (buf.Len()-len(in.Bytes()))%64 != 0 {
					t.Errorf("elements start at byte %d, not at a multiple of 64", buf.Len()-len(in.Bytes()))
				}
				out, err := Decode(context.Background(), buf.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				if out.String() != in.String() || !bytes.Equal(out.Bytes(), in.Bytes()) ||
					fmt.Sprint(out.Strings()) != fmt.Sprint(in.Strings()) {
					t.Errorf("got %v, want %v", out, in)
				}
			})
		}
	}
}

// file returns a .npy file of version 1 with this header and these elements.
func file(header, body string) string {
	return fmt.Sprintf("%s\x01\x00%c%c%s%s", magic, len(header)%256, len(header)/256, header, body)
}

func TestDecode(t *testing.T) {
	cases := []struct {
		name, data, want string
	}{
		{"one axis", file("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", "\x01\x00\x02\x00"), "int16[2]"},
		{"scalar", file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\x00\x00\x00\x00"), "float32[]"},
		{"bytes with a sign of order", file("{'descr': '<u1', 'fortran_order': False, 'shape': (1,), }", "\x07"), "uint8[1]"},
		{"Fortran order of one axis", file("{'descr': '|b1', 'fortran_order': True, 'shape': (1,), }", "\x01"), "bool[1]"},
		{"version 2", magic + "\x02\x00\x39\x00\x00\x00{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }\n\x05", "int8[1]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Decode(context.Background(), []byte(c.data))
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	cases := []struct {
		name, data, want string
	}{
		{"empty", "", "does not begin"},
		{"version 9", magic + "\x09\x00\x00\x00\x00\x00\x00\x00", "version 9"},
		{"header beyond the end", magic + "\x01\x00\xff\xff{'descr'", "does not fit"},
		{"big-endian", file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"), "big-endian"},
		{"structured", file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"), "structured"},
		{"objects", file("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1234"), "no counterpart"},
		{"Fortran order", file("{'descr': '<f4', 'fortran_order': True, 'shape': (2,2), }", "1234"), "Fortran"},
		{"too few bytes", file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,2), }", "1234"), "16 bytes"},
		{"negative extent", file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "1234"), "negative"},
		{"huge shape", file("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999, 9), }", ""), "too many"},
		{"huge strings", file("{'descr': '<U9', 'fortran_order': False, 'shape': (99999999,), }", ""), "need more"},
		{"huge empty strings", file("{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999,), }", ""), "too many"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Decode(context.Background(), []byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestDecodeEnds decodes text in contexts that end at every look.
func TestDecodeEnds(t *testing.T) {
	x, err := tensor.FromStrings(slices.Repeat([]string{strings.Repeat("x", 100)}, 4000), 4000)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, x); err != nil {
		t.Fatal(err)
	}
	for at := 0; ; at++ {
		ctx := testenv.EndingAfter(at)
		_, err := Decode(ctx, b.Bytes())
		if !ctx.Over() {
			if err != nil || at < 6 {
				t.Errorf("%d looks, %v", at, err)
			}
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("done after %d looks: %v", at, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(file("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", "\x01\x00\x02\x00")))
	f.Add([]byte(file("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }\n", "\x41\x00\x00\x00\x00\x00\x00\x00")))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Decode(context.Background(), data)
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := Write(&buf, got); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(context.Background(), buf.Bytes())
		if err != nil || again.String() != got.String() || !bytes.Equal(again.Bytes(), got.Bytes()) {
			t.Fatalf("%v came back as %v (%v)", got, again, err)
		}
	})
}
