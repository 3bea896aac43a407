"""Small cases of every operator of ai.onnx.ml that ONNX Runtime has, for ml_cases.py."""

import numpy as np
from onnx import numpy_helper

CASES = {}  # by operator: how many outputs it has, and a generator
NUMBERS = ["float32", "float64", "int64", "int32"]


def cases(op, outputs=1):
    """Registers a generator of the cases of an operator, which takes a source of random numbers."""

    def register(f):
        CASES[op] = (outputs, f)
        return f

    return register


def array(rng, dtype, *shape):
    """Random numbers of a type, whole ones for integers."""
    a = rng.standard_normal(shape) * 2
    return np.rint(a).astype(dtype) if np.dtype(dtype).kind == "i" else a.astype(dtype)


def floats(a):
    """A list of floats for an attribute, each one that float32 holds."""
    return [float(v) for v in np.float32(a).reshape(-1)]


def words(*list_):
    return np.array(list_, dtype=object)


@cases("ArrayFeatureExtractor")
def extractor(rng):
    for dtype in NUMBERS:
        yield dtype, 1, {}, [array(rng, dtype, 3, 5), np.array([4, 0, 0])]
    yield "vector", 1, {}, [array(rng, "float32", 5), np.array([4, 1])]
    yield "cube", 1, {}, [array(rng, "float32", 2, 3, 5), np.array([[4, 1], [0, 2]])]
    yield "strings", 1, {}, [np.array([["a", "b"], ["c", "d"]], dtype=object), np.array([1])]


@cases("Binarizer")
def binarizer(rng):
    yield "threshold", 1, {"threshold": 0.5}, [array(rng, "float32", 3, 5)]
    yield "default", 1, {}, [array(rng, "float32", 3, 5)]


@cases("CategoryMapper")
def category_mapper(rng):
    a = {"cats_strings": ["a", "b", "a"], "cats_int64s": [3, -1, 3]}
    yield "to numbers", 1, a, [words("b", "a", "x")]
    yield "to strings", 1, {**a, "default_string": "none"}, [np.array([[3], [4]])]


@cases("FeatureVectorizer")
def vectorizer(rng):
    for dtype in NUMBERS:
        yield dtype, 1, {"inputdimensions": [2, 5]}, [array(rng, dtype, 3, 4), array(rng, dtype, 3, 2)]
    yield "vectors", 1, {"inputdimensions": [3, 2]}, [array(rng, "float32", 3), array(rng, "float32", 2)]


@cases("Imputer")
def imputer(rng):
    x = array(rng, "float32", 4, 3)
    x[1, 1] = x[3, 0] = -1
    yield "once", 1, {"imputed_value_floats": [2.5], "replaced_value_float": -1.0}, [x]
    yield "each", 1, {"imputed_value_floats": [2.5, 3.0, 4.0], "replaced_value_float": -1.0}, [x]
    yield "integers", 1, {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 1}, [array(rng, "int64", 6, 3)]


@cases("LabelEncoder")
def label_encoder(rng):
    yield "first", 1, {"classes_strings": ["a", "b", "a"]}, [words("b", "a", "x")]
    yield "first, to strings", 1, {"classes_strings": ["a", "b"]}, [np.array([1, 0, 2])]
    keys = {"keys_strings": ["a", "b"], "keys_int64s": [3, -4], "keys_floats": [0.5, -4.0]}
    values = {"values_strings": ["x", "y"], "values_int64s": [7, 8], "values_floats": [0.25, -1.0]}
    inputs = {"keys_strings": words("b", "c"), "keys_int64s": np.array([[-4, 3, 0]]), "keys_floats": np.float32([-4, 3])}
    for key in keys:
        for value in values:
            for version in 2, 4:
                yield f"{key}, {value}", version, {key: keys[key], value: values[value]}, [inputs[key]]
    tensor = numpy_helper.from_array
    a = {"keys_tensor": tensor(np.array([1.5, np.nan])), "values_tensor": tensor(np.array([2.5, 3.5]))}
    yield "tensors", 4, {**a, "default_tensor": tensor(np.array([-8.0]))}, [np.array([np.nan, 1.5, 2])]


@cases("Normalizer")
def normalizer(rng):
    for dtype in NUMBERS:
        x = array(rng, dtype, 4, 5)
        x[1] = 0
        for norm in "MAX", "L1", "L2":
            yield f"{norm} {dtype}", 1, {"norm": norm}, [x]
    yield "vector", 1, {"norm": "L2"}, [array(rng, "float32", 5)]


@cases("OneHotEncoder")
def one_hot(rng):
    for dtype in "int64", "float32", "float64":
        yield dtype, 1, {"cats_int64s": [-1, 2, 0, 1]}, [array(rng, dtype, 3, 4)]
    yield "strings", 1, {"cats_strings": ["b", "a"]}, [words("a", "c", "b")]
    yield "strict", 1, {"cats_int64s": [5, 6], "zeros": 0}, [np.array([[6, 5], [5, 5]])]


@cases("Scaler")
def scaler(rng):
    for dtype in NUMBERS:
        yield f"each {dtype}", 1, {"offset": [0.5, -1.0, 2.0], "scale": [2.0, 0.25, -1.5]}, [array(rng, dtype, 4, 3)]
        yield f"once {dtype}", 1, {"offset": [0.5], "scale": [-2.0]}, [array(rng, dtype, 4, 3)]
