package npy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample returns a tensor with some elements.
func sample(t testing.TB, d nacre.DType, shape ...int) *nacre.Tensor {
	t.Helper()
	x, err := nacre.Zeros(d, shape...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Bytes() {
		if x.Bytes()[i] = byte(i); d == nacre.Bool {
			x.Bytes()[i] &= 1
		}
	}
	for i := range x.Strings() {
		x.Strings()[i] = strings.Repeat("ä∂", i)
	}
	return x
}

// written returns the file of a tensor.
func written(t testing.TB, x *nacre.Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, x); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkSame compares two tensors bit by bit.
func checkSame(t testing.TB, got, want *nacre.Tensor) {
	t.Helper()
	if got.String() != want.String() || !bytes.Equal(got.Bytes(), want.Bytes()) ||
		!slices.Equal(got.Strings(), want.Strings()) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, below := range tensor.DTypes() {
		d := nacre.DType(below)
		for _, shape := range [][]int{{}, {0}, {3}, {2, 3}, {1, 0, 4}, {2, 1, 3, 2}} {
			t.Run(fmt.Sprint(d, shape), func(t *testing.T) {
				in := sample(t, d, shape...)
				var buf bytes.Buffer
				err := Write(&buf, in)
				if !Holds(d) {
					if !errors.Is(err, nacre.ErrUnsupported) {
						t.Fatalf("the format lacks the type: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if d != nacre.String && (buf.Len()-len(in.Bytes()))%64 != 0 {
					t.Errorf("elements start at byte %d, not at a multiple of 64", buf.Len()-len(in.Bytes()))
				}
				out, err := Decode(nil, buf.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				checkSame(t, out, in)
				buf.WriteString("more")
				if out, err = Read(nil, &buf); err != nil || buf.String() != "more" {
					t.Fatalf("%v, and %q is left", err, buf.String())
				}
				checkSame(t, out, in)
			})
		}
	}
}

// file returns a .npy file of version 1 with this header and these elements.
func file(header, body string) string {
	return fmt.Sprintf("%s\x01\x00%c%c%s%s", magic, len(header)%256, len(header)/256, header, body)
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, data, want, last string }{
		{"one axis", file("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", "\x01\x00\x02\x00"), "int16[2]", "2"},
		{"scalar", file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\x00\x00\x80\x3f"), "float32[]", "1"},
		{"bytes with a sign of order", file("{'descr': '<u1', 'fortran_order': False, 'shape': (1,), }", "\x07"), "uint8[1]", "7"},
		{"Fortran order of one axis", file("{'descr': '|b1', 'fortran_order': True, 'shape': (1,), }", "\x01"), "bool[1]", "true"},
		{"Fortran order", file("{'descr': '|u1', 'fortran_order': True, 'shape': (2,2), }", "\x00\x01\x02\x03"), "uint8[2,2]", "3"},
		{"big-endian", file("{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }", "\x00\x00\x01\x02"), "int32[1]", "258"},
		{"big-endian text", file("{'descr': '>U1', 'fortran_order': False, 'shape': (1,), }", "\x00\x00\x00a"), "string[1]", `"a"`},
		{"version 2", magic + "\x02\x00\x3a\x00\x00\x00{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }\n\x05", "int8[1]", "5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := []byte(c.data)
			decoded, err := Decode(nil, data)
			if err != nil {
				t.Fatal(err)
			}
			if got := decoded.Text(decoded.Len() - 1); decoded.String() != c.want || got != c.last {
				t.Errorf("got %v that ends with %s, want %s and %s", decoded, got, c.want, c.last)
			}
			if string(data) != c.data {
				t.Error("the data was changed")
			}
			got, err := Read(nil, strings.NewReader(c.data))
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, got, decoded)
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name, data, want string
		kind             error
	}{
		{"empty", "", "does not begin", nacre.ErrFormat},
		{"version 9", magic + "\x09\x00\x00\x00\x00\x00\x00\x00", "version 9", nacre.ErrUnsupported},
		{"header beyond the end", magic + "\x01\x00\xff\xff{'descr'", "ends in the header", nacre.ErrFormat},
		{"huge header", magic + "\x02\x00\xff\xff\xff\xff{'descr'", "too large", nacre.ErrFormat},
		{"structured", file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"), "named fields", nacre.ErrUnsupported},
		{"objects", file("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1234"), "is none", nacre.ErrFormat},
		{"dates", file("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }", "12345678"), "no counterpart", nacre.ErrUnsupported},
		{"no order", file("{'descr': '|f4', 'fortran_order': False, 'shape': (1,), }", "1234"), "no counterpart", nacre.ErrUnsupported},
		{"too few bytes", file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,2), }", "1234"), "", nacre.ErrFormat},
		{"a bool of 2", file("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\x02"), "neither 0 nor 1", nacre.ErrFormat},
		{"negative extent", file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "1234"), "negative", nacre.ErrFormat},
		{"no extent", file("{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", "1234"), "no number", nacre.ErrFormat},
		{"huge shape", file("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999, 9), }", ""), "too many", nacre.ErrFormat},
		{"huge strings", file("{'descr': '<U9', 'fortran_order': False, 'shape': (99999999,), }", ""), "", nacre.ErrFormat},
		{"more strings than bytes", file("{'descr': '<U65536', 'fortran_order': False, 'shape': (999999999999999,), }", ""), "too many", nacre.ErrFormat},
		{"huge empty strings", file("{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999,), }", ""), "too many", nacre.ErrFormat},
		{"wide strings", file("{'descr': '<U99999', 'fortran_order': False, 'shape': (1,), }", ""), "width", nacre.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, decoded := Decode(nil, []byte(c.data))
			_, read := Read(nil, strings.NewReader(c.data))
			for _, err := range []error{decoded, read} {
				if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got error %v, want one with %q of kind %v", err, c.want, c.kind)
				}
			}
		})
	}
	if err := Write(&bytes.Buffer{}, nil); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("no tensor: %v", err)
	}
	if err := Write(&bytes.Buffer{}, sample(t, nacre.Bool, make([]int, maxAxes+1)...)); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("too many axes: %v", err)
	}
}

func TestBudget(t *testing.T) {
	numbers, text := written(t, sample(t, nacre.Float32, 100)), written(t, sample(t, nacre.String, 4))
	turned := []byte(file("{'descr': '>i4', 'fortran_order': True, 'shape': (5,5), }", strings.Repeat("1234", 25)))
	for _, c := range []struct {
		name  string
		data  []byte
		bytes int64
		want  error
	}{
		{"numbers", numbers, 400, nil}, {"numbers", numbers, 399, nacre.ErrMemory},
		{"text", text, 3000, nil}, {"text", text, 60, nacre.ErrMemory},
		{"turned", turned, 200, nil}, {"turned", turned, 150, nacre.ErrMemory},
	} {
		b := formats.NewBudget(t.Context(), formats.Limits{Bytes: c.bytes})
		if _, err := Read(b, bytes.NewReader(c.data)); !errors.Is(err, c.want) {
			t.Errorf("%s within %d bytes: %v, want %v", c.name, c.bytes, err, c.want)
		}
	}
}

// TestDecodeEnds decodes text in contexts that end at every look.
func TestDecodeEnds(t *testing.T) {
	x, err := nacre.Strings(slices.Repeat([]string{strings.Repeat("x", 100)}, 4000), 4000)
	if err != nil {
		t.Fatal(err)
	}
	data := written(t, x)
	for at := 0; ; at++ {
		ctx := testenv.EndingAfter(at)
		_, err := Decode(formats.NewBudget(ctx, formats.Limits{}), data)
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
	f.Add([]byte(file("{'descr': '>f8', 'fortran_order': True, 'shape': (2,1), }\n", "0123456789abcdef")))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Decode(nil, data)
		read, again := Read(nil, bytes.NewReader(data))
		if (err == nil) != (again == nil) || errors.Is(err, nacre.ErrInternal) || errors.Is(again, nacre.ErrInternal) {
			t.Fatalf("Decode: %v, Read: %v", err, again)
		}
		if err != nil {
			return
		}
		checkSame(t, read, got)
		same, err := Decode(nil, written(t, got))
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, same, got)
	})
}
