package generate

import "fmt"

// Reason says why a sequence ended.
type Reason int

// The reasons.
const (
	NotEnded  Reason = iota
	StopID           // the decoder gave a token that ends a text
	StopText         // a stop text was complete
	MaxTokens        // as many tokens were generated as Sampling allows
	Window           // the window is full
)

func (r Reason) String() string {
	if r < 0 || int(r) >= len(reasons) {
		return fmt.Sprintf("Reason(%d)", int(r))
	}
	return reasons[r]
}

var reasons = []string{"not ended", "stop token", "stop text", "max tokens", "window full"}

// Token is a generated token.
type Token struct {
	Index int // of the prompt or of the continuation
	ID    int32
	// LogProb is the logarithm of the probability that the decoder gave the token; 0 unless
	// Sampling.Alternatives asks for it.
	LogProb float64
	// Alternatives are the likeliest tokens at this place, the likeliest first and of equal ones the
	// smaller. Tokens of probability 0 are not among them.
	Alternatives []Alternative
	// Reason says why the text ended with this token; NotEnded before the last. After StopID the
	// token is the one that ended the text, and no part of it.
	Reason Reason
}

// Piece is generated text: whole characters, not empty except in the last piece.
type Piece struct {
	Index int // of the prompt or of the continuation
	Text  string
	// Tokens are the tokens since the piece before. A token that ends within a character, or where
	// a stop may begin, comes with a later piece. The last piece has the token that ended the text.
	Tokens []Token
	Reason Reason // why the text ended with this piece; NotEnded before the last
}
