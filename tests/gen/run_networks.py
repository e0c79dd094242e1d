"""The networks of run_population.py: what is built, at which size, in which family.

networks() yields (group, family, name, make); make() returns a torch module and
its inputs by name. quantised() adds a function that writes the quantised file.
zoo() chooses from `cleave models --json`. Sizes are the usual ones, or the base
width with fewer layers and words where files would exceed 400 MB."""
import functools

# family, model, image size: one per family of timm
TIMM = [
    ("resnet", "resnet18", 224), ("mobilenetv3", "mobilenetv3_large_100", 224), ("efficientnet", "efficientnet_b0", 224),
    ("convnext", "convnext_atto", 224), ("vision_transformer", "vit_tiny_patch16_224", 224),
    ("swin_transformer", "swin_tiny_patch4_window7_224", 224), ("swin_transformer_v2", "swinv2_tiny_window8_256", 256),
    ("ghostnet", "ghostnet_100", 224), ("densenet", "densenet121", 224), ("dla", "dla34", 224),
    ("hrnet", "hrnet_w18_small", 224), ("xception", "xception41", 299), ("inception_v4", "inception_v4", 299),
    ("vgg", "vgg11", 224), ("regnet", "regnety_008", 224), ("metaformer", "poolformer_s12", 224),
    ("deit", "deit3_small_patch16_224", 224), ("eva", "eva02_tiny_patch14_224", 224), ("cait", "cait_xxs24_224", 224),
    ("levit", "levit_128s", 224), ("maxxvit", "maxvit_tiny_rw_224", 224), ("mobilevit", "mobilevit_xxs", 256),
    ("edgenext", "edgenext_xx_small", 256), ("efficientformer", "efficientformer_l1", 224),
    ("repvgg", "repvgg_a0", 224), ("mlp_mixer", "mixer_s32_224", 224), ("tnt", "tnt_s_patch16_224", 224),
    ("twins", "twins_svt_small", 224), ("pvt_v2", "pvt_v2_b0", 224), ("xcit", "xcit_nano_12_p16_224", 224),
    ("crossvit", "crossvit_tiny_240", 240), ("convit", "convit_tiny", 224), ("pit", "pit_ti_224", 224),
    ("volo", "volo_d1_224", 224), ("nest", "nest_tiny", 224), ("visformer", "visformer_tiny", 224),
    ("coat", "coat_lite_tiny", 224), ("davit", "davit_tiny", 224), ("focalnet", "focalnet_tiny_srf", 224),
    ("fastvit", "fastvit_t8", 256), ("tiny_vit", "tiny_vit_5m_224", 224), ("repvit", "repvit_m0_9", 224),
    ("starnet", "starnet_s1", 224), ("rexnet", "rexnet_100", 224), ("res2net", "res2net50_26w_4s", 224),
    ("nfnet", "nf_resnet26", 224), ("cspnet", "cspresnet50", 256), ("gcvit", "gcvit_xxtiny", 224),
    ("hiera", "hiera_tiny_224", 224), ("mambaout", "mambaout_femto", 224), ("sequencer", "sequencer2d_s", 224),
    ("vovnet", "ese_vovnet19b_dw", 224), ("sknet", "skresnet18", 224), ("efficientvit_mit", "efficientvit_b0", 224),
]

TEXT = dict(vocab_size=8000)
# family, config class, model class, changes to the configuration, kind of input
TRANSFORMERS = [
    ("bert", "Bert", "BertModel", dict(num_hidden_layers=6, **TEXT), "ids"),
    ("gpt2", "GPT2", "GPT2LMHeadModel", dict(n_layer=6, **TEXT), "ids"),
    ("llama", "Llama", "LlamaForCausalLM", dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=6,
     num_attention_heads=12, num_key_value_heads=4, **TEXT), "ids"),
    ("distilbert", "DistilBert", "DistilBertModel", dict(**TEXT), "ids"),
    ("albert", "Albert", "AlbertModel", dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072,
     num_hidden_layers=6, **TEXT), "ids"),
    ("electra", "Electra", "ElectraModel", dict(**TEXT), "ids"),
    ("deberta_v2", "DebertaV2", "DebertaV2Model", dict(hidden_size=384, num_attention_heads=6, intermediate_size=1536,
     num_hidden_layers=6, relative_attention=True, pos_att_type=["p2c", "c2p"], **TEXT), "ids"),
    ("mpnet", "MPNet", "MPNetModel", dict(num_hidden_layers=4, **TEXT), "ids"),
    ("modernbert", "ModernBert", "ModernBertModel", dict(num_hidden_layers=6, pad_token_id=0, bos_token_id=1,
     eos_token_id=2, cls_token_id=1, sep_token_id=2, **TEXT), "ids"),
    ("squeezebert", "SqueezeBert", "SqueezeBertModel", dict(num_hidden_layers=4, **TEXT), "ids"),
    ("fnet", "FNet", "FNetModel", dict(num_hidden_layers=4, **TEXT), "ids"),
    ("gpt_neox", "GPTNeoX", "GPTNeoXForCausalLM", dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=6,
     num_attention_heads=8, **TEXT), "ids"),
    ("qwen3", "Qwen3", "Qwen3ForCausalLM", dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=4,
     num_attention_heads=12, num_key_value_heads=4, head_dim=64, **TEXT), "ids"),
    ("gemma2", "Gemma2", "Gemma2ForCausalLM", dict(hidden_size=640, intermediate_size=2048, num_hidden_layers=4,
     num_attention_heads=8, num_key_value_heads=4, head_dim=80, **TEXT), "ids"),
    ("phi", "Phi", "PhiForCausalLM", dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=4,
     num_attention_heads=12, **TEXT), "ids"),
    ("opt", "OPT", "OPTForCausalLM", dict(num_hidden_layers=6, **TEXT), "ids"),
    ("bloom", "Bloom", "BloomForCausalLM", dict(hidden_size=768, n_layer=4, n_head=12, **TEXT), "ids"),
    ("falcon", "Falcon", "FalconForCausalLM", dict(hidden_size=768, num_hidden_layers=4, num_attention_heads=12,
     **TEXT), "ids"),
    ("t5", "T5", "T5ForConditionalGeneration", dict(num_layers=4, decoder_start_token_id=0, **TEXT), "seq2seq"),
    ("bart", "Bart", "BartForConditionalGeneration", dict(d_model=512, encoder_layers=4, decoder_layers=4,
     encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, **TEXT), "seq2seq"),
    ("marian", "Marian", "MarianMTModel", dict(d_model=512, encoder_layers=4, decoder_layers=4, encoder_attention_heads=8,
     decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, pad_token_id=0, decoder_start_token_id=0,
     **TEXT), "seq2seq"),
    ("vit", "ViT", "ViTForImageClassification", dict(num_hidden_layers=6), "image"),
    ("dinov2", "Dinov2", "Dinov2Model", dict(hidden_size=384, num_attention_heads=6, num_hidden_layers=8), "image"),
    ("segformer", "Segformer", "SegformerForSemanticSegmentation", dict(), "image"),
    ("clip", "CLIP", "CLIPModel", dict(), "clip"),
    ("mobilevit", "MobileViT", "MobileViTForImageClassification", dict(), "image256"),
    ("yolos", "Yolos", "YolosForObjectDetection", dict(hidden_size=192, num_hidden_layers=8, num_attention_heads=3,
     intermediate_size=768, image_size=[320, 320]), "image320"),
    ("dpt", "DPT", "DPTForDepthEstimation", dict(hidden_size=384, num_attention_heads=6, intermediate_size=1536,
     neck_hidden_sizes=[48, 96, 192, 384], image_size=224), "image"),
    ("whisper", "Whisper", "WhisperForConditionalGeneration", dict(d_model=256, encoder_layers=4, decoder_layers=4,
     encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, vocab_size=8000,
     pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None), "whisper"),
    ("wav2vec2", "Wav2Vec2", "Wav2Vec2ForCTC", dict(num_hidden_layers=4), "audio"),
    ("wavlm", "WavLM", "WavLMModel", dict(num_hidden_layers=3), "audio"),
    ("audio_spectrogram_transformer", "AST", "ASTForAudioClassification", dict(num_hidden_layers=4), "spectrogram"),
]

# family, yaml
ULTRALYTICS = [("yolov8", "yolov8n.yaml"), ("yolov5", "yolov5n.yaml"), ("yolov9", "yolov9t.yaml"),
               ("yolov10", "yolov10n.yaml"), ("yolo11", "yolo11n-seg.yaml"), ("yolo12", "yolo12n.yaml"),
               ("rtdetr", "rtdetr-resnet50.yaml")]


# -- timm, transformers, ultralytics ------------------------------------------

def timm_make(name, size):
    import timm
    import torch
    model = timm.create_model(name, pretrained=False, exportable=True)
    return model, {"x": torch.randn(1, 3, size, size)}


def transformers_inputs(kind, config):
    import torch
    draw = torch.Generator().manual_seed(0)
    if isinstance(kind, dict):  # shapes by name; (shape, high) is of whole numbers below high, "ones" of ones
        return {name: torch.randn(what, generator=draw) if isinstance(what[0], int) else
                torch.ones(what[0], dtype=torch.int64) if what[1] == "ones" else
                torch.randint(min(5, what[1] - 1), what[1], what[0], generator=draw) for name, what in kind.items()}
    ids = torch.randint(5, 8000, (1, 128), generator=draw)
    if kind == "ids":
        return {"input_ids": ids, "attention_mask": torch.ones(1, 128, dtype=torch.int64)}
    if kind == "seq2seq":
        return {"input_ids": ids, "attention_mask": torch.ones(1, 128, dtype=torch.int64), "decoder_input_ids": ids[:, :32]}
    if kind == "clip":
        text = torch.randint(5, 8000, (1, 77), generator=draw)
        text[0, -1] = config.text_config.eos_token_id
        return {"input_ids": text, "pixel_values": torch.randn(1, 3, 224, 224, generator=draw),
                "attention_mask": torch.ones(1, 77, dtype=torch.int64)}
    if kind == "whisper":
        return {"input_features": torch.randn(1, config.num_mel_bins, 3000, generator=draw), "decoder_input_ids": ids[:, :32]}
    if kind == "audio":
        return {"input_values": torch.randn(1, 16000, generator=draw)}
    if kind == "spectrogram":
        return {"input_values": torch.randn(1, config.max_length, config.num_mel_bins, generator=draw)}
    size = int(kind[len("image"):] or 224)
    return {"pixel_values": torch.randn(1, 3, size, size, generator=draw)}


def transformers_make(config_class, model_class, changes, kind):
    import torch
    import transformers
    config = getattr(transformers, config_class + "Config")(**changes)
    for c in (config, getattr(config, "text_config", None)):
        if c is not None and hasattr(c, "use_cache"):
            c.use_cache = False
    if kind == "clip":
        config.text_config.num_hidden_layers = config.vision_config.num_hidden_layers = 4
        config.text_config.vocab_size = 8000
        config.text_config.eos_token_id = 7999
    model = getattr(transformers, model_class)(config).eval()
    inputs = transformers_inputs(kind, config)
    names = list(inputs)

    class Tensors(torch.nn.Module):
        """Takes positional inputs and returns the floating-point tensors alone."""
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *given):
            more = {"use_cache": False} if kind in ("seq2seq", "whisper") else {}
            out = self.model(**dict(zip(names, given)), **more, return_dict=True)
            return tuple(v for v in out.values() if isinstance(v, torch.Tensor) and v.is_floating_point())
    return Tensors(), inputs


def ultralytics_make(yaml):
    import torch
    import ultralytics
    net = (ultralytics.RTDETR if "rtdetr" in yaml else ultralytics.YOLO)(yaml).model.eval().float()
    for m in net.modules():
        if hasattr(m, "export"):
            m.export, m.format, m.dynamic = True, "onnx", False
    size = 480 if "rtdetr" in yaml else 640
    net(torch.rand(1, 3, size, size))
    return net.fuse(), {"images": torch.rand(1, 3, size, size)}


# -- recurrent ------------------------------------------------------------------

def recurrent_make(name):
    import torch
    from torch import nn

    class Tagger(nn.Module):
        """Embedding, a recurrent layer, a linear one."""
        def __init__(self, cell, width, layers, both):
            super().__init__()
            self.embed = nn.Embedding(5000, width)
            self.cell = cell(width, width, layers, batch_first=True, bidirectional=both)
            self.out = nn.Linear(width * (1 + both), 50)

        def forward(self, ids):
            return self.out(self.cell(self.embed(ids))[0])

    class Crnn(nn.Module):
        """Convolutions over a line of text, then two bidirectional LSTMs."""
        def __init__(self):
            super().__init__()
            chain, last = [], 1
            for width, pool in ((64, (2, 2)), (128, (2, 2)), (256, (2, 1)), (256, (2, 1)), (512, (2, 1))):
                chain += [nn.Conv2d(last, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(pool, pool)]
                last = width
            self.conv = nn.Sequential(*chain)
            self.lstm = nn.LSTM(512, 256, 2, bidirectional=True)
            self.out = nn.Linear(512, 97)

        def forward(self, x):
            y = self.conv(x).squeeze(2).permute(2, 0, 1)
            return self.out(self.lstm(y)[0]).log_softmax(-1)

    class Separator(nn.Module):
        """A mask for a spectrogram: GRU after a 1-d convolution, as noise suppressors do."""
        def __init__(self):
            super().__init__()
            self.front = nn.Conv1d(257, 256, 3, padding=1)
            self.gru = nn.GRU(256, 256, 2, batch_first=True)
            self.mask = nn.Linear(256, 257)

        def forward(self, x):
            y, h = self.gru(self.front(x).relu().transpose(1, 2))
            return self.mask(y).sigmoid().transpose(1, 2) * x, h

    class Stream(nn.Module):
        """One step of a streaming LSTM: states go in and come out."""
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(128, 512, 2, batch_first=True)
            self.out = nn.Linear(512, 40)

        def forward(self, x, h, c):
            y, (h, c) = self.lstm(x, (h, c))
            return self.out(y), h, c

    ids = {"ids": torch.randint(0, 5000, (1, 100))}
    return {"lstm_bi": lambda: (Tagger(nn.LSTM, 256, 2, True), ids),
            "gru": lambda: (Tagger(nn.GRU, 512, 1, False), ids),
            "rnn": lambda: (Tagger(nn.RNN, 256, 3, True), ids),
            "crnn": lambda: (Crnn(), {"x": torch.randn(1, 1, 32, 256)}),
            "separator": lambda: (Separator(), {"x": torch.randn(1, 257, 200)}),
            "stream": lambda: (Stream(), {"x": torch.randn(1, 10, 128), "h": torch.zeros(2, 1, 512),
                                          "c": torch.zeros(2, 1, 512)})}[name]()


# -- U-Nets and what diffusion uses ----------------------------------------------

def diffusion_make(name):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Res(nn.Module):
        def __init__(self, a, b, time=0):
            super().__init__()
            self.n1, self.c1 = nn.GroupNorm(16, a), nn.Conv2d(a, b, 3, padding=1)
            self.n2, self.c2 = nn.GroupNorm(16, b), nn.Conv2d(b, b, 3, padding=1)
            self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()
            self.time = nn.Linear(time, b) if time else None

        def forward(self, x, t=None):
            y = self.c1(F.silu(self.n1(x)))
            if self.time is not None:
                y = y + self.time(F.silu(t))[:, :, None, None]
            return self.skip(x) + self.c2(F.silu(self.n2(y)))

    class Attend(nn.Module):
        def __init__(self, width, heads=4):
            super().__init__()
            self.norm, self.heads = nn.GroupNorm(16, width), heads
            self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).transpose(3, 4).unbind(1)
            y = F.scaled_dot_product_attention(q, k, v)
            return x + self.out(y.transpose(2, 3).reshape(b, c, h, w))

    class TimeUnet(nn.Module):
        """A small denoiser: residual blocks, group norm, attention, a time embedding."""
        def __init__(self, w=64):
            super().__init__()
            self.w, t = w, 4 * w
            self.time = nn.Sequential(nn.Linear(w, t), nn.SiLU(), nn.Linear(t, t))
            self.first = nn.Conv2d(4, w, 3, padding=1)
            self.d1, self.s1 = Res(w, w, t), nn.Conv2d(w, w, 3, 2, 1)
            self.d2, self.s2 = Res(w, 2 * w, t), nn.Conv2d(2 * w, 2 * w, 3, 2, 1)
            self.m1, self.ma, self.m2 = Res(2 * w, 4 * w, t), Attend(4 * w), Res(4 * w, 2 * w, t)
            self.u2, self.u1 = Res(4 * w, w, t), Res(2 * w, w, t)
            self.norm, self.last = nn.GroupNorm(16, w), nn.Conv2d(w, 4, 3, padding=1)

        def forward(self, x, t):
            f = torch.exp(-torch.arange(self.w // 2) * (9.21 / (self.w // 2)))
            e = t[:, None].float() * f[None]
            e = self.time(torch.cat([e.sin(), e.cos()], 1))
            a = self.d1(self.first(x), e)
            b = self.d2(self.s1(a), e)
            m = self.m2(self.ma(self.m1(self.s2(b), e)), e)
            b = self.u2(torch.cat([F.interpolate(m, scale_factor=2.0), b], 1), e)
            a = self.u1(torch.cat([F.interpolate(b, scale_factor=2.0), a], 1), e)
            return self.last(F.silu(self.norm(a)))

    class PlainUnet(nn.Module):
        """The U-Net of segmentation: batch norm, pooling, transposed convolutions."""
        def __init__(self, w=32, depth=4):
            super().__init__()
            def two(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
                                     nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
            self.down = nn.ModuleList([two(3, w)] + [two(w << i, w << (i + 1)) for i in range(depth)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(w << (i + 1), w << i, 2, 2) for i in range(depth)])
            self.join = nn.ModuleList([two(w << (i + 1), w << i) for i in range(depth)])
            self.last = nn.Conv2d(w, 2, 1)

        def forward(self, x):
            kept = []
            for i, d in enumerate(self.down):
                x = d(F.max_pool2d(x, 2) if i else x)
                kept.append(x)
            for i in range(len(self.up) - 1, -1, -1):
                x = self.join[i](torch.cat([kept[i], self.up[i](x)], 1))
            return self.last(x)

    class Decoder(nn.Module):
        """The decoder of an image autoencoder."""
        def __init__(self, w=128):
            super().__init__()
            self.net = nn.ModuleList([nn.Conv2d(4, w, 3, padding=1), Res(w, w), Attend(w, 1), Res(w, w)])
            self.up = nn.ModuleList([nn.Sequential(Res(w >> i, w >> i), nn.Upsample(scale_factor=2.0),
                                                   nn.Conv2d(w >> i, w >> (i + 1), 3, padding=1)) for i in range(2)])
            self.last = nn.Sequential(nn.GroupNorm(16, w >> 2), nn.SiLU(), nn.Conv2d(w >> 2, 3, 3, padding=1))

        def forward(self, z):
            for m in list(self.net) + list(self.up):
                z = m(z)
            return self.last(z)

    class DitBlock(nn.Module):
        def __init__(self, w, heads):
            super().__init__()
            self.n1, self.n2 = (nn.LayerNorm(w, elementwise_affine=False, eps=1e-6) for _ in range(2))
            self.qkv, self.out, self.heads = nn.Linear(w, 3 * w), nn.Linear(w, w), heads
            self.mlp = nn.Sequential(nn.Linear(w, 4 * w), nn.GELU("tanh"), nn.Linear(4 * w, w))
            self.ada = nn.Sequential(nn.SiLU(), nn.Linear(w, 6 * w))

        def forward(self, x, c):
            s1, b1, g1, s2, b2, g2 = self.ada(c)[:, None].chunk(6, -1)
            b, n, w = x.shape
            q, k, v = self.qkv(self.n1(x) * (1 + s1) + b1).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            x = x + g1 * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, w))
            return x + g2 * self.mlp(self.n2(x) * (1 + s2) + b2)

    class Dit(nn.Module):
        """A diffusion transformer: patches, adaptive norms, unpatchify."""
        def __init__(self, w=384, layers=6):
            super().__init__()
            self.patch, self.pos = nn.Conv2d(4, w, 2, 2), nn.Parameter(0.02 * torch.randn(1, 256, w))
            self.time = nn.Sequential(nn.Linear(256, w), nn.SiLU(), nn.Linear(w, w))
            self.blocks = nn.ModuleList(DitBlock(w, 6) for _ in range(layers))
            self.last = nn.Linear(w, 16)

        def forward(self, x, t):
            f = torch.exp(-torch.arange(128) * (9.21 / 128))
            e = t[:, None].float() * f[None]
            c = self.time(torch.cat([e.cos(), e.sin()], 1))
            y = self.patch(x).flatten(2).transpose(1, 2) + self.pos
            for b in self.blocks:
                y = b(y, c)
            y = self.last(y).reshape(1, 16, 16, 2, 2, 4)
            return torch.einsum("nhwpqc->nchpwq", y).reshape(1, 4, 32, 32)

    class Upscaler(nn.Module):
        """Super-resolution by pixel shuffle."""
        def __init__(self, w=64):
            super().__init__()
            self.first = nn.Conv2d(3, w, 3, padding=1)
            self.body = nn.ModuleList(nn.Sequential(nn.Conv2d(w, w, 3, padding=1), nn.PReLU(w), nn.Conv2d(w, w, 3, padding=1))
                                      for _ in range(8))
            self.up, self.last = nn.Conv2d(w, 4 * w, 3, padding=1), nn.Conv2d(w, 3, 3, padding=1)

        def forward(self, x):
            y = f = self.first(x)
            for b in self.body:
                y = y + b(y)
            return self.last(F.pixel_shuffle(self.up(y + f), 2)) + F.interpolate(x, scale_factor=2.0, mode="bilinear")

    t = torch.tensor([37])
    return {"unet_time": lambda: (TimeUnet(), {"x": torch.randn(1, 4, 64, 64), "t": t}),
            "unet_plain": lambda: (PlainUnet(), {"x": torch.randn(1, 3, 256, 256)}),
            "vae_decoder": lambda: (Decoder(), {"z": torch.randn(1, 4, 32, 32)}),
            "dit": lambda: (Dit(), {"x": torch.randn(1, 4, 32, 32), "t": t}),
            "upscaler": lambda: (Upscaler(), {"x": torch.rand(1, 3, 128, 128)})}[name]()


def networks():
    for family, name, size in TIMM[:6]:
        yield "timm", family, name, functools.partial(timm_make, name, size)
    for name in ("lstm_bi", "gru", "rnn", "crnn", "separator", "stream"):
        yield "rnn", "rnn:" + name, name, functools.partial(recurrent_make, name)
    for name in ("unet_time", "unet_plain", "vae_decoder", "dit", "upscaler"):
        yield "diffusion", "diffusion:" + name, name, functools.partial(diffusion_make, name)
    for family, config, model, changes, kind in TRANSFORMERS:
        yield "hf", "hf:" + family, family, functools.partial(transformers_make, config, model, changes, kind)
    for family, yaml in ULTRALYTICS:
        yield "yolo", family, yaml[:-len(".yaml")], functools.partial(ultralytics_make, yaml)
    for family, name, size in TIMM[6:]:
        yield "timm", family, name, functools.partial(timm_make, name, size)


# -- quantised files ---------------------------------------------------------------

def torchvision_make(name):
    import torch
    import torchvision
    kind = {"init_weights": True} if name == "googlenet" else {}
    return torchvision.models.get_model(name, weights=None, **kind), {"x": torch.randn(1, 3, 224, 224)}


class Samples:
    """A few drawn inputs for the calibration of onnxruntime.quantization."""
    def __init__(self, path, count=3):
        import numpy as np
        data = np.load(path[:-len("onnx")] + "npz")
        draw = np.random.default_rng(1)
        self.feeds = iter([{n: data[n] + (0.1 * draw.standard_normal(data[n].shape)).astype(data[n].dtype)
                            if data[n].dtype.kind == "f" else data[n] for n in data.files} for _ in range(count)])

    def get_next(self):
        return next(self.feeds, None)


def quantise_static(source, path, form="QDQ", per_channel=True, types=("QUInt8", "QInt8")):
    import os
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process
    ready = source + ".ready.onnx"
    try:
        quant_pre_process(source, ready, skip_symbolic_shape=True)
        q.quantize_static(ready, path, Samples(source), quant_format=getattr(q.QuantFormat, form), per_channel=per_channel,
                          activation_type=getattr(q.QuantType, types[0]), weight_type=getattr(q.QuantType, types[1]))
    finally:
        if os.path.exists(ready):
            os.remove(ready)


def quantise_dynamic(source, path, **kind):
    from onnxruntime import quantization as q
    q.quantize_dynamic(source, path, weight_type=q.QuantType.QInt8, **kind)


def quantise_nbits(source, path, block=32, symmetric=True, level=None):
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    tool = MatMulNBitsQuantizer(onnx.load(source), block_size=block, is_symmetric=symmetric, accuracy_level=level)
    tool.process()
    onnx.save(tool.model.model, path)


def quantised():
    """Yields (family, name, make, function that quantises)."""
    hf = {family: functools.partial(transformers_make, config, model, changes, kind)
          for family, config, model, changes, kind in TRANSFORMERS}
    tv = functools.partial
    qdq, qop = quantise_static, functools.partial(quantise_static, form="QOperator", per_channel=False)
    signed = functools.partial(quantise_static, types=("QInt8", "QInt8"))
    rows = [
        ("resnet18", "qdq", tv(torchvision_make, "resnet18"), qdq),
        ("mobilenet_v2", "qdq", tv(torchvision_make, "mobilenet_v2"), qdq),
        ("shufflenet_v2_x1_0", "qdq", tv(torchvision_make, "shufflenet_v2_x1_0"), signed),
        ("vit_tiny", "qdq", functools.partial(timm_make, "vit_tiny_patch16_224", 224), qdq),
        ("squeezenet1_1", "qoperator", tv(torchvision_make, "squeezenet1_1"), qop),
        ("googlenet", "qoperator", tv(torchvision_make, "googlenet"), qop),
        ("mobilenet_v3_small", "qoperator", tv(torchvision_make, "mobilenet_v3_small"), qop),
        ("regnet_y_400mf", "qdq16", tv(torchvision_make, "regnet_y_400mf"),
         functools.partial(quantise_static, types=("QUInt16", "QInt8"))),
        ("bert", "dynamic", hf["bert"], quantise_dynamic),
        ("gpt2", "dynamic", hf["gpt2"], functools.partial(quantise_dynamic, per_channel=True)),
        ("lstm_bi", "dynamic", functools.partial(recurrent_make, "lstm_bi"), quantise_dynamic),
        ("resnet50", "dynamic", tv(torchvision_make, "resnet50"), quantise_dynamic),
        ("distilbert", "qdq", hf["distilbert"], qdq),
        ("llama", "4bit", hf["llama"], quantise_nbits),
        ("electra", "4bit", hf["electra"], functools.partial(quantise_nbits, block=128, symmetric=False)),
        ("opt", "4bit", hf["opt"], functools.partial(quantise_nbits, level=4)),
    ]
    for family, how, make, quantise in rows:
        yield "quant:" + family + how, f"{family}-{how}", make, quantise


def zoo(said):
    """The zoo's models whose files stay under 400 MB and whose runs are short."""
    rows = said["models"] if isinstance(said, dict) else said
    for m in sorted(rows, key=lambda m: m.get("macs") or m.get("total_macs") or 0):
        if (m.get("params") or m.get("total_params") or 0) * 4 < 390e6 and (m.get("macs") or m.get("total_macs") or 0) < 25e9:
            yield m
