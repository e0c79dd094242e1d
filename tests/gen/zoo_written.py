"""What zoo_truth.py builds by name: networks of diffusers, by their published
configs, and networks that no package carries, written here from their papers
and the descriptions of their benchmarks.
"""
from tv import torch

# -- diffusers ---------------------------------------------------------------

CROSS, DOWN, UP = "CrossAttn{}Block2D", "DownBlock2D", "UpBlock2D"
UNETS = {
    "stable-diffusion-v1-5-unet": dict(sample_size=64, cross_attention_dim=768),
    "stable-diffusion-2-1-unet": dict(
        sample_size=96, cross_attention_dim=1024, use_linear_projection=True,
        attention_head_dim=[5, 10, 20, 20]),
    "stable-diffusion-xl-base-1.0-unet": dict(
        sample_size=128, cross_attention_dim=2048, use_linear_projection=True,
        block_out_channels=[320, 640, 1280], attention_head_dim=[5, 10, 20],
        transformer_layers_per_block=[1, 2, 10],
        down_block_types=[DOWN] + 2 * [CROSS.format("Down")],
        up_block_types=2 * [CROSS.format("Up")] + [UP],
        addition_embed_type="text_time", addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=2816),
}
VAE = dict(down_block_types=4 * ["DownEncoderBlock2D"],
           up_block_types=4 * ["UpDecoderBlock2D"],
           block_out_channels=[128, 256, 512, 512], layers_per_block=2)
DITS = {"S": (12, 6, 64), "B": (12, 12, 64), "L": (24, 16, 64),
        "XL": (28, 16, 72)}


def unet(model):
    """What SD-XL is told besides comes in a dict."""
    plain = model.forward

    def forward(sample, timestep, encoder_hidden_states, **told):
        return plain(sample, timestep, encoder_hidden_states,
                     added_cond_kwargs=told or None)
    model.forward = forward
    return model


def vae(model, half):
    """One half of an autoencoder, or both."""
    model.forward = {
        "vae": lambda sample: model.decode(
            model.encode(sample).latent_dist.mode()).sample,
        "vae-encoder": lambda sample:
            model.quant_conv(model.encoder(sample)),
        "vae-decoder": lambda z: model.decode(z).sample}[half]
    if half == "vae-encoder":
        del model.decoder, model.post_quant_conv
    if half == "vae-decoder":
        del model.encoder, model.quant_conv
    return model


def diffusers(name):
    import diffusers as home
    name, _, width = name.partition(":width=")
    with torch.device("meta"):
        if name in UNETS:
            options = dict(UNETS[name])
            if width:
                times = [1, 2, 4] if "-xl-" in name else [1, 2, 4, 4]
                options["block_out_channels"] = [int(width) * n for n in times]
            return unet(home.UNet2DConditionModel(**options))
        if "-vae" in name:
            return vae(home.AutoencoderKL(**VAE), name[name.index("vae"):])
        _, size, patch, image = name.split("-")
        layers, heads, width = DITS[size]
        return home.DiTTransformer2DModel(
            num_layers=layers, num_attention_heads=heads,
            attention_head_dim=width, patch_size=int(patch),
            sample_size=int(image) // 8, out_channels=8)


# -- written here ------------------------------------------------------------

nn, F = torch.nn, torch.nn.functional


class HifiBlock(nn.Module):
    """Residual convolutions with growing dilation; in `pairs` each is followed
    by one without."""

    def __init__(self, channels, kernel, dilations, pairs):
        super().__init__()
        def convs(rates):
            return nn.ModuleList(
                nn.Conv1d(channels, channels, kernel, dilation=d,
                          padding=(kernel - 1) * d // 2) for d in rates)
        if pairs:
            self.convs1, self.convs2 = convs(dilations), convs([1] * len(dilations))
        else:
            self.convs = convs(dilations)

    def forward(self, x):
        if hasattr(self, "convs"):
            for conv in self.convs:
                x = conv(F.leaky_relu(x, 0.1)) + x
            return x
        for first, second in zip(self.convs1, self.convs2):
            x = second(F.leaky_relu(first(F.leaky_relu(x, 0.1)), 0.1)) + x
        return x


class HifiGan(nn.Module):
    """The generator of HiFi-GAN (Kong et al., 2020, appendix A)."""

    def __init__(self, channels, rates, taps, kernels, dilations, pairs):
        super().__init__()
        self.conv_pre = nn.Conv1d(80, channels, 7, padding=3)
        self.ups, self.resblocks = nn.ModuleList(), nn.ModuleList()
        for rate, k in zip(rates, taps):
            self.ups.append(nn.ConvTranspose1d(channels, channels // 2, k, rate,
                                               padding=(k - rate) // 2))
            channels //= 2
            self.resblocks.extend(HifiBlock(channels, kernel, d, pairs)
                                  for kernel, d in zip(kernels, dilations))
        self.conv_post = nn.Conv1d(channels, 1, 7, padding=3)
        self.blocks = len(kernels)

    def forward(self, x):
        x = self.conv_pre(x)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            made = [block(x) for block in
                    self.resblocks[i * self.blocks:(i + 1) * self.blocks]]
            x = sum(made[1:], made[0]) / self.blocks
        return torch.tanh(self.conv_post(F.leaky_relu(x)))


WIDE = [3, 7, 11], 3 * [[1, 3, 5]], True
HIFIGANS = {
    "hifigan_v1": (512, [8, 8, 2, 2], [16, 16, 4, 4], *WIDE),
    "hifigan_v2": (128, [8, 8, 2, 2], [16, 16, 4, 4], *WIDE),
    "hifigan_v3": (256, [8, 8, 4], [16, 16, 8], [3, 5, 7],
                   [[1, 2], [2, 6], [3, 12]], False),
}


class Dlrm(nn.Module):
    """DLRM (Naumov et al., 2019) with products of all pairs."""

    def __init__(self, width, rows, bottom, top):
        super().__init__()
        self.most = {"lS_i": torch.tensor(rows, device="cpu")[:, None]}
        self.bot_l = self.layers(13, bottom, False)
        self.emb_l = nn.ModuleList(
            nn.EmbeddingBag(n, width, mode="sum") for n in rows)
        n = len(rows) + 1
        self.top_l = self.layers(width + n * (n - 1) // 2, top, True)

    @staticmethod
    def layers(width, widths, top):
        made = []
        for i, n in enumerate(widths):
            last = top and i + 1 == len(widths)
            made += [nn.Linear(width, n), nn.Sigmoid() if last else nn.ReLU()]
            width = n
        return nn.Sequential(*made)

    def forward(self, dense_x, lS_i):
        x = self.bot_l(dense_x)
        rows = [e(lS_i[k].unsqueeze(1)) for k, e in enumerate(self.emb_l)]
        t = torch.cat([x] + rows, 1).view(len(x), len(rows) + 1, -1)
        z = torch.bmm(t, t.transpose(1, 2))
        i, k = torch.tril_indices(*z.shape[1:], offset=-1, device=x.device)
        return self.top_l(torch.cat([x, z[:, i, k]], 1))


DLRMS = {
    "dlrm-criteo-kaggle": (
        16, [1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683,
             8351593, 3194, 27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18,
             15, 286181, 105, 142572], [512, 256, 64, 16], [512, 256, 1]),
    "dlrm-mlperf": (
        128, [39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951,
              2953546, 403346, 10, 2208, 11938, 155, 4, 976, 14, 39979771,
              25641295, 39664984, 585935, 12972, 108, 36], [512, 256, 128],
        [1024, 1024, 512, 256, 1]),
}


def dlrm(name):
    name, _, most = name.partition(":max-ind-range=")
    width, rows, bottom, top = DLRMS[name]
    return Dlrm(width, [min(n, int(most or n)) for n in rows], bottom, top)


class Same(nn.Conv2d):
    """A convolution with the padding "same" of Keras: the odd row at the end."""

    def forward(self, x):
        pads = []
        for n, k, s in zip(x.shape[:1:-1], self.kernel_size[::-1],
                           self.stride[::-1]):
            pad = max((-(-n // s) - 1) * s + k - n, 0)
            pads += [pad // 2, pad - pad // 2]
        return super().forward(F.pad(x, pads))


def norm(width):
    return nn.BatchNorm2d(width, eps=1e-3)


class Unit(nn.Module):
    def __init__(self, width, out, kernel, stride=1, groups=1):
        super().__init__()
        self.conv = Same(width, out, kernel, stride, groups=groups)
        self.bn, self.relu = norm(out), nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


def separable(width, out, stride=1):
    return [Unit(width, width, 3, stride, width), Unit(width, out, 1)]


class Classifier(nn.Module):
    """A stem, blocks, a mean over all pixels and classes."""

    def classify(self, width, classes, pool):
        self.pool, self.fc = nn.AvgPool2d(pool), nn.Linear(width, classes)
        self.softmax = nn.Softmax(-1)

    def last(self, x):
        return self.softmax(self.fc(self.pool(x).flatten(1)))


class KeywordSpotter(Classifier):
    """DS-CNN: 49 frames of 10 coefficients."""

    def __init__(self):
        super().__init__()
        self.stem, self.dropout = Unit(1, 64, (10, 4), 2), nn.Dropout(0.2)
        self.blocks = nn.Sequential(*sum((separable(64, 64) for _ in range(4)), []))
        self.dropout_out = nn.Dropout(0.4)
        self.classify(64, 12, (24, 5))

    def forward(self, x):
        x = self.blocks(self.dropout(self.stem(x)))
        return self.last(self.dropout_out(x))


class WakeWords(Classifier):
    """MobileNetV1, a quarter as wide, for images of 96 x 96."""

    def __init__(self):
        super().__init__()
        self.stem, blocks, width = Unit(3, 8, 3, 2), [], 8
        for i, out in enumerate([16, 32, 32, 64, 64] + 6 * [128] + 2 * [256]):
            blocks += separable(width, out, 2 if i and out != width else 1)
            width = out
        self.blocks = nn.Sequential(*blocks)
        self.classify(width, 2, 3)

    def forward(self, x):
        return self.last(self.blocks(self.stem(x)))


class Residual(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        stride = 1 if width == out else 2
        self.unit, self.conv = Unit(width, out, 3, stride), Same(out, out, 3)
        self.bn, self.relu = norm(out), nn.ReLU()
        if stride > 1:
            self.shortcut = Same(width, out, 1, stride)

    def forward(self, x):
        y = self.bn(self.conv(self.unit(x)))
        return self.relu(getattr(self, "shortcut", nn.Identity())(x) + y)


class ResNet8(Classifier):
    def __init__(self):
        super().__init__()
        self.stem = Unit(3, 16, 3)
        self.layer1, self.layer2 = Residual(16, 16), Residual(16, 32)
        self.layer3 = Residual(32, 64)
        self.classify(64, 10, 8)

    def forward(self, x):
        return self.last(self.layer3(self.layer2(self.layer1(self.stem(x)))))


class Layer(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.fc, self.relu = nn.Linear(width, out), nn.ReLU()
        self.bn = nn.BatchNorm1d(out, eps=1e-3)

    def forward(self, x):
        return self.relu(self.bn(self.fc(x)))


class Autoencoder(nn.Module):
    """640 features to 8 numbers and back."""

    def __init__(self):
        super().__init__()
        widths = [640] + 4 * [128] + [8] + 4 * [128]
        self.layers = nn.Sequential(*map(Layer, widths, widths[1:]))
        self.out = nn.Linear(128, 640)

    def forward(self, x):
        return self.out(self.layers(x))


TINY = {"mlperf-tiny-kws": KeywordSpotter, "mlperf-tiny-vww": WakeWords,
        "mlperf-tiny-ic": ResNet8, "mlperf-tiny-ad": Autoencoder}


def written(name):
    with torch.device("meta"):
        if name in TINY:
            return TINY[name]()
        return HifiGan(*HIFIGANS[name]) if name in HIFIGANS else dlrm(name)


VAES = [f"stable-diffusion-{of}-{half}" for of in ("v1-5", "xl-base-1.0")
        for half in ("vae", "vae-encoder", "vae-decoder")]
NAMES = [*UNETS, *VAES, *(f"DiT-{size}-2-256" for size in DITS), *HIFIGANS,
         *DLRMS, *TINY]


def build(name):
    known = name in UNETS or name in VAES or name.startswith("DiT")
    return diffusers(name) if known else written(name)
