package tokenizer

import (
	"fmt"
	"os"
)

// Load reads a file.
func Load(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Read reads the bytes of a tokenizer.json.
func Read(data []byte) (*Tokenizer, error) {
	return readDocument(data)
}
