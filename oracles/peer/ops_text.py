"""Single operators on strings."""

import numpy as np

from generators import operators

LETTERS = list("abcABC019") + [" ", " ", ",", ",", "é", "日"]


def line(c, longest=9):
    return "".join(c.pick(LETTERS) for _ in range(c.int(1, longest)))


def lines(c, shape, longest=9):
    a = np.empty(shape, dtype=object)
    for i in np.ndindex(*shape):
        a[i] = line(c, longest)
    return a


@operators("StringConcat")
def concat(c):
    c.exact = True
    x, y = c.broadcast(2)
    c.single(c.value(lines(c, x)), c.value(lines(c, y)))


@operators("StringSplit")
def split(c):
    c.exact = True
    a = lines(c, c.shape(0, 3, limit=60))
    c.single(
        c.value(a), n=2, delimiter=c.pick([None, "", ",", " ", "a", "ab", "é"]), maxsplit=c.pick([None, -1, 0, 1, 2, 5])
    )


PIECES = [
    "a",
    "b",
    ".",
    "[a-c]",
    "[^a]",
    r"\w",
    r"\s",
    r"\pL",
    "é",
    "(?i:A)",
    "a*",
    "b+?",
    "(ab)?",
    "(?:a|bc)",
    ".*",
    "^",
    "$",
    "[[:digit:]]",
    "c{1,3}",
]


@operators("RegexFullMatch")
def regex(c):
    c.exact = True
    pattern = "".join(c.pick(PIECES) for _ in range(c.int(0, 4)))
    if c.chance(0.3):
        pattern += "|" + "".join(c.pick(PIECES) for _ in range(c.int(0, 3)))
    c.single(c.value(lines(c, c.shape(0, 3, limit=200), longest=4)), pattern=pattern)


@operators("StringNormalizer")
def normalizer(c):
    c.exact = True
    a = lines(c, c.pick([[], [1]]) + [c.int(1, 30)], longest=2)
    words = list({line(c, 2) for _ in range(c.int(0, 20))})
    action = c.pick([None, "NONE", "LOWER", "UPPER"])
    c.single(
        c.value(a),
        case_change_action=action,
        is_case_sensitive=c.pick([0, 1]),
        locale="C.utf8",  # the only one that every system has
        stopwords=words or None,
    )


@operators("TfIdfVectorizer")
def tf_idf(c):
    longest = c.int(1, 4)
    shortest = c.int(1, longest)
    pool, starts, n = [], [], 0
    for size in range(1, longest + 1):
        starts.append(len(pool))
        grams = {tuple(c.int(0, 4) for _ in range(size)) for _ in range(c.int(0, 6))}
        n += len(grams)
        pool += [item for gram in grams for item in gram]
    if not n:
        pool, starts, n = [0], [0] + [1] * (longest - 1), 1
    dtype = c.dtype(among=[np.dtype(d) for d in ("int32", "int64", "object")])
    x = c.rng.integers(0, 6, c.pick([[], [c.int(1, 5)]]) + [c.int(0, 40)])
    if dtype == np.dtype(object):
        x, pool = np.array([f"word {i}" for i in x.ravel()], dtype=object).reshape(x.shape), [f"word {i}" for i in pool]
    indexes = c.sample(range(n + c.int(0, 3)), n)
    c.single(
        c.value(np.asarray(x, dtype=dtype)),
        mode=c.pick(["TF", "IDF", "TFIDF"]),
        min_gram_length=shortest,
        max_gram_length=longest,
        max_skip_count=c.int(0, 5),
        ngram_counts=starts,
        ngram_indexes=indexes,
        weights=c.pick([None, [c.uniform(-2, 2) for _ in range(n)]]),
        **{"pool_strings" if dtype == np.dtype(object) else "pool_int64s": pool},
    )
