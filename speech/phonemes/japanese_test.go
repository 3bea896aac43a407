package phonemes

import (
	"context"
	"testing"
)

// TestJapanese converts kana: rows, small letters, double consonants, long vowels and nasals.
func TestJapanese(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"こんにちは。", "koɲɲiʨiha."},
		{"さくら", "sakɯɾa"},
		{"とうきょう", "toɯkʲoɯ"},
		{"がっこう", "ɡaʔkoɯ"},
		{"コーヒーを、のむ？", "koːçiːo,nomɯ?"},
		{"ﾃｨｰ ヴィ", "tʲiː vʲi"},
		{"しゃしん　きって", "ɕaɕiɴ kʲiʔte"},
		{"さんぽ さんか さんだ さんや", "sampo saŋka sanda saɴja"},
		{"ファイル ウェブ ツァ チェ トゥ シェ", "ɸaiɾɯ βebɯ ʦa ʨe tɯ ɕe"},
		{"じゅう ぴゅ みょ ふゅ ヴュ", "ʥɨɯ pʲɨ mʲo ɸʲɨ bʲɨ"},
		{"「あ」", "“a”"},
		{"漢字 abc", "漢字 abc"},
		{"ん", "ɴ"},
		{"", ""},
	} {
		got, err := Japanese().Phonemes(context.Background(), x.text)
		if err != nil || got != x.want {
			t.Errorf("%q: %q, %v; want %q", x.text, got, err, x.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Japanese().Phonemes(ctx, "あ"); err == nil {
		t.Error("a context that has ended is no error")
	}
}
