package loom

import "fmt"

// bundle is a decoder.
func (w *lowerer) bundle() error { return fmt.Errorf("not yet") }
