// Package phonemes turns text into phonemes: the symbols of IPA, with stress marks, that the
// program espeak-ng writes and that voices have learnt. The package is for programs that give a voice
// phonemes of their own making, or use them elsewhere.
package phonemes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/english"
	"github.com/nacre-ml/nacre/speech/phonemes/internal/spoken"
)

// Converter turns a text into phonemes.
type Converter interface {
	// Phonemes returns the phonemes of a text as espeak-ng writes them: symbols of IPA with the
	// stress marks ˈ and ˌ before vowels, words apart by spaces, and the marks , . ? ! : ; right
	// after the words before them.
	Phonemes(ctx context.Context, text string) (string, error)
}

// MaxText is the longest text in bytes that a converter takes. Sentences cuts longer ones.
const MaxText = 400_000

// ErrText reports a text that is longer than MaxText.
var ErrText = errors.New("the text is too long")

// For returns a converter for a language such as en-us, de or pt-br: the program espeak-ng if it is
// installed, else the one of English for English. The error for another language says how to
// install the program.
func For(language string) (Converter, error) {
	c, err := Espeak(language)
	if err == nil {
		return c, nil
	}
	if isEnglish(language) {
		return English(), nil
	}
	return nil, err
}

// isEnglish reports whether a language is a kind of English.
func isEnglish(language string) bool {
	l := strings.ToLower(strings.ReplaceAll(language, "_", "-"))
	return l == "en" || strings.HasPrefix(l, "en-")
}

// English returns the converter of this package for American English. It needs no program, and is
// safe for several callers at once. A character that has no words in English stays in the phonemes
// as it is, so that a voice can say that it does not know the character.
func English() Converter { return americanEnglish{} }

type americanEnglish struct{}

// Phonemes implements Converter.
func (americanEnglish) Phonemes(ctx context.Context, text string) (string, error) {
	if err := check(ctx, text); err != nil {
		return "", err
	}
	return english.Phonemes(spoken.Tokens(text)), nil
}

// check reports a context that has ended and a text that is too long.
func check(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(text) > MaxText {
		return fmt.Errorf("%w: %d bytes, at most %d (Sentences cuts a text)", ErrText, len(text), MaxText)
	}
	return nil
}
