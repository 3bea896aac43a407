"""The texts of the comparison: sentences to train on, and random texts of every kind."""

import random
import unicodedata

SENTENCES = (
    """
The quick brown fox jumps over the lazy dog, and then it doesn't run away; it's tired.
We'll see whether they've read 1234 pages by 10:45 or they'd rather wait for 3.14159 hours.
A tensor of shape [2, 3] holds six values. Its sum is 21.0, its mean 3.5 and its name "x".
func main() { for i := 0; i < 10; i++ { fmt.Println("hello,\\tworld", i) } }
def forward(self, x):\n    # the residual stream\n    return x + self.attention(self.norm(x))
Der schnelle braune Fuchs springt über den faulen Hund. Größe, Straße, Übermut, Äpfel.
Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva de crapaüter en canoë au-delà des îles.
El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío; ¿añoraba a su querido cachorro?
Съешь же ещё этих мягких французских булок, да выпей чаю. Быстрая лиса прыгает.
Η γρήγορη αλεπού πηδάει πάνω από τον τεμπέλη σκύλο. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.
敏捷的棕色狐狸跳过了懒狗。我们今天去公园散步,天气很好。
素早い茶色の狐はのろまな犬を飛び越える。コンピュータのデータをテストする。
빠른 갈색 여우가 게으른 개를 뛰어넘습니다. 오늘은 날씨가 좋습니다.
الثعلب البني السريع يقفز فوق الكلب الكسول. اللغة العربية جميلة.
तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। आज मौसम अच्छा है।
สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ
Emoji 😀 🦊 👩‍👩‍👧 🇩🇪 ❤️ and maths ∑ ∫ √ ≤ ≥ ℝ ½ ² Ⅻ ①.
HTTPServer camelCase snake_case SCREAMING_CASE McDonald iPhone XMLHttpRequest2
{"key": "value", "list": [1, 22, 333, 4444], "null": null, "nested": {"a": true}}
https://example.org/path?query=1&other=two#fragment user@example.org C:\\\\files\\\\name.txt
""".strip()
    .replace("\\n", "\n")
    .replace("\\t", "\t")
    .split("\n")
)

SPECIAL = [
    "<|endoftext|>",
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "<mask>",
    "<|im_start|>",
    "<|im_end|>",
    "<extra>",
    "word",
    "<0x41>",
    "<nl>",
]

ATOMS = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u200b",
    "\u2028",
    "\x85",
    "\u200d",
    "\ufeff",
    "\ufffd",
    "\x00",
    "\x01",
    "\x1f",
    "\x7f",
    "'s",
    "'S",
    "'t",
    "'re",
    "'VE",
    "'ll",
    "'LL",
    "'d",
    "'m",
    "'\u017f",
    "don't",
    "I'M",
    "\u2019s",
    "a\u0301",
    "e\u0308",
    "o\u0302\u0323",
    "\u1e69",
    "s\u0323\u0307",
    "\u0301",
    "\u0345",
    "\u212b",
    "\ufb01",
    "\ufb03",
    "\u00bd",
    "\u2460",
    "\u3392",
    "\uff21\uff22",
    "\uff76\uff9e",
    "\u1100\u1161\u11a8",
    "\uac01",
    "\u0130",
    "I\u0307",
    "\u01c5",
    "\u1e9e",
    "\u03a3",
    "\u03c2",
    "\u0149",
    "\u00df",
    "\U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "\u2764\ufe0f",
    "\U0001f44d\U0001f3fd",
    "1\ufe0f\u20e3",
    "\u0661\u0662",
    "\u0967",
    "\u2160",
    "\u00b2",
    "\U0001d7d8",
    "123",
    "1234567",
    "3.14",
    "\u4e2d\u6587",
    "\u3042\u30a2",
    "\u30fc",
    "\U00020000",
    "\U0002a6d0",
    "\u0e01\u0e33",
    "\u0915\u094d\u0937",
    "\u0634\u0651",
    "\u2581",
    "\u2581\u2581",
    "_",
    "__",
    "\u0120",
    "\u010a",
    "</w>",
    "##",
    "...",
    "?!",
    "\u2026",
    "\u3002",
    "//",
    "/\n/",
    "-\n\n",
    "!\r\n",
    "\u02b0",
    "\u02bc",
    "\u00aa",
    "\u05d0",
    "A\u00aa",
    "\u00adx",
    "\u0378",
    "\ue000",
    "\U000e0001",
    "\U0010ffff",
    "\ud7ff",
    "\uffff",
    "\u1680",
    "\u180e",
    "\u2060",
    "\u0600",
    "\u070f",
    "ABC",
    "abC",
    "Abc",
]


def scalar(r):
    """A random character: mostly of the first plane."""
    while True:
        c = r.choice(
            [
                r.randrange(0x20, 0x7F),
                r.randrange(0x250),
                r.randrange(0x3000),
                r.randrange(0x10000),
                r.randrange(0x20000),
                r.randrange(0x110000),
            ]
        )
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def known(r):
    """A random character that Unicode has assigned for long, and whose category has not changed since."""
    while True:
        c = scalar(r)
        if "Cn" != unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c):
            return c


def words(r, n):
    return " ".join(r.choice(r.choice(SENTENCES).split(" ")) for _ in range(n))


def text(r):
    kind = r.randrange(8)
    n = r.randrange(1, 12)
    if kind == 0:
        return r.choice(SENTENCES)
    if kind == 1:
        return words(r, n)
    if kind == 2:
        return "".join(r.choice(ATOMS) for _ in range(n))
    if kind == 3:
        return "".join(known(r) for _ in range(n))
    if kind == 4:
        return "".join(r.choice([r.choice(ATOMS), words(r, 1), r.choice(SPECIAL), known(r)]) for _ in range(n))
    if kind == 5:
        s = words(r, n)
        i = r.randrange(len(s) + 1)
        return s[:i] + r.choice(SPECIAL + ATOMS) + s[i:]
    if kind == 6:
        return "".join(r.choice([" ", "a", "'", "\n", "1", "B", "é", "中", ".", "\t"]) for _ in range(3 * n))
    s = r.choice(SENTENCES)
    i = r.randrange(len(s))
    return s[i : i + r.randrange(1, 40)]


def texts(count, seed):
    r = random.Random(seed)
    first = ["", " ", "a", "\n", "Hello, world!", " leading", "trailing ", "  two  spaces  "] + SENTENCES
    return (first + [text(r) for _ in range(max(0, count - len(first)))])[:count]


def corpus(seed=1, lines=400):
    r = random.Random(seed)
    return SENTENCES * 4 + [words(r, 12) for _ in range(lines)]
