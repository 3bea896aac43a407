"""Trees, linear models, neighbours, kernels and pipelines, trained here and exported by skl2onnx and onnxmltools."""

import numpy as np

import values
from made import made, seed
from values import F

FEATURES = 8


def table(name, target):
    """Numbers to learn from, and what to say of them."""
    rng = np.random.default_rng(seed(name))
    x = rng.standard_normal((400, FEATURES)).astype(F)
    score = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * x[:, 3] + 0.2 * rng.standard_normal(400)
    if target == "number":
        return x, score.astype(F)
    if target == "numbers":
        return x, np.stack([score, x[:, 4] - score**2], 1).astype(F)
    if target == "count":
        return x, np.exp(score / 2).astype(F)
    classes = np.digitize(score, np.quantile(score, {"two": [0.5], "three": [0.3, 0.7]}[target]))
    return x, classes


def rows(rng):
    for n in (1, 50):
        yield {"X": rng.standard_normal((n, FEATURES)).astype(F)}


def counts(rng):
    for n in (1, 50):
        yield {"X": rng.integers(0, 6, (n, FEATURES)).astype(F)}


def incomplete(rng):
    for n in (1, 50):
        x = rng.standard_normal((n, FEATURES)).astype(F)
        x[rng.random(x.shape) < 0.1] = np.nan
        yield {"X": x}


def holes(x, name):
    x[np.random.default_rng(seed(name)).random(x.shape) < 0.1] = np.nan
    return x


def estimator(expression):
    """The model that an expression of scikit-learn's names says; a name is found in its module."""
    import sklearn.utils

    names = dict(sklearn.utils.all_estimators())
    from sklearn.gaussian_process import kernels
    from sklearn.pipeline import make_pipeline, make_union

    extra = {"make_pipeline": make_pipeline, "make_union": make_union, "kernels": kernels, "np": np}
    return eval(expression, names | extra)


def sk(name, family, what, expression, target="two", feeds=rows, **tolerance):
    def model(path):
        import skl2onnx
        import sklearn.base
        import sklearn.svm

        x, y = table(name, target)
        if feeds is counts:
            x = np.abs(np.round(2 * x))
        if feeds is incomplete:
            x = holes(x, name)
        m = estimator(expression).fit(x, y)
        scores = "decision_function" if family == linear else "predict_proba"
        maps = sklearn.base.is_classifier(m) and hasattr(m, scores) and not isinstance(m, sklearn.svm.LinearSVC)
        options = {id(m): {"zipmap": False}} if maps else None
        converted = skl2onnx.to_onnx(m, x[:1], options=options, target_opset={"": 21, "ai.onnx.ml": 3})
        with open(path, "wb") as f:
            f.write(converted.SerializeToString())

    made(name, family, what, "skl2onnx", feeds, model, **tolerance)


forest = "forests"
sk("forest_classes", forest, "random forest", "RandomForestClassifier(30, random_state=1)", "three")
sk("forest_number", forest, "random forest", "RandomForestRegressor(30, random_state=1)", "number")
sk(
    "forest_numbers",
    forest,
    "extremely random trees of two answers",
    "ExtraTreesRegressor(20, random_state=1)",
    "numbers",
)
sk("tree_classes", forest, "decision tree", "DecisionTreeClassifier(random_state=1)", "three")
sk("isolation_forest", forest, "outliers by random trees", "IsolationForest(n_estimators=30, random_state=1)", "two")
sk("bagging", forest, "bagged trees", "BaggingClassifier(n_estimators=8, random_state=1)", "three")
sk(
    "boosting_classes",
    forest,
    "gradient boosting",
    "GradientBoostingClassifier(n_estimators=30, random_state=1)",
    "three",
)
sk(
    "boosting_number",
    forest,
    "gradient boosting",
    "GradientBoostingRegressor(n_estimators=30, random_state=1)",
    "number",
)
sk("adaboost", forest, "AdaBoost", "AdaBoostClassifier(n_estimators=10, random_state=1)", "three")
sk("adaboost_number", forest, "AdaBoost", "AdaBoostRegressor(n_estimators=10, random_state=1)", "number")

linear = "linear models"
sk("logistic_two", linear, "logistic regression", "LogisticRegression()", "two")
sk("logistic_three", linear, "logistic regression", "LogisticRegression()", "three")
sk("ridge", linear, "ridge regression of two answers", "Ridge()", "numbers")
sk("elastic_net", linear, "elastic net", "ElasticNet(alpha=0.01)", "number")
sk("linear_svc", linear, "support vectors of a line", "LinearSVC()", "three")
sk("sgd", linear, "stochastic gradient descent", "SGDClassifier(loss='log_loss', random_state=1)", "three")
sk("perceptron", linear, "perceptron", "Perceptron(random_state=1)", "three")
sk("poisson", linear, "Poisson regression", "PoissonRegressor()", "count")
sk("one_against_all", linear, "one model a class", "OneVsRestClassifier(LogisticRegression())", "three")
sk("discriminant", linear, "linear discriminant analysis", "LinearDiscriminantAnalysis()", "three")
sk("quadratic_discriminant", linear, "quadratic discriminant analysis", "QuadraticDiscriminantAnalysis()", "three")
sk("partial_squares", linear, "partial least squares", "PLSRegression(3)", "numbers")

kernel = "kernels and neighbours"
sk("svc", kernel, "support vectors, radial kernel, probabilities", "SVC(probability=True, random_state=1)", "three")
sk("svc_polynomial", kernel, "support vectors, polynomial", "SVC(kernel='poly', degree=2, coef0=1)", "three")
sk("svr", kernel, "support vector regression", "SVR()", "number")
sk("nu_svr", kernel, "support vector regression, sigmoid", "NuSVR(kernel='sigmoid', gamma=0.01)", "number")
sk("one_class_svm", kernel, "outliers by support vectors", "OneClassSVM()", "two")
sk("neighbours_classes", kernel, "nearest neighbours", "KNeighborsClassifier(5)", "three")
sk(
    "neighbours_number",
    kernel,
    "nearest neighbours, by distance",
    "KNeighborsRegressor(4, weights='distance')",
    "number",
)
sk("neighbours_manhattan", kernel, "nearest neighbours by blocks", "KNeighborsClassifier(3, p=1)", "two")
sk(
    "gaussian_process",
    kernel,
    "Gaussian process",
    "GaussianProcessRegressor(kernels.RBF(2.0) + kernels.WhiteKernel(0.1))",
    "number",
)
sk("kernel_components", kernel, "components of a kernel", "KernelPCA(4, kernel='rbf')", "number")
sk("local_outliers", kernel, "local outlier factor", "LocalOutlierFactor(novelty=True)", "two")

other = "densities, layers, pipelines"
sk("naive_gauss", other, "naive Bayes", "GaussianNB()", "three")
sk("naive_counts", other, "naive Bayes of counts", "MultinomialNB()", "three", counts)
sk("naive_bernoulli", other, "naive Bayes of yes and no", "BernoulliNB()", "three", counts)
sk("mixture", other, "mixture of Gaussians", "GaussianMixture(3, random_state=1)", "number")
sk("k_means", other, "k-means", "KMeans(4, n_init=1, random_state=1)", "number")
sk("perceptrons", other, "multi-layer perceptron", "MLPClassifier((16, 8), max_iter=50, random_state=1)", "three")
sk(
    "perceptrons_tanh",
    other,
    "multi-layer perceptron",
    "MLPRegressor(hidden_layer_sizes=(16,), activation='tanh', max_iter=50, random_state=1)",
    "numbers",
)
sk(
    "voting",
    other,
    "votes",
    "VotingClassifier([('a', LogisticRegression()), ('b', GaussianNB())], voting='soft', flatten_transform=False)",
    "three",
)
sk(
    "stacking",
    other,
    "a model over models",
    "StackingClassifier([('a', DecisionTreeClassifier()), ('b', GaussianNB())])",
    "three",
)
sk(
    "calibrated",
    other,
    "isotonic calibration",
    "CalibratedClassifierCV(GaussianNB(), method='isotonic', cv=2)",
    "three",
)
sk(
    "chosen",
    other,
    "filled, chosen, scaled",
    "make_pipeline(SimpleImputer(), SelectKBest(k=5), RobustScaler(), LogisticRegression())",
    "two",
    incomplete,
)
sk(
    "filled_by_neighbours",
    other,
    "filled by neighbours",
    "make_pipeline(KNNImputer(n_neighbors=3), Ridge())",
    "number",
    incomplete,
)
sk(
    "components",
    other,
    "components, powers",
    "make_pipeline(PCA(5), PolynomialFeatures(2), StandardScaler(), Ridge())",
    "number",
)
sk(
    "bins",
    other,
    "bins, one-hot",
    "make_pipeline(KBinsDiscretizer(4, encode='onehot-dense', quantile_method='averaged_inverted_cdf'), LogisticRegression())",
    "three",
)
sk(
    "powers",
    other,
    "Yeo-Johnson, limits",
    "make_pipeline(PowerTransformer(), MinMaxScaler(), Normalizer(), LogisticRegression())",
    "two",
)
sk(
    "quantiles",
    other,
    "quantiles",
    "make_pipeline(QuantileTransformer(n_quantiles=50, random_state=1), Ridge())",
    "number",
)
sk(
    "union",
    other,
    "two ways side by side",
    "make_pipeline(make_union(PCA(3), Binarizer(), MaxAbsScaler()), Ridge())",
    "number",
)


def boosted(name, what, package, target, learn, feeds=rows):
    """A model of another library, which its own exporter turns into trees."""

    def model(path):
        from onnxmltools.convert import convert_lightgbm, convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType

        x, y = table(name, target)
        if feeds is incomplete:
            x = holes(x, name)
        m, types = learn(x, y), [("X", FloatTensorType([None, FEATURES]))]
        if package == "lightgbm":
            converted = convert_lightgbm(m, initial_types=types, zipmap=False, target_opset=15)
        else:
            converted = convert_xgboost(m, initial_types=types, target_opset=15)
        with open(path, "wb") as f:
            f.write(converted.SerializeToString())

    made(name, "boosted trees", what, package, feeds, model)


def light(kind, **settings):
    def learn(x, y):
        import lightgbm

        return getattr(lightgbm, kind)(n_estimators=20, num_leaves=15, random_state=1, verbose=-1, **settings).fit(x, y)

    return learn


def extreme(kind, **settings):
    def learn(x, y):
        import xgboost

        return getattr(xgboost, kind)(n_estimators=20, max_depth=4, random_state=1, **settings).fit(x, y)

    return learn


boosted(
    "lightgbm_two", "LightGBM, two classes, numbers missing", "lightgbm", "two", light("LGBMClassifier"), incomplete
)
boosted("lightgbm_three", "LightGBM, three classes", "lightgbm", "three", light("LGBMClassifier"))
boosted("lightgbm_number", "LightGBM, numbers missing", "lightgbm", "number", light("LGBMRegressor"), incomplete)
boosted("lightgbm_poisson", "LightGBM of counts", "lightgbm", "count", light("LGBMRegressor", objective="poisson"))
sampled = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
boosted("lightgbm_forest", "LightGBM as a random forest", "lightgbm", "number", light("LGBMRegressor", **sampled))
boosted(
    "xgboost_two", "XGBoost, two classes, numbers missing", "xgboost-cpu", "two", extreme("XGBClassifier"), incomplete
)
boosted("xgboost_three", "XGBoost, three classes", "xgboost-cpu", "three", extreme("XGBClassifier"))
boosted("xgboost_number", "XGBoost, numbers missing", "xgboost-cpu", "number", extreme("XGBRegressor"), incomplete)
boosted(
    "xgboost_poisson", "XGBoost of counts", "xgboost-cpu", "count", extreme("XGBRegressor", objective="count:poisson")
)
boosted("xgboost_forest", "XGBoost as a random forest", "xgboost-cpu", "two", extreme("XGBRFClassifier"))


WORDS = "nine trees sing at dawn, and rain falls; 12 birds rest here: over the river, no-one speaks!".split()


def sentences(rng, n):
    return np.array([[" ".join(rng.choice(WORDS, rng.integers(1, 12)))] for _ in range(n)], dtype=object)


def read(name, what, expression):
    """A pipeline over sentences."""

    def model(path):
        import skl2onnx
        from skl2onnx.common.data_types import StringTensorType

        rng = np.random.default_rng(seed(name))
        m = estimator(expression).fit(sentences(rng, 200).ravel(), rng.integers(0, 2, 200))
        types = [("text", StringTensorType([None, 1]))]
        options = {id(m): {"zipmap": False}, id(m.steps[0][1]): {"locale": "C"}}
        converted = skl2onnx.to_onnx(m, initial_types=types, options=options, target_opset={"": 21, "ai.onnx.ml": 3})
        with open(path, "wb") as f:
            f.write(converted.SerializeToString())

    def feeds(rng):
        for n in (1, 9):
            yield {"text": sentences(rng, n)}

    made(name, "text", what, "skl2onnx", feeds, model)


read(
    "text_frequencies",
    "weights of words, logistic regression",
    "make_pipeline(TfidfVectorizer(), LogisticRegression())",
)
read(
    "text_pairs",
    "counts of words and pairs, naive Bayes",
    "make_pipeline(CountVectorizer(ngram_range=(1, 2)), MultinomialNB())",
)
read(
    "text_letters",
    "weights of letters",
    "make_pipeline(TfidfVectorizer(analyzer='char', ngram_range=(1, 3)), LogisticRegression())",
)


def mixed(path):
    """Columns of words and of numbers."""
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    rng = np.random.default_rng(1)
    columns = mixture(rng, 300)
    import pandas

    frame = pandas.DataFrame({k: v.ravel() for k, v in columns.items()})
    m = estimator(
        "make_pipeline(ColumnTransformer([('a', OneHotEncoder(handle_unknown='ignore'), ['town']), ('b', OrdinalEncoder(), ['year']),"
        "('c', make_pipeline(SimpleImputer(strategy='median'), StandardScaler()), ['size', 'age'])]), RandomForestClassifier(10, random_state=1))"
    ).fit(frame, rng.integers(0, 2, 300))
    types = [("town", StringTensorType([None, 1])), ("year", Int64TensorType([None, 1]))]
    types += [("size", FloatTensorType([None, 1])), ("age", FloatTensorType([None, 1]))]
    converted = skl2onnx.to_onnx(
        m, initial_types=types, options={id(m): {"zipmap": False}}, target_opset={"": 21, "ai.onnx.ml": 3}
    )
    with open(path, "wb") as f:
        f.write(converted.SerializeToString())


def mixture(rng, n):
    age = rng.uniform(0, 90, (n, 1)).astype(F)
    age[rng.random((n, 1)) < 0.1] = np.nan
    town = rng.choice(np.array(["Oslo", "Lima", "Kyiv", "Accra"], object), (n, 1))
    return {"town": town, "year": rng.integers(2000, 2004, (n, 1)), "size": values.normal(rng, n, 1), "age": age}


def mixtures(rng):
    yield mixture(rng, 1)
    yield mixture(rng, 40) | {"town": np.array([["Paris"]] * 20 + [["Lima"]] * 20, object)}


made("columns", other, "columns of words, years and numbers with holes", "skl2onnx", mixtures, mixed)
