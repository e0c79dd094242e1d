"""What zoo_truth.py builds by name: the networks of transformers and diffusers
that are not a plain BERT or ViT, and those that no package carries, whose
modules are written here from their papers.

HUB is name: (model class, config class, what differs from its defaults).
"""
from tv import torch


def widths(layers, heads, width, hidden, **more):
    return dict(num_hidden_layers=layers, num_attention_heads=heads,
                hidden_size=width, intermediate_size=hidden, **more)


TINY, SMALL = (12, 3, 192, 768), (12, 6, 384, 1536)
BASE, LARGE = (12, 12, 768, 3072), (24, 16, 1024, 4096)
HUB = {}


def t5(name, layers, heads, width, hidden, **more):
    HUB[name] = ("T5ForConditionalGeneration", "T5Config", dict(
        d_model=width, d_kv=64, d_ff=hidden, num_layers=layers,
        num_decoder_layers=layers, num_heads=heads, use_cache=False, **more))


t5("t5-small", 6, 8, 512, 2048)
t5("t5-base", 12, 12, 768, 3072)
t5("t5-large", 24, 16, 1024, 4096)


def pair(layers, heads, width, hidden):
    return dict(d_model=width, encoder_layers=layers, decoder_layers=layers,
                encoder_attention_heads=heads, decoder_attention_heads=heads,
                encoder_ffn_dim=hidden, decoder_ffn_dim=hidden,
                use_cache=False)


for size, shape in (("base", (6, 12, 768, 3072)), ("large", (12, 16, 1024, 4096))):
    HUB[f"bart-{size}"] = ("BartModel", "BartConfig", pair(*shape))

for size, shape, more in (
        ("tiny", (4, 6, 384, 1536), {}), ("base", (6, 8, 512, 2048), {}),
        ("small", (12, 12, 768, 3072), {}), ("medium", (24, 16, 1024, 4096), {}),
        ("large-v2", (32, 20, 1280, 5120), {}),
        ("large-v3", (32, 20, 1280, 5120),
         dict(num_mel_bins=128, vocab_size=51866)),
        ("large-v3-turbo", (32, 20, 1280, 5120),
         dict(num_mel_bins=128, vocab_size=51866, decoder_layers=4))):
    HUB[f"whisper-{size}"] = ("WhisperForConditionalGeneration", "WhisperConfig",
                              {**pair(*shape), **more})

STABLE = dict(feat_extract_norm="layer", do_stable_layer_norm=True,
              conv_bias=True)
for name, kind, shape, more in (
        ("wav2vec2-base", "Wav2Vec2", BASE, {}),
        ("wav2vec2-large", "Wav2Vec2", LARGE, {}),
        ("wav2vec2-large-lv60", "Wav2Vec2", LARGE, STABLE),
        ("hubert-base-ls960", "Hubert", BASE, {}),
        ("hubert-large-ll60k", "Hubert", LARGE, STABLE)):
    HUB[name] = (kind + "Model", kind + "Config", widths(
        *shape, layerdrop=0.0, apply_spec_augment=False, **more))


def clip(patch, size, text, vision, shared):
    return dict(text_config=widths(*text, projection_dim=shared),
                vision_config=widths(*vision, patch_size=patch, image_size=size,
                                     projection_dim=shared),
                projection_dim=shared)


NARROW = (12, 8, 512, 2048)
for name, shape in (
        ("clip-vit-base-patch32", (32, 224, NARROW, BASE, 512)),
        ("clip-vit-base-patch16", (16, 224, NARROW, BASE, 512)),
        ("clip-vit-large-patch14", (14, 224, BASE, LARGE, 768)),
        ("clip-vit-large-patch14-336", (14, 336, BASE, LARGE, 768))):
    HUB[name] = ("CLIPModel", "CLIPConfig", clip(*shape))

SO400M = (27, 16, 1152, 4304)
for name, patch, size, shape in (
        ("siglip-base-patch16-224", 16, 224, BASE),
        ("siglip-base-patch16-256", 16, 256, BASE),
        ("siglip-base-patch16-384", 16, 384, BASE),
        ("siglip-base-patch16-512", 16, 512, BASE),
        ("siglip-large-patch16-256", 16, 256, LARGE),
        ("siglip-large-patch16-384", 16, 384, LARGE),
        ("siglip-so400m-patch14-384", 14, 384, SO400M)):
    HUB[name] = ("SiglipModel", "SiglipConfig", dict(
        text_config=widths(*shape),
        vision_config=widths(*shape, patch_size=patch, image_size=size)))

for depth in (50, 101):
    for tail, dilated in ("", False), ("-dc5", True):
        HUB[f"detr-resnet-{depth}{tail}"] = (
            "DetrForObjectDetection", "DetrConfig",
            dict(backbone=f"resnet{depth}", use_timm_backbone=True,
                 use_pretrained_backbone=False, num_labels=91,
                 dilation=dilated))
DEFORMABLE = dict(use_timm_backbone=True, use_pretrained_backbone=False,
                  num_labels=91)
for name, more in (("deformable-detr", {}),
                   ("deformable-detr-with-box-refine",
                    dict(with_box_refine=True)),
                   ("deformable-detr-single-scale",
                    dict(num_feature_levels=1)),
                   ("deformable-detr-single-scale-dc5",
                    dict(num_feature_levels=1, dilation=True))):
    HUB[name] = ("DeformableDetrForObjectDetection", "DeformableDetrConfig",
                 {**DEFORMABLE, **more})

for name, shape, image, mid in (("yolos-tiny", TINY, [800, 1333], False),
                                ("yolos-small", SMALL, [512, 864], True),
                                ("yolos-base", BASE, [800, 1344], True)):
    HUB[name] = ("YolosForObjectDetection", "YolosConfig", widths(
        *shape, image_size=image, use_mid_position_embeddings=mid,
        num_labels=91))

for size, shape, wide in (("base", BASE, [2, 5, 8, 11]),
                          ("large", LARGE, [5, 11, 17, 23]),
                          ("huge", (32, 16, 1280, 5120), [7, 15, 23, 31])):
    HUB[f"sam-vit-{size}"] = ("SamModel", "SamConfig", dict(
        vision_config=dict(
            hidden_size=shape[2], num_hidden_layers=shape[0],
            num_attention_heads=shape[1], mlp_dim=shape[3],
            global_attn_indexes=wide)))

MIT = ([32, 64, 160, 256], [64, 128, 320, 512])
for i, (depths, hidden, decoder, size) in enumerate((
        ([2, 2, 2, 2], MIT[0], 256, 512), ([2, 2, 2, 2], MIT[1], 256, 512),
        ([3, 4, 6, 3], MIT[1], 768, 512), ([3, 4, 18, 3], MIT[1], 768, 512),
        ([3, 8, 27, 3], MIT[1], 768, 512), ([3, 6, 40, 3], MIT[1], 768, 640))):
    HUB[f"segformer-b{i}-finetuned-ade-{size}-{size}"] = (
        "SegformerForSemanticSegmentation", "SegformerConfig",
        dict(depths=depths, hidden_sizes=hidden, decoder_hidden_size=decoder,
             num_labels=150))
    HUB[f"mit-b{i}"] = (
        "SegformerForImageClassification", "SegformerConfig",
        dict(depths=depths, hidden_sizes=hidden, num_labels=1000))

for name, shape, size in (("base", BASE, 224), ("base", BASE, 384),
                          ("large", LARGE, 224), ("large", LARGE, 384),
                          ("large", LARGE, 512)):
    HUB[f"beit-{name}-patch16-{size}"] = (
        "BeitForImageClassification", "BeitConfig",
        widths(*shape, image_size=size, use_relative_position_bias=True,
               num_labels=1000))

for name, depths, heads, width in (
        ("tiny", [2, 2, 6, 2], [3, 6, 12, 24], 96),
        ("small", [2, 2, 18, 2], [3, 6, 12, 24], 96),
        ("base", [2, 2, 18, 2], [4, 8, 16, 32], 128),
        ("large", [2, 2, 18, 2], [6, 12, 24, 48], 192)):
    for window, size in ((7, 224), (12, 384)):
        if size == 224 or name in ("base", "large"):
            HUB[f"swin-{name}-patch4-window{window}-{size}"] = (
                "SwinForImageClassification", "SwinConfig",
                dict(depths=depths, num_heads=heads, embed_dim=width,
                     window_size=window, image_size=size, num_labels=1000))

for name, depths, first in (
        ("atto", [2, 2, 6, 2], 40), ("femto", [2, 2, 6, 2], 48),
        ("pico", [2, 2, 6, 2], 64), ("nano", [2, 2, 8, 2], 80),
        ("tiny", [3, 3, 9, 3], 96), ("base", [3, 3, 27, 3], 128),
        ("large", [3, 3, 27, 3], 192), ("huge", [3, 3, 27, 3], 352)):
    HUB[f"convnextv2-{name}-1k-224"] = (
        "ConvNextV2ForImageClassification", "ConvNextV2Config",
        dict(depths=depths, hidden_sizes=[first << i for i in range(4)],
             num_labels=1000))

for name, shape in (("xsmall", SMALL), ("small", (6, *BASE[1:])),
                    ("base", BASE), ("large", LARGE)):
    HUB[f"deberta-v3-{name}"] = (
        "DebertaV2Model", "DebertaV2Config",
        widths(*shape, relative_attention=True, position_buckets=256,
               norm_rel_ebd="layer_norm", share_att_key=True,
               pos_att_type=["p2c", "c2p"], position_biased_input=False,
               type_vocab_size=0, max_position_embeddings=512))


HUB["speecht5_hifigan"] = ("SpeechT5HifiGan", "SpeechT5HifiGanConfig", {})


def build(name, device="meta"):
    import transformers as hf
    model, config, options = HUB[name]
    with torch.device(device):  # some tensors ignore it
        return getattr(hf, model)(getattr(hf, config)(**options)).to(
            torch.device(device))
