package safetensors

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
)

// TestSkip compares with package encoding/json which texts are JSON.
func TestSkip(t *testing.T) {
	for _, s := range []string{`{}`, `[]`, ` { "a" : [ 1 , -2.5e+3 , true , null , "x\u00e9\ud83d\ude00\n" ] , "b" : {} } `, `0`, `-0`, `1e5`, `"\/"`, `false`,
		``, ` `, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`, `truex`, `"a`, `"\x"`, `"\u12"`, `"\u+123"`, "\"\n\"", `{} {}`, `nul`, `[}`, `{]`, `"\`} {
		l := newLexer(&container.Problems{}, []byte(s), 0)
		l.skip()
		l.end()
		if want := json.Valid([]byte(s)); (l.err == nil) != want {
			t.Errorf("%q: %v, and it is JSON: %v", s, l.err, want)
		}
	}
	for _, s := range []string{"\"\xff\"", `"\ud800"`, `"\udc00\ud800"`, `"\ud800\u0041"`, `"\ud800\ud800"`, strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		l := newLexer(&container.Problems{}, []byte(s), 0)
		l.skip()
		if l.err == nil {
			t.Errorf("%.30q is taken", s)
		}
	}
}

func TestText(t *testing.T) {
	for _, s := range []string{"", "a", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é\u2028😀<>&", "𝄞x𝄞"} {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		long := `"\ud834\udd1e\/` + string(raw[1:])
		for text, want := range map[string]string{string(raw): s, string(appendText(nil, s)): s, long: "𝄞/" + s} {
			l := newLexer(&container.Problems{}, []byte(text), 0)
			if got := l.text(); got != want || l.err != nil {
				t.Errorf("%s is %q (%v), want %q", text, got, l.err, want)
			}
		}
	}
}

func TestCount(t *testing.T) {
	for s, want := range map[string]uint64{"0": 0, "7 ": 7, "18446744073709551615": 1<<64 - 1} {
		l := newLexer(&container.Problems{}, []byte(s), 0)
		if got := l.count(); got != want || l.err != nil {
			t.Errorf("%s is %d (%v)", s, got, l.err)
		}
	}
	for _, s := range []string{"", "-1", "-0", "1.0", "1e0", "00", "18446744073709551616", "99999999999999999999999", `"1"`, "null", "[1]"} {
		l := newLexer(&container.Problems{}, []byte(s), 5)
		if got := l.count(); l.err == nil || l.off < 5 || got != 0 {
			t.Errorf("%q is %d", s, got)
		}
	}
}
