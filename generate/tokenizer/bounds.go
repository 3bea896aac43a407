package tokenizer

import "github.com/nacre-ml/nacre/generate/tokenizer/internal/jinja"

// A Bound is the most of something that is taken of a file, or that a call takes.
type Bound struct {
	Of   string // tokenizer or template
	What string
	Most int64
	Each int64 // what is allowed beside Most for each byte of the file or the argument
}

// Bounds lists how much is taken of the files of a tokenizer, and how much its calls take
// unless a Limit says otherwise.
func Bounds() []Bound {
	return []Bound{
		{"tokenizer", "bytes of a file", maxFile, 0},
		{"tokenizer", "memory of reading, in bytes", readRate.base, readRate.bytes},
		{"tokenizer", "memory of encoding or decoding, in bytes", encodeRate.base, encodeRate.bytes},
		{"tokenizer", "steps of encoding or decoding", encodeRate.steps, encodeRate.stepsOfByte},
		{"tokenizer", "parts of steps", maxParts, 0},
		{"tokenizer", "nested parts of steps", maxDepth, 0},
		{"tokenizer", "ids around a text", maxAround, 0},
		{"tokenizer", "times that steps make a text longer", maxGrowth, 0},
		{"tokenizer", "bytes of a token", maxToken, 0},
		{"tokenizer", "ids without a token, beyond one for each token", maxHoles, 0},
		{"tokenizer", "bytes of a regular expression", maxPattern, 0},
		{"tokenizer", "instructions of a regular expression", maxProgram, 0},
		{"template", "bytes", maxTemplate, 0},
		{"template", "nested parts, values and calls", jinja.MaxDepth, 0},
		{"template", "bytes of a text", jinja.MaxText, 0},
		{"template", "memory, in bytes", chatRate.base, chatRate.bytes},
		{"template", "steps", chatRate.steps, chatRate.stepsOfByte},
	}
}
