"""Transformers that see."""

from made_hugging import hugging
from made_sight import pictures

pixels = pictures((1, 64, 64), (2, 64, 64), key="pixel_values")
small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 64}
resnet = {
    "backbone_config": (
        "ResNetConfig",
        {
            "embedding_size": 16,
            "hidden_sizes": [16, 24, 32, 48],
            "depths": [1, 1, 1, 1],
            "layer_type": "basic",
            "out_features": ["stage2", "stage3", "stage4"],
        },
    )
}
last = {
    "backbone_config": (
        "ResNetConfig",
        {
            "embedding_size": 16,
            "hidden_sizes": [16, 24, 32, 48],
            "depths": [1, 1, 1, 1],
            "layer_type": "basic",
            "out_features": ["stage4"],
        },
    )
}
detr = {
    "use_timm_backbone": False,
    "use_pretrained_backbone": False,
    "backbone": None,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "num_queries": 12,
    "num_labels": 5,
}
rt = {
    "d_model": 32,
    "encoder_hidden_dim": 32,
    "encoder_in_channels": [24, 32, 48],
    "feat_strides": [8, 16, 32],
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "decoder_layers": 2,
    "num_queries": 12,
    "decoder_in_channels": [32, 32, 32],
    "num_labels": 5,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
}
rtnet = {
    "backbone_config": (
        "RTDetrResNetConfig",
        {
            "embedding_size": 16,
            "hidden_sizes": [16, 24, 32, 48],
            "depths": [1, 1, 1, 1],
            "layer_type": "basic",
            "out_features": ["stage2", "stage3", "stage4"],
        },
    )
}
box = pictures((1, 64, 96), (2, 64, 96), key="pixel_values")
hugging("detr", "detection transformers", "DETR", "Detr:DetrForObjectDetection", detr, box, nested=last)
hugging(
    "detr_conditional",
    "detection transformers",
    "conditional DETR",
    "ConditionalDetr:ConditionalDetrForObjectDetection",
    detr,
    box,
    nested=last,
)
hugging(
    "detr_deformable",
    "detection transformers",
    "deformable DETR: GridSample in attention",
    "DeformableDetr:DeformableDetrForObjectDetection",
    detr | {"num_feature_levels": 3},
    box,
    nested=resnet,
)
hugging("rt_detr", "detection transformers", "RT-DETR", "RTDetr:RTDetrForObjectDetection", rt, box, nested=rtnet)
hugging(
    "rt_detr_v2", "detection transformers", "RT-DETR v2", "RTDetrV2:RTDetrV2ForObjectDetection", rt, box, nested=rtnet
)
hugging(
    "yolos",
    "detection transformers",
    "YOLOS",
    "Yolos:YolosForObjectDetection",
    small | {"image_size": [64, 64], "patch_size": 16, "num_detection_tokens": 8, "num_labels": 5},
    pixels,
)
hugging(
    "table_transformer",
    "detection transformers",
    "Table Transformer",
    "TableTransformer:TableTransformerForObjectDetection",
    detr,
    box,
    nested=last,
)

hugging("vit", "picture transformers", "ViT", "ViT:ViTForImageClassification", small, pixels)
hugging("deit", "picture transformers", "DeiT", "DeiT:DeiTForImageClassificationWithTeacher", small, pixels)
hugging(
    "beit",
    "picture transformers",
    "BEiT: relative positions",
    "Beit:BeitForImageClassification",
    small | {"use_relative_position_bias": True},
    pixels,
)
hugging(
    "dinov2",
    "picture transformers",
    "DINOv2: positions resampled",
    "Dinov2",
    small | {"patch_size": 8},
    pictures((1, 64, 64), (2, 64, 64), key="pixel_values"),
)
hugging(
    "clip",
    "picture transformers",
    "CLIP, the half that sees",
    "CLIPVision:CLIPVisionModelWithProjection",
    small | {"projection_dim": 16},
    pixels,
)
hugging("siglip", "picture transformers", "SigLIP, the half that sees", "SiglipVision:SiglipVisionModel", small, pixels)
hugging(
    "segformer",
    "masks of pictures",
    "SegFormer",
    "Segformer:SegformerForSemanticSegmentation",
    {
        "hidden_sizes": [16, 16, 32, 32],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 2, 4],
        "decoder_hidden_size": 32,
        "num_labels": 5,
    },
    pixels,
)
hugging(
    "mobilevit",
    "picture transformers",
    "MobileViT",
    "MobileViT:MobileViTForImageClassification",
    {
        "image_size": 64,
        "hidden_sizes": [24, 32, 40],
        "neck_hidden_sizes": [8, 12, 16, 24, 32, 40, 64],
        "num_attention_heads": 4,
    },
    pixels,
)
hugging(
    "pvt",
    "picture transformers",
    "pyramid",
    "PvtV2:PvtV2ForImageClassification",
    {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "image_size": 64, "num_attention_heads": [1, 2, 3, 4]},
    pixels,
)
hugging(
    "swin2sr",
    "picture transformers",
    "super-resolution, Swin v2",
    "Swin2SR:Swin2SRForImageSuperResolution",
    {"image_size": 32, "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4},
    pictures((1, 32, 32), (2, 32, 32), key="pixel_values"),
)
hugging(
    "depth_dpt",
    "picture transformers",
    "depth: DPT",
    "DPT:DPTForDepthEstimation",
    small
    | {
        "num_hidden_layers": 4,
        "backbone_out_indices": [0, 1, 2, 3],
        "neck_hidden_sizes": [8, 16, 24, 32],
        "fusion_hidden_size": 16,
        "patch_size": 16,
    },
    pixels,
)
