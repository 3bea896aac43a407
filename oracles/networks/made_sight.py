"""Networks that see: classes, boxes, masks, text."""

import numpy as np

import values
from made_torch import net
from values import F


def pictures(*shapes, key="pixels", channels=3):
    def feeds(rng):
        for batch, height, width in shapes:
            x = np.stack([values.picture(rng, height, width, channels) for _ in range(batch)])
            yield {key: ((x - F(0.5)) / F(0.25)).astype(F)}

    return feeds


square = pictures((1, 64, 64), (2, 64, 64))
free = pictures((1, 64, 64), (2, 96, 64))


def vision(name, what, model, feeds=free, how="trace", opset=17, **settings):
    def build():
        import torchvision

        return torchvision.models.get_model(model, weights=None, **settings)

    net(name, "classes of pictures", what, "torchvision", build, feeds, how=how, opset=opset)


vision("resnet18", "residual network", "resnet18")
vision(
    "resnet18_export",
    "residual network, by torch.export",
    "resnet18",
    pictures((3, 64, 64), (2, 64, 64)),
    how="export",
    opset=20,
)
vision("resnext50", "grouped convolutions", "resnext50_32x4d")
vision("mobilenet_v2", "inverted residuals", "mobilenet_v2")
vision("mobilenet_v3", "squeeze and excitation, HardSwish", "mobilenet_v3_small")
vision(
    "mobilenet_v3_export",
    "squeeze and excitation, by torch.export",
    "mobilenet_v3_small",
    pictures((3, 64, 64), (2, 64, 64)),
    how="export",
    opset=18,
)
vision("efficientnet_b0", "depthwise convolutions, Swish", "efficientnet_b0")
vision("shufflenet", "channels shuffled", "shufflenet_v2_x0_5")
vision("squeezenet", "fire modules, rounding up in pools", "squeezenet1_1")
vision("densenet121", "dense concatenation", "densenet121")
vision("mnasnet", "searched architecture", "mnasnet0_5")
vision("regnet", "designed space", "regnet_y_400mf")
vision("googlenet", "inception modules", "googlenet", init_weights=False, aux_logits=False)
vision("alexnet", "adaptive pooling of known sizes", "alexnet", pictures((1, 224, 224), (2, 224, 224)))


def test(name, what, how="trace", opset=17):
    """The networks that timm keeps for tests: a whole family in 0.5 million weights."""

    def build():
        import timm

        return timm.create_model(name, pretrained=False)

    net(
        "timm_" + name[5:],
        "classes of pictures",
        what,
        "timm",
        build,
        pictures((1, 160, 160), (2, 160, 160)),
        how=how,
        opset=opset,
    )


test("test_byobnet", "blocks of many kinds")
test("test_convnext", "ConvNeXt")
test("test_convnext2", "ConvNeXt v2: global response normalisation", "export", 18)
test("test_convnext3", "ConvNeXt, overlapping downsampling")
test("test_efficientnet", "EfficientNet")
test("test_efficientnet_evos", "EfficientNet, evolved normalisation")
test("test_efficientnet_gn", "EfficientNet, group normalisation")
test("test_efficientnet_ln", "EfficientNet, layer normalisation")
test("test_mambaout", "gated convolutions")
test("test_nfnet", "no normalisation: weights standardised")
test("test_resnet", "residual network")
test("test_vit", "vision transformer")
test("test_vit2", "vision transformer, averaged tokens", "export", 20)
test("test_vit3", "vision transformer, attention pooling")
test("test_vit4", "vision transformer, RMS normalisation", "export", 18)


def swin():
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10)


def swin2():
    from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformer, SwinTransformerBlockV2

    return SwinTransformer(
        [4, 4],
        24,
        [2, 2],
        [2, 4],
        [4, 4],
        num_classes=10,
        block=SwinTransformerBlockV2,
        downsample_layer=PatchMergingV2,
    )


net("swin", "classes of pictures", "shifted windows", "torchvision", swin, square)
net(
    "swin_v2",
    "classes of pictures",
    "shifted windows, cosine attention, by torch.export",
    "torchvision",
    swin2,
    square,
    how="export",
    opset=20,
)


def maxvit():
    from torchvision.models.maxvit import MaxVit

    return MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0)


net("maxvit", "classes of pictures", "attention of blocks and grids", "torchvision", maxvit, square)


def tv(name, family, what, make, feeds, **settings):
    def build():
        import torchvision

        return make(torchvision.models)

    net(name, family, what, "torchvision", build, feeds, **settings)


tv(
    "video_r3d",
    "video",
    "residual network of three axes",
    lambda m: m.video.r3d_18(num_classes=5),
    lambda rng: ({"clip": values.normal(rng, b, 3, 8, 32, 32)} for b in (1, 2)),
)
tv(
    "lraspp",
    "masks of pictures",
    "MobileNetV3 and two branches",
    lambda m: m.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=5),
    free,
)
tv(
    "deeplab_v3",
    "masks of pictures",
    "dilated convolutions, spatial pyramid",
    lambda m: m.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=5),
    square,
)
tv(
    "fcn",
    "masks of pictures",
    "fully convolutional",
    lambda m: m.segmentation.fcn_resnet50(weights_backbone=None, num_classes=5),
    square,
)
tv(
    "raft",
    "motion",
    "optical flow: correlation volumes, GridSample, convolutional GRU",
    lambda m: m.optical_flow.raft_small(),
    lambda rng: (
        {"first": values.normal(rng, 1, 3, 128, 128), "second": values.normal(rng, 1, 3, 128, 128)} for _ in range(2)
    ),
    tolerance={"rtol": 1e-3, "atol": 1e-4},
    why="motion near 0, after twelve rounds",
)

one = pictures((1, 128, 160), key="image")


def boxes(module, image):
    return module([image[0]])


def apart(make):
    """The classes and the scores of proposals as far apart as those of trained weights, so that their order is certain."""

    def build(m):
        import torch

        module = make(m)
        for name, p in module.named_parameters():
            if "cls" in name or "classification_head" in name or "bbox_pred" in name:
                torch.nn.init.normal_(p, std=0.1 if p.ndim > 1 else 1.0)
        return module

    return build


tv(
    "ssd_lite",
    "boxes",
    "SSD, MobileNetV3, non-maximum suppression",
    apart(lambda m: m.detection.ssdlite320_mobilenet_v3_large(weights_backbone=None, num_classes=5)),
    one,
    call=boxes,
)
tv(
    "retinanet",
    "boxes",
    "feature pyramid, focal heads",
    lambda m: m.detection.retinanet_resnet50_fpn(weights_backbone=None, num_classes=5, min_size=128, max_size=160),
    one,
    call=boxes,
)
tv(
    "mask_rcnn",
    "boxes",
    "boxes and masks pasted into the picture",
    apart(
        lambda m: m.detection.maskrcnn_resnet50_fpn(
            weights_backbone=None, num_classes=5, min_size=128, max_size=160, rpn_post_nms_top_n_test=30
        )
    ),
    one,
    call=boxes,
)
tv(
    "keypoint_rcnn",
    "boxes",
    "boxes and joints",
    apart(
        lambda m: m.detection.keypointrcnn_resnet50_fpn(
            weights_backbone=None,
            num_classes=2,
            num_keypoints=5,
            min_size=128,
            max_size=160,
            rpn_post_nms_top_n_test=30,
        )
    ),
    one,
    call=boxes,
)
