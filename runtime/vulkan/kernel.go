package vulkan

import (
	"fmt"

	"github.com/nacre-ml/nacre/shaders"
)

// kernel is a shader with its specialization constants and its grid.
type kernel struct {
	module    *shaders.Module
	constants []uint32
	groups    [3]int
	work      int     // multiply-adds
	does      any     // the work of the dispatch, for merge; nil if that does not know it
	limits    *limits // nil for none
	same      bool    // copies to the same places of operand 1: nothing to do if they share memory
}

// Op returns the shader's name, such as eltwise/unary.
func (k *kernel) Op() string { return k.module.Kernel.Name }

// Variant returns the name of the shader's variant, such as f32.
func (k *kernel) Variant() string { return k.module.Variant.Name }

// key identifies the pipeline: kernels with equal keys share one.
func (k *kernel) key() string { return fmt.Sprint(k.Op(), "/", k.Variant(), k.constants) }
