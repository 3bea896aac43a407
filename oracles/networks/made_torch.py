"""Networks of PyTorch with random weights, exported by its tracer or by torch.export."""

import numpy as np

from made import made, seed


def flat(value):
    """The tensors of a tuple, a dictionary or a structure of either, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "to_legacy_cache"):
        value = value.to_legacy_cache()
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in flat(v)] if hasattr(value, "__iter__") and not isinstance(value, str) else []


def wrapped(module, call, names):
    """The module as a function of tensors by position that returns a tuple of tensors."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, *tensors):
            given = dict(zip(names, tensors))
            out = call(self.module, **given) if call else self.module(*tensors)
            return tuple(flat(out))

    return Wrapped().eval()


def varying(sets):
    """The axes of each input that differ from set to set."""
    axes = {}
    for name, first in sets[0].items():
        of = [k for k in range(first.ndim) if any(s[name].shape[k] != first.shape[k] for s in sets)]
        axes[name] = {k: f"{name}_{k}" for k in of}
    return axes


def net(
    name,
    family,
    what,
    package,
    build,
    feeds,
    call=None,
    how="trace",
    opset=17,
    sets=True,
    axes=None,
    finish=None,
    **tolerance,
):
    """A row. build() returns the module; call(module, **inputs) runs it, if it takes more than inputs by position. The
    exporter sees the last inputs of feeds; axes that differ in others stay open, unless sets is false or axes says."""

    def model(path):
        import torch

        torch.manual_seed(seed(name))
        torch.set_num_threads(1)
        rng = np.random.default_rng(seed(name))
        given = list(feeds(rng)) if sets else [next(feeds(rng))]
        names = list(given[0])
        example = tuple(torch.from_numpy(np.ascontiguousarray(v)) for v in given[-1].values())
        module = wrapped(build(), call, names)
        free = varying(given) if axes is None else axes
        with torch.no_grad():
            outputs = [f"output_{k}" for k in range(len(module(*example)))]
            common = {"input_names": names, "output_names": outputs, "opset_version": opset}
            if how == "trace":
                torch.onnx.export(module, example, path, dynamic_axes=free, dynamo=False, **common)
            else:
                shapes = tuple({k: torch.export.Dim.DYNAMIC for k in free.get(n, {})} for n in names)
                torch.onnx.export(
                    module,
                    example,
                    path,
                    dynamic_shapes=(shapes,),
                    dynamo=True,
                    external_data=False,
                    verbose=False,
                    **common,
                )
        if finish:
            finish(path)

    made(name, family, what, package, feeds, model, **tolerance)
