package japanese

import "testing"

// TestPhonemes converts kana: rows, small letters, double consonants, long vowels and nasals.
func TestPhonemes(t *testing.T) {
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
		if got := Phonemes(x.text); got != x.want {
			t.Errorf("%q: %q, want %q", x.text, got, x.want)
		}
	}
}
