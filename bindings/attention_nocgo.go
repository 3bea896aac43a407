//go:build !cgo

package bindings

// Scratch needs cgo.
func (a *Attention) Scratch(pool *Pool) int { panic("bindings: built without cgo") }

// Run needs cgo.
func (a *Attention) Run(pool *Pool, scratch []float32) { panic("bindings: built without cgo") }

// Run needs cgo.
func (r *Rotary) Run(pool *Pool, x, out []float32) { panic("bindings: built without cgo") }

// Run needs cgo.
func (a *LinearAttention) Run(pool *Pool, scratch []float32) { panic("bindings: built without cgo") }

// Run needs cgo.
func (c *CausalConv) Run(pool *Pool, scratch []float32) { panic("bindings: built without cgo") }
