package vulkan

import (
	"slices"
	"unsafe"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// recipeIndex and the numbers below it are the indices of Const operands for constants of the model
// in another form. The operand with index recipeIndex - n is the result of recipe n.
const recipeIndex = -3

// recipe is a dispatch that computes a constant of the model in another form. Its operands are the
// constant and the result. It runs once for all plans of the model.
type recipe struct {
	source []byte
	kernel *kernel
	push   []uint32
	bytes  int     // of the result
	memory *Memory // nil before the first use
}

func isPrepared(o *device.Operand) bool { return o.Place == device.Const && o.Index <= recipeIndex }

// prepared returns an operand of n bytes that a shader computes of a constant of the model, by at
// least invocations invocations. Constants are the shader's after the size of a workgroup. The
// constant of the model never moves.
func (b *binder) prepared(
	source []byte, n int, name, variant string, invocations int, constants []uint32, w words,
) (device.Operand, error) {
	o := device.Operand{Place: device.Const, Data: source, Bytes: n}
	m, err := b.module(name, variant)
	if err != nil {
		return o, err
	}
	if err := b.checkVisible([]device.Operand{o, {Place: device.Const, Data: source}}); err != nil {
		return o, err
	}
	k := &kernel{module: m, constants: append([]uint32{groupSize}, constants...),
		groups: b.flatGroups((invocations + groupSize - 1) / groupSize)}
	o.Index = recipeIndex - b.weights.recipe(&recipe{source: source, kernel: k, push: w, bytes: n})
	return o, nil
}

// recipe returns the number of a recipe.
func (w *weights) recipe(r *recipe) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.IndexFunc(w.recipes, func(x *recipe) bool {
		return unsafe.SliceData(x.source) == unsafe.SliceData(r.source) && len(x.source) == len(r.source) && x.kernel.key() == r.kernel.key() &&
			slices.Equal(x.push, r.push)
	})
	if at < 0 {
		at, w.recipes = len(w.recipes), append(w.recipes, r)
	}
	return at
}

// prepared returns the memory of an operand's constant. The first call computes it.
func (w *weights) prepared(o *device.Operand) (*Memory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.recipes[recipeIndex-o.Index]
	if r.memory != nil {
		return r.memory, nil
	}
	p, err := w.dev.pipeline(r.kernel)
	if err != nil {
		return nil, err
	}
	source, err := w.dev.upload(r.source)
	if err != nil {
		return nil, err
	}
	defer source.Free()
	m, err := w.dev.pool.alloc(r.bytes)
	if err != nil {
		return nil, err
	}
	operands := []vk.Operand{source.operand(0, wholeWords(len(r.source))), m.operand(0, wholeWords(r.bytes))}
	x, err := w.dev.dev.NewRecorder(1, len(operands), 0)
	if err == nil {
		defer x.Free()
		err = x.Dispatch(p, operands, r.push, r.kernel.groups)
	}
	if err == nil {
		err = x.End()
	}
	if err == nil {
		err = x.Run()
	}
	if err != nil {
		m.Free()
		return nil, failure(err)
	}
	r.memory = m
	return m, nil
}
