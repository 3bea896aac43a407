package testenv

import (
	"errors"
	"testing"
)

// outcome records how a test ended.
type outcome struct {
	testing.TB
	skipped, failed bool
}

func (o *outcome) Helper()               {}
func (o *outcome) Skip(...any)           { o.skipped = true; panic(o) }
func (o *outcome) Fatalf(string, ...any) { o.failed = true; panic(o) }

// run calls f until its first Skip or Fatalf.
func run(t *testing.T, f func(t testing.TB)) *outcome {
	o := &outcome{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(o) {
				panic(r)
			}
		}()
		f(o)
	}()
	return o
}

func TestSkip(t *testing.T) {
	why := errors.New("no data")
	need := func(t testing.TB) { Need(t, why) }
	samples := func(t testing.TB) { SkipSamples(t, why) }
	for _, tt := range []struct {
		value           string
		f               func(testing.TB)
		skipped, failed bool
	}{
		{"", need, true, false}, {"0", need, true, false}, {"1", need, false, true}, {"all", need, false, true},
		{"", samples, true, false}, {"1", samples, true, false}, {"all", samples, false, true},
		{"1", func(t testing.TB) { Need(t, nil) }, false, false},
	} {
		t.Setenv(Variable, tt.value)
		if o := run(t, tt.f); o.skipped != tt.skipped || o.failed != tt.failed {
			t.Errorf("%s=%q: skipped %v, failed %v", Variable, tt.value, o.skipped, o.failed)
		}
	}
}
