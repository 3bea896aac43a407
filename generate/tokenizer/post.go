package tokenizer

// A template is the post-processor of single texts. It puts ids of special tokens before and after
// the ids of a text.
type template struct{ before, after []int32 }

func (t template) process(w *work, ids []int32) []int32 {
	n := len(t.before) + len(ids) + len(t.after)
	w.steps(n)
	w.hold(4 * n)
	list := make([]int32, 0, n)
	list = append(list, t.before...)
	list = append(list, ids...)
	return append(list, t.after...)
}
