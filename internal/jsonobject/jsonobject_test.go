package jsonobject

import (
	"math"
	"testing"
)

// TestMarshal writes objects.
func TestMarshal(t *testing.T) {
	type member struct {
		key   string
		value any
	}
	marshal := func(list ...member) (string, error) {
		data, err := Marshal(len(list), func(i int) (string, any) { return list[i].key, list[i].value })
		return string(data), err
	}
	for want, list := range map[string][]member{
		`{}`:                        nil,
		`{"b":1,"a\"":[null,{}]}`:   {{"b", 1}, {`a"`, []any{nil, struct{}{}}}},
		`{"10":0.5,"9":"x","9":[]}`: {{"10", 0.5}, {"9", "x"}, {"9", []int{}}},
	} {
		if got, err := marshal(list...); err != nil || got != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
	if got, err := marshal(member{"a", math.NaN()}); err == nil {
		t.Errorf("a number that JSON lacks is written as %s", got)
	}
}
