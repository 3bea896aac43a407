//go:build js || wasip1

package phonemes

import "fmt"

// Espeak fails: WebAssembly runs no programs.
func Espeak(language string) (Converter, error) {
	return nil, fmt.Errorf("language %q: WebAssembly cannot run the program espeak-ng, so there is only English",
		language)
}
