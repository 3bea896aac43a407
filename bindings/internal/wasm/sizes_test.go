package wasm

import "testing"

func TestSizes(t *testing.T) {
	module := func(sections ...string) string {
		s := "\x00asm\x01\x00\x00\x00"
		for _, section := range sections {
			s += section
		}
		return s
	}
	const (
		other = "\x01\x02ab"
		named = "\x00\x03\x01xy"
		dylib = "\x00\x11\x08dylink.0\x01\x06\x80\x02\x04\x07\x00\x00"
	)
	for _, tt := range []struct {
		name, module string
		data, table  int
		ok           bool
	}{
		{"first", module(dylib), 256, 7, true},
		{"behind others", module(other, named, dylib), 256, 7, true},
		{"another part before", module("\x00\x11\x08dylink.0\x02\x00\x01\x04\x05\x00\x03\x00"), 5, 3, true},
		{"none", module(other, named), 0, 0, false},
		{"without the part", module("\x00\x0b\x08dylink.0\x02\x00"), 0, 0, false},
		{"a short part", module("\x00\x0c\x08dylink.0\x01\x01\x05"), 0, 0, false},
		{"a number without end", module("\x00\x0f\x08dylink.0\x01\x04\xff\xff\xff\xff"), 0, 0, false},
		{"a long section", module("\x00\x7f\x08dylink.0"), 0, 0, false},
		{"a short header", "\x00asm", 0, 0, false},
		{"empty", "", 0, 0, false},
	} {
		data, table, err := Sizes([]byte(tt.module))
		if (err == nil) != tt.ok || data != tt.data || table != tt.table {
			t.Errorf("%s: %d bytes, %d entries, %v", tt.name, data, table, err)
		}
	}
	for n := range len(module(other, dylib)) {
		if _, _, err := Sizes([]byte(module(other, dylib)[:n])); err == nil {
			t.Errorf("a module of %d bytes was taken", n)
		}
	}
}
