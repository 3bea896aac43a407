// Package speech speaks texts with voices: networks that turn text into sound. The package is for
// programs that talk.
//
// Open opens a voice by its path. Voice.Speak yields the sound of a text, one sentence at a time:
//
//	voice, err := speech.Open("en_US-joe-medium.onnx", speech.Options{})
//	for sentence, err := range voice.Speak(ctx, "Hello. How are you?", speech.SpeakOptions{}) {
//		...
//		play(sentence.Rate, sentence.Samples)
//	}
//
// # Voices
//
// A voice of Piper is a file VOICE.onnx with a file VOICE.onnx.json beside it. It takes phonemes,
// which package speech/phonemes makes of text.
//
// A voice of Chatterbox turbo is a folder as it is published: tokenizer.json and, in the folder onnx
// or beside it, the graphs speech_encoder, embed_tokens, language_model and conditional_decoder of
// one precision, each with its weights. It speaks like the person in Options.Reference, in English.
// Tags such as [laugh] are sounds. The speech encoder hears the reference once, with the first
// sentence. A sentence that does not end after 41 seconds is cut there.
//
// A voice of Kokoro is a folder with a network, the numbers of its phonemes (vocab.json or
// config.json) and styles of speakers (voices*.npz, voices*.bin, or voices/SPEAKER.bin). The first
// letter of a speaker's name is the language: a and b English, j Japanese in kana, others by
// espeak-ng.
//
// Files of voices are not trusted: numbers and names are checked before they are used, and other
// files are opened in the voice's own folder only.
//
// # Memory and goroutines
//
// A voice holds memory outside Go's heap, which Close frees. One goroutine at a time speaks with a
// voice. While the caller uses a sentence, a goroutine of Speak computes the next one; it has ended
// when the loop has.
package speech
