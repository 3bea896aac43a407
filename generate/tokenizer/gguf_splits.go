package tokenizer

import (
	"strings"
	"sync"
)

// A ggufSplit is how a model of byte pair encoding splits text: a value of tokenizer.ggml.pre.
type ggufSplit struct {
	names string   // with blanks between
	by    []string // expressions; each splits the parts that the one before it leaves
	whole bool     // words of the vocabulary are tokens whatever the merges say
	bos   bool     // texts have a beginning unless the file says otherwise
	raw   bool     // tokens are texts with marks for blanks, and <0x0A> for bytes, not characters for bytes
	lines bool     // the rules of Gemma 4: so are words of line ends alone, and texts always have a beginning
}

// Parts of the expressions. Characters that Unicode's normal forms replace are escapes.
const (
	oneNumber    = `\p{N}`
	threeNumbers = `\p{N}{1,3}`
	threeDigits  = `[0-9][0-9][0-9]`
	lineEnd      = `[\r\n]`
	linesApart   = `[^\n]+|[\n]+`
	sinograms    = `[一-龥ࠀ-一가-퟿]+`
	kanaToo      = `[一-龥぀-ゟ゠-ヿ]+`
	signedWords  = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+`
	deepseek3    = signedWords + `| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	bloom        = ` ?[^(\s|.,!?…。，、।۔،)]+`
	afterFirst   = ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	casedLetters = `A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ\x{1F5F}-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌ\x{1FD0}-\x{1FD3}` +
		`\x{1FD6}-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-\x{212D}ℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃`
)

// ggufSplitList is the table. A name that it lacks is an error.
var ggufSplitList = []ggufSplit{
	{names: "default", by: []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2, `\p{N}+`, threeDigits}},
	{names: "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", by: []string{cl100k},
		whole: true, bos: true},
	{names: "dbrx smaug-bpe chatglm-bpe", by: []string{cl100k}},
	{names: "glm4 glm5", by: []string{cl100k}, whole: true},
	{names: "qwen2 deepseek-r1-qwen megrez kormo hunyuan solar-open stablelm2 grok-2 f2llmv2", by: []string{qwen2}},
	{names: "qwen35", by: []string{
		folded + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
	}},
	{names: "gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe gigachat mellum" +
		" exaone4 modern-bert a.x-4.0 mpt olmo jais trillion granite-docling", by: []string{gpt2}},
	{names: "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", by: []string{oneNumber, gpt2}},
	{names: "gpt-4o llama4 kanana2 talkie minimax-m2", by: []string{o200k}},
	{names: "granite-embed-multi-97m", by: []string{o200k}, whole: true},
	{names: "tekken", by: []string{tekken}, whole: true, bos: true},
	{names: "deepseek-llm", by: []string{
		lineEnd, `\s?[` + casedLetters + `]+`, `\s?[!-/:-~！-／：-～‘-‟　-。]+`, `\s+$`, sinograms, `\p{N}+`,
	}},
	{names: "deepseek-coder", by: []string{lineEnd, `\s?\p{L}+`, `\s?\p{P}+`, sinograms, oneNumber}},
	{names: "deepseek-v3 hunyuan-dense joyai-llm hy_v4", by: []string{threeNumbers, kanaToo, deepseek3}},
	{names: "spark2_5", by: []string{threeNumbers, kanaToo, signedWords + `| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+`, oneNumber}},
	{names: "falcon", by: []string{`[\p{P}\$\+<=>\^~\|` + "`" + `]+`, gpt2, threeDigits}},
	{names: "bloom poro-chat gpt3-finnish", by: []string{bloom}},
	{names: "viking", by: []string{bloom, oneNumber}},
	{names: "seed-coder", by: []string{
		folded + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`,
	}},
	{names: "bailingmoe bailingmoe2 llada-moe", by: []string{
		`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`,
	}},
	{names: "exaone-moe", by: []string{
		folded + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`,
	}},
	{names: "ufakzeka", by: []string{`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` + afterFirst}},
	{names: "laguna", by: []string{linesApart, qwen2}},
	{names: "minicpm5", by: []string{threeNumbers, folded + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|` + afterFirst}, whole: true},
	{names: "tiny_aya cohere2moe", by: []string{digitsToBoundary, o200k}},
	{names: "superbpe", by: []string{`\p{N}+`, numbersToEnd}},
	{names: "afmoe", by: []string{
		numbersToEnd, `[一-鿿㐀-䶿\x{F900}-\x{FAFF}぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+`, deepseek3,
	}},
	{names: "youtu", by: []string{
		`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`,
		upperWord + folded + `?|` + lowerWord + folded + `?|\p{N}` + afterWords,
	}, whole: true},
	{names: "chameleon", by: []string{
		`<sentinel:[0-9]+>`, `(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`, `([\t\n]|    |  )`, oneNumber, `[\p{P}!-/:-@\[-` + "`" + `{-~]`, gpt2,
	}, bos: true},
	{names: "gemma4 granite-embed-multi-311m", by: []string{linesApart}, raw: true, bos: true, lines: true},
	{names: "sarvam-moe", by: []string{linesApart}, raw: true},
}

// ggufSplits is the table by name.
var ggufSplits = sync.OnceValue(func() map[string]*ggufSplit {
	table := map[string]*ggufSplit{}
	for i := range ggufSplitList {
		for name := range strings.FieldsSeq(ggufSplitList[i].names) {
			table[name] = &ggufSplitList[i]
		}
	}
	return table
})

// split returns how the file asks to split text. Old files do not say it.
func (g *gguf) split() *ggufSplit {
	name, ok := g.text(ggufPrefix + "pre")
	if !ok {
		g.warn("%spre is missing: text is split by default, and ids may be wrong; convert the model again", ggufPrefix)
		name = "default"
	}
	s, ok := ggufSplits()[name]
	if !ok {
		g.fail("%spre is %.60q, and no way to split text has that name; %s", ggufPrefix, name, wayOut)
	}
	return s
}
