//go:build !cgo

package bindings

// Scratch needs cgo.
func (n *RNNF32) Scratch(pool *Pool) int { panic("bindings: built without cgo") }

// Run needs cgo.
func (n *RNNF32) Run(pool *Pool, scratch []float32) { panic("bindings: built without cgo") }

// Scratch needs cgo.
func (n *RNNF64) Scratch(pool *Pool) int { panic("bindings: built without cgo") }

// Run needs cgo.
func (n *RNNF64) Run(pool *Pool, scratch []float64) { panic("bindings: built without cgo") }
