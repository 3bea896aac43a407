"""The tables of generators: of single operators, by name, and of whole networks."""

OPERATORS = {}  # by name; those of ONNX Runtime with its domain before it, as the standard has the same names
NETWORKS = {}
DOMAINS = {}  # of operators that are not in the standard one
WITHDRAWN = set()  # operators that the standard has no more, and ONNX Runtime still has
MICROSOFT = "com.microsoft"

# What every model of images, text or sound needs. A name without a generator is an error.
REQUIRED = """
Add Sub Mul Div Pow Sqrt Exp Log Neg Abs Reciprocal Floor Ceil Round Sign Erf Min Max Sum Mean Mod
Relu LeakyRelu PRelu Elu Selu Sigmoid Tanh HardSigmoid HardSwish Softplus Softsign Gelu Clip Softmax LogSoftmax
Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor Not Where
MatMul Gemm Conv ConvTranspose MaxPool AveragePool GlobalMaxPool GlobalAveragePool
BatchNormalization InstanceNormalization LayerNormalization LRN
Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather Expand Tile Pad Shape Size Cast Identity Dropout
Constant ConstantOfShape Range
ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL2 ArgMax ArgMin
Resize Upsample DepthToSpace SpaceToDepth
""".split()


def operators(*names, domain=""):
    """Registers a generator of cases for these operators; it takes the case."""

    def register(f):
        for name in names:
            assert name not in OPERATORS, name
            OPERATORS[name] = f
            if domain:
                DOMAINS[name] = domain
        return f

    return register


def microsoft(*names):
    """Registers a generator of operators that ONNX Runtime adds to the standard's."""
    return operators(*[f"{MICROSOFT}.{name}" for name in names], domain=MICROSOFT)


def withdrawn(*names):
    """Registers a generator of operators that the standard has no more."""
    WITHDRAWN.update(names)
    return operators(*names)


def bare(name):
    """The name of an operator without its domain."""
    return name.rsplit(".", 1)[-1]


def network(f):
    """Registers a generator of a network."""
    NETWORKS[f.__name__] = f
    return f


def missing():
    """The required operators that no generator makes."""
    return [name for name in REQUIRED if name not in OPERATORS]
