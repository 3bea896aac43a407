package tokenizer

import (
	"slices"
	"testing"
)

// TestScripts splits characters that changed their script, or that are newer than the Unicode of
// the package tokenizers.
func TestScripts(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"a>\u0589\u057f", []string{"a", ">\u0589", "\u057f"}},
		{"\u061c!\u0634", []string{"\u061c!", "\u0634"}},
		{"\u0915\u0953b", []string{"\u0915\u0953", "b"}},
		{"\U0001f9d0 a\u20bfb", []string{"a\u20bfb"}},
		{"\u1c90\u1c91\u10d0", []string{"\u10d0"}},
		{"\u3042\u30a2\u6f22x", []string{"\u3042\u30a2\u6f22", "x"}},
	} {
		var got []string
		scripts{}.split(unlimited(), piece{text: tt.text, first: true}, func(p piece) { got = append(got, p.text) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
