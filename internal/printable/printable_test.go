package printable

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"weight/0 é 日本 \u00a0\u3000", "weight/0 é 日本 \u00a0\u3000"},
		{"👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم"},
		{"\u0600١٢", "\u0600١٢"},
		{`C:\models`, `C:\models`},
		{"a\x1b[31mb", `a\x1b[31mb`},
		{"\a\b\t\r\n\x00\x7f", `\a\b\t\r\n\x00\x7f`},
		{"\u0085\u009b31m", `\u0085\u009b31m`},
		{"a\u202eb\u2066\u200f\u061c", `a\u202eb\u2066\u200f\u061c`},
		{"\u2028\u2029\ufeff\u200b", `\u2028\u2029\ufeff\u200b`},
		{"\U000e0041", `\U000e0041`},
		{"a\xffb\xc3", `a\xffb\xc3`},
		{"\ufffd stays", "\ufffd stays"},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("Text(%q) is %q, want %q", c.in, got, c.want)
		}
		if got := Text(Text(c.in)); got != c.want {
			t.Errorf("Text twice of %q is %q", c.in, got)
		}
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("é", 500)
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"", 0, ""},
		{"as it is", 8, "as it is"},
		{"0123456789", 8, "012345 ... (2 bytes) ... 89"},
		{long, 10, "ééé ... (992 bytes) ... é"},
		{strings.Repeat("\x80", 100), 8, " ... (100 bytes) ... "},
	} {
		if got := Cut(c.in, c.most); got != c.want {
			t.Errorf("Cut(%q, %d) is %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	for n, want := range map[int]string{
		0: "[]", 1: "[0]", 3: "[0,1,2]", 16: "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]",
		17: "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,... 17 in all]", 1 << 40: "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,... 1099511627776 in all]",
	} {
		if got := List(n, strconv.Itoa); got != want {
			t.Errorf("List of %d is %s, want %s", n, got, want)
		}
	}
}

func TestError(t *testing.T) {
	bad := errors.New("bad\nname\x1b")
	both := errors.Join(bad, errors.New("other\n"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{bad, `bad\nname\x1b`},
		{both, "bad\\nname\\x1b\nother\\n"},
		{fmt.Errorf("file\n: %w", bad), `file\n: bad\nname\x1b`},
		{fmt.Errorf("a\a: %w\r", both), "a\\a: bad\\nname\\x1b\nother\\n\\r"},
		{errors.Join(both, bad), "bad\\nname\\x1b\nother\\n\nbad\\nname\\x1b"},
		{errors.Join(bad), `bad\nname\x1b`},
		{fmt.Errorf("%w, %w", errors.New("kind"), bad), `kind, bad\nname\x1b`},
	} {
		if got := Error(c.err); got != c.want {
			t.Errorf("Error(%q) is %q, want %q", c.err, got, c.want)
		}
	}
}

func TestFprintf(t *testing.T) {
	var b strings.Builder
	names := []string{"a\n", "b"}
	if _, err := Fprintf(&b, "%s\t%5d|%-*s|%v|%q|%.1f\n", "x\ty", 7, 4, "é", names, "\x1b", 1.25); err != nil {
		t.Fatal(err)
	}
	if _, err := Fprintln(&b, "warning:", errors.Join(errors.New("1\n"), errors.New("2"))); err != nil {
		t.Fatal(err)
	}
	want := "x\\ty\t    7|é   |[a\\n b]|\"\\x1b\"|1.2\nwarning: 1\\n\n2\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// TestWriter writes text in pieces of every size.
func TestWriter(t *testing.T) {
	const text = "é日\U0001f469 a\x1b[2J\tb\n\u202e\xff\x9b\r"
	const want = "é日\U0001f469 a\\x1b[2J\tb\n\\u202e\\xff\\x9b\\r"
	for size := 1; size <= len(text); size++ {
		var b strings.Builder
		w := &Writer{W: &b}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if k, err := w.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil || b.String() != want {
			t.Errorf("in pieces of %d: %q, %v; want %q", size, b.String(), err, want)
		}
	}
	var b strings.Builder
	w := &Writer{W: &b}
	if _, err := w.Write([]byte("a\xe6\x97")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Flush(), w.Flush()); err != nil || b.String() != `a\xe6\x97` {
		t.Errorf("a character without its end is %q, %v", b.String(), err)
	}
}

// TestJSON decodes escaped text.
func TestJSON(t *testing.T) {
	const text = "\x7f\u009b\u202e\U000e0041\x1b\n é"
	var b strings.Builder
	if err := json.NewEncoder(&Writer{W: &b, JSON: true}).Encode([]string{text}); err != nil {
		t.Fatal(err)
	}
	if s := strings.TrimSuffix(b.String(), "\n"); Text(s) != s {
		t.Errorf("%q has what Text escapes", s)
	}
	var got []string
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got[0] != text {
		t.Errorf("%q is read as %q, %v", b.String(), got, err)
	}
}
