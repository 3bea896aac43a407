package tokenizer

// A postprocessor adds special tokens around the ids of a text.
type postprocessor interface {
	process(ids []int32) []int32
}

// A template puts ids around those of a text.
type template struct{ before, after []int32 }

func (t template) process(ids []int32) []int32 {
	list := make([]int32, 0, len(t.before)+len(ids)+len(t.after))
	list = append(list, t.before...)
	list = append(list, ids...)
	return append(list, t.after...)
}
