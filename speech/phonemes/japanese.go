package phonemes

import (
	"context"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/japanese"
)

// Japanese returns the converter of this package for Japanese in kana. Its symbols are those of the
// Japanese speakers of Kokoro, and not of espeak-ng. Kanji have no reading that is known from the
// characters alone; they stay as they are, as all other characters.
func Japanese() Converter { return kana{} }

type kana struct{}

// Phonemes implements Converter.
func (kana) Phonemes(ctx context.Context, text string) (string, error) {
	if err := check(ctx, text); err != nil {
		return "", err
	}
	return japanese.Phonemes(text), nil
}
