//go:build !js && !wasip1

package phonemes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/testenv"
)

func TestEspeak(t *testing.T) {
	c, err := Espeak("en-us")
	testenv.Need(t, err)
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"?!", ""},
		{"Hello, world! Really?", "həlˈoʊ, wˈɜːld! ɹˈiəli?"},
		{"One; two: three - four (five).", "wˈʌn; tˈuː: θɹˈiː, fˈoːɹ, fˈaɪv."},
		{"Dr. Smith has 3.5 dogs.", "dˈɑːktɚ smˈɪθ hɐz θɹˈiː pɔɪnt fˈaɪv dˈɑːɡz."},
		{"Wait... what?!", "wˈeɪt. wˈʌt?"},
	} {
		got, err := c.Phonemes(t.Context(), test.text)
		if err != nil || got != test.want {
			t.Errorf("%q: %s %v", test.text, got, err)
		}
	}
	german, err := Espeak("de")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := german.Phonemes(t.Context(), "Guten Tag, Welt."); err != nil || got != "ɡˈuːtən tˈɑːk, vˈɛlt." {
		t.Errorf("%s %v", got, err)
	}
	if got, err := german.Phonemes(t.Context(), "Das Meeting, bitte."); err != nil || strings.Contains(got, "(") {
		t.Errorf("%s %v", got, err)
	}
	for _, language := range []string{"", "-x", "en us", "xx-yy", "en;ls", strings.Repeat("e", 99)} {
		if _, err := Espeak(language); err == nil {
			t.Errorf("the language %q exists", language)
		}
	}
	if c, err := For("en-us"); err != nil || c == English() {
		t.Error("the program is installed and not taken", err)
	}
}

// TestProgram replaces the program by scripts that behave badly.
func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts of a shell")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Espeak("de"); err == nil || !strings.Contains(err.Error(), "apt-get install espeak-ng") {
		t.Error("the error does not say how to install the program:", err)
	}
	if _, err := For("de"); err == nil {
		t.Error("German without the program")
	}
	for _, language := range []string{"en", "en-us", "EN_us", "en-gb"} {
		if c, err := For(language); err != nil || c != English() {
			t.Errorf("%s: %v", language, err)
		}
	}
	script := func(text string) *espeak {
		path := filepath.Join(dir, "espeak")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
			t.Fatal(err)
		}
		return &espeak{path, "en"}
	}
	endless := script("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done")
	if _, err := endless.Phonemes(t.Context(), "a"); err == nil {
		t.Error("endless output is taken")
	}
	_, err := script("echo no voice >&2; exit 1").Phonemes(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "no voice") {
		t.Error("the program's words are lost:", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := script("while :; do :; done").Phonemes(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got, err := script("echo x; echo y").Phonemes(t.Context(), "a, b, c."); err != nil || got != "x y, x y, x y." {
		t.Errorf("%q %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := English().Phonemes(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := English().Phonemes(t.Context(), strings.Repeat("a", MaxText+1)); !errors.Is(err, ErrText) {
		t.Error(err)
	}
}
