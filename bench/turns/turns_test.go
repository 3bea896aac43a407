package turns

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

type title string

func (t title) Title() string { return string(t) }

// TestChoose reads command lines, and chooses rows by them.
func TestChoose(t *testing.T) {
	usual, quick := Bounds{9, time.Minute}, Bounds{4, time.Second}
	for _, c := range []struct {
		args   string
		bounds Bounds
		want   []title
		says   string // of an error
	}{
		{"", usual, []title{"a/one", "a/two", "b/one"}, ""},
		{"-run one -quick", quick, []title{"a/one", "b/one"}, ""},
		{"-run ^a/ -rounds 2 -budget 3s", Bounds{2, 3 * time.Second}, []title{"a/one", "a/two"}, ""},
		{"-list", usual, nil, ""},
		{"-run three", usual, nil, "no row matches -run three"},
		{"-run (", usual, nil, "missing closing )"},
		{"-rounds 0", Bounds{0, time.Minute}, nil, "-rounds is 0"},
		{"one", usual, nil, `"one" is no option`},
	} {
		o, err := Parse(flag.NewFlagSet("", flag.ContinueOnError), strings.Fields(c.args), usual, quick)
		var got []title
		if err == nil {
			got, err = Choose(o, []title{"a/one", "a/two", "b/one"})
		}
		if o.Bounds != c.bounds || !slices.Equal(got, c.want) {
			t.Errorf("%q chooses %q within %v", c.args, got, o.Bounds)
		}
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.args, err, c.says)
		}
	}
}

// TestTime takes turns: each side begins in its round.
func TestTime(t *testing.T) {
	order := ""
	times, err := Bounds{Rounds: 5}.Time(2, func(side int) (float64, error) {
		order += fmt.Sprint(side)
		return float64(-len(order)), nil
	})
	if want := [][]float64{{-5, -4, -1}, {-6, -3, -2}}; err != nil || order != "011001" ||
		fmt.Sprint(times) != fmt.Sprint(want) {
		t.Errorf("the order is %s, times are %v, %v", order, times, err)
	}
	if _, err := (Bounds{Rounds: 1}).Time(2, func(int) (float64, error) { return 0, fmt.Errorf("broken") }); err == nil {
		t.Error("a side failed, and there are times")
	}
}
