package tokenizer

// A template is the post-processor of single texts: it puts ids of special tokens around
// those of a text.
type template struct{ before, after []int32 }

func (t template) process(ids []int32) []int32 {
	list := make([]int32, 0, len(t.before)+len(ids)+len(t.after))
	list = append(list, t.before...)
	list = append(list, ids...)
	return append(list, t.after...)
}
