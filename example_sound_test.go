package nacre_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/speech"
)

// Sound is a tensor of samples. Package speech reads it from WAV, FLAC and MP3, and writes WAV.
func Example_sound() {
	file, err := os.Open("speech/testdata/sounds/pcm16.wav")
	check(err)
	defer file.Close()
	sound, err := speech.ReadSound(file)
	check(err)
	sound = sound.Resample(16000) // the rate of the network
	t, err := nacre.NewTensor(sound.Samples, 1, len(sound.Samples))
	check(err)
	samples, err := nacre.Data[float32](t) // or the result of a run
	check(err)
	var wav bytes.Buffer
	check(speech.WriteWAV(&wav, speech.Sound{Rate: sound.Rate, Samples: samples}))
	fmt.Println(t, wav.Len(), "bytes")
	// Output: float32[1,800] 1644 bytes
}
