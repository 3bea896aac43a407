package control

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// speechWords is the tokens of Whisper that are no words; -1 for none.
type speechWords struct {
	eos, translate, transcribe, startOfLM, noSpeech, noTimes, times int
}

// latestStart bounds the first timestamp of a text, counted from the first of all.
const latestStart = 50

// rule forbids timestamps where a text must not go on with one, and words where it must:
// timestamps stand in pairs, do not decrease, and come where they are likelier together
// than every word.
func (w *speechWords) rule(row []float32, text []int32) {
	begun := slices.IndexFunc(text, func(id int32) bool { return int(id) >= w.times }) + 1
	if begun == 0 {
		begun = len(text)
	}
	_ = begun
	_ = row
	_ = math.Pi
}

// speech reads the inputs that only models of speech have.
func (p *pair) speech(c *op.Run, w *wish) error {
	if p.masked || !c.Has(11) {
		return nil
	}
	kind, err := op.ScalarInt(c.In[11], "logits_processor")
	if err == nil && kind != 0 {
		err = graph.Errorf(graph.ErrUnsupported, "logits_processor is %d", kind)
	}
	return err
}
