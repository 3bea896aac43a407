package onnx

import (
	"slices"
	"testing"
)

// TestLists reads lists of an attribute: one field per element, packed, and both in turn. They end
// with the message, before another field, and in the middle of an element.
func TestLists(t *testing.T) {
	ints := func(list ...int64) func(e *encoder) { return func(e *encoder) { e.ints(8, list) } }
	floats := func(list ...float32) func(e *encoder) {
		return func(e *encoder) {
			for _, v := range list {
				e.float(7, v)
			}
		}
	}
	type fields []func(e *encoder)
	other := func(e *encoder) { e.text(13, "doc") }
	for _, c := range []struct {
		name   string
		fields fields
		cut    int // bytes cut off the end
		ints   []int64
		floats []float32
		bad    bool
	}{
		{name: "one", fields: fields{ints(7)}, ints: []int64{7}},
		{name: "of several lengths", fields: fields{ints(0, -1, 300, 1<<40, 5)}, ints: []int64{0, -1, 300, 1 << 40, 5}},
		{name: "interrupted", fields: fields{ints(1, 2), other, ints(3)}, ints: []int64{1, 2, 3}},
		{name: "before another", fields: fields{ints(1, 200), other}, ints: []int64{1, 200}},
		{name: "packed behind single", fields: fields{ints(1, 2), packedInts(8, 3, 400)}, ints: []int64{1, 2, 3, 400}},
		{name: "single behind packed", fields: fields{packedInts(8, 3, 400), ints(1, 2)}, ints: []int64{3, 400, 1, 2}},
		{name: "cut", fields: fields{ints(1, 300)}, cut: 1, bad: true},
		{name: "cut behind a tag", fields: fields{ints(1, 2)}, cut: 1, bad: true},
		{name: "floats", fields: fields{floats(1, -2, 0.5)}, floats: []float32{1, -2, 0.5}},
		{name: "floats before another", fields: fields{floats(1, 2), other}, floats: []float32{1, 2}},
		{name: "cut floats", fields: fields{floats(1, 2)}, cut: 3, bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := proto(func(e *encoder) {
				for _, f := range c.fields {
					f(e)
				}
			})
			d := newDecoder(nil, "m", data[:len(data)-c.cut])
			var gotInts []int64
			var gotFloats []float32
			for m := d.root("AttributeProto"); m.next(); {
				switch m.num {
				case 7:
					gotFloats = m.floats(gotFloats)
				case 8:
					gotInts = m.ints(gotInts)
				}
			}
			switch {
			case c.bad != (d.err != nil):
				t.Errorf("error is %v", d.err)
			case !c.bad && (!slices.Equal(gotInts, c.ints) || !slices.Equal(gotFloats, c.floats)):
				t.Errorf("%v and %v are read, want %v and %v", gotInts, gotFloats, c.ints, c.floats)
			}
		})
	}
}
