"""Networks of the package transformers, in configurations of a few thousand weights."""

import contextlib

from made_torch import net


def broadcast(mask, bh_indices=True):
    """What transformers does by vmap, which the tracer cannot follow."""

    def over(batch, head, row, column):
        if bh_indices:
            return mask(
                batch[:, None, None, None],
                head[None, :, None, None],
                row[None, None, :, None],
                column[None, None, None, :],
            )
        return mask(batch, head, row[:, None], column[None, :])

    return over


def hugging(name, family, what, kind, config, feeds, call=None, nested=None, half=False, **settings):
    """A row. kind is "Base" for BaseConfig and BaseModel, or "Base:Class"; nested holds configurations within config."""

    def build():
        import transformers
        import transformers.masking_utils

        transformers.masking_utils._vmap_for_bhqkv = broadcast
        transformers.masking_utils.TransformGetItemToIndex = contextlib.nullcontext
        parts = {k: getattr(transformers, c)(**v) for k, (c, v) in (nested or {}).items()}
        base, _, cls = kind.partition(":")
        c = getattr(transformers, base + "Config")(**config, **parts)
        module = getattr(transformers, cls or base + "Model")._from_config(c, attn_implementation="eager")
        return module.half() if half else module

    def run(module, **inputs):
        return module(**inputs, return_dict=True)

    net(name, family, what, "transformers", build, feeds, call=call or run, **settings)
