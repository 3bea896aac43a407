// Package phonemes turns texts into phonemes.
package phonemes

import (
	"context"
	"errors"
	"regexp"
)

// Converter turns a sentence into phonemes.
type Converter interface {
	// Phonemes returns the phonemes of a text.
	Phonemes(ctx context.Context, text string) (string, error)
}

// Span is a part of a text, as bytes From to To-1.
type Span struct{ From, To int }

// For returns the converter for a language.
func For(language string) (Converter, error) {
	return nil, errors.New("no phonemes for " + language)
}

var sentence = regexp.MustCompile(`[^\s.?!][^.?!]*[.?!]*|[.?!]+`)

// Sentences returns the sentences of a text.
func Sentences(text string) (list []Span) {
	for _, at := range sentence.FindAllStringIndex(text, -1) {
		list = append(list, Span{at[0], at[1]})
	}
	return list
}
