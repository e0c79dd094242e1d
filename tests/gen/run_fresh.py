"""The fresh networks of run_population.py: none of their families stands in the tables
of run_networks.py or in docs/run.md, and none was looked at before it was measured.

fresh() yields (group, family, name, make, way); make() returns a torch module and its
inputs by name, way is a Way: the exporter, the batch, inputs whose sizes stay open, and
what ONNX Runtime's tools do to the file. Once a row has been measured and something
was changed because of it, it is fresh no longer; docs/run.md has what was met first."""
import functools
from typing import Callable, NamedTuple

import run_networks as known


class Way(NamedTuple):
    exporter: str = "script"
    batch: int = 1
    open_axes: dict = {}          # input -> {axis: name}
    convert: Callable = None      # (source, path)


# module of timm, model, image size
TIMM = [
    ("byoanet", "halonet26t", 256), ("byoanet", "lambda_resnet26rpt_256", 256), ("cspnext", "cspnext_tiny", 224),
    ("cpubone", "cpubone_nano", 224), ("csatv2", "csatv2", 512), ("efficientformer_v2", "efficientformerv2_s0", 224),
    ("efficientvim", "efficientvim_m1", 224), ("efficientvit_msra", "efficientvit_m2", 224), ("fasternet", "fasternet_t0", 224),
    ("hardcorenas", "hardcorenas_a", 224), ("iformer", "iformer_t", 224), ("inception_next", "inception_next_atto", 224),
    ("lcnetv2", "lcnetv2_small", 224), ("lowformer", "lowformer_b0", 224), ("byobnet", "gcresnext26ts", 256),
    ("rdnet", "rdnet_tiny", 224), ("repghost", "repghostnet_100", 224),
    ("resnest", "resnest14d", 224), ("resnetv2", "resnetv2_50d_gn", 224), ("selecsls", "selecsls42b", 224),
    ("senet", "legacy_seresnet18", 224), ("shvit", "shvit_s1", 224), ("swiftformer", "swiftformer_xs", 224),
    ("swin_transformer_v2_cr", "swinv2_cr_tiny_ns_224", 224), ("tresnet", "tresnet_m", 224),
    ("vision_transformer_hybrid", "vit_tiny_r_s16_p8_224", 224), ("vision_transformer_relpos", "vit_relpos_small_patch16_224", 224),
    ("vitamin", "vitamin_small_224", 224),
]

TEXT = known.TEXT
# family, config class, model class, changes to the configuration, inputs: a kind of run_networks.py, or shapes
# by name; (shape, high) is of whole numbers below high
TRANSFORMERS = [
    ("convbert", "ConvBert", "ConvBertModel", dict(num_hidden_layers=4, **TEXT), "ids"),
    ("canine", "Canine", "CanineModel", dict(hidden_size=384, num_attention_heads=6, intermediate_size=1536,
     num_hidden_layers=3), "ids"),
    ("funnel", "Funnel", "FunnelModel", dict(block_sizes=[2, 2, 2], d_model=256, n_head=4, d_inner=1024, **TEXT), "ids"),
    ("xlnet", "XLNet", "XLNetModel", dict(n_layer=4, d_model=512, n_head=8, d_inner=2048, **TEXT), "ids"),
    ("longformer", "Longformer", "LongformerModel", dict(num_hidden_layers=3, hidden_size=384, num_attention_heads=6,
     intermediate_size=1536, attention_window=64, **TEXT), "ids"),
    ("prophetnet", "ProphetNet", "ProphetNetForConditionalGeneration", dict(hidden_size=384, num_encoder_layers=3,
     num_decoder_layers=3, num_encoder_attention_heads=6, num_decoder_attention_heads=6, encoder_ffn_dim=1536,
     decoder_ffn_dim=1536, **TEXT), "seq2seq"),
    ("m2m_100", "M2M100", "M2M100ForConditionalGeneration", dict(d_model=384, encoder_layers=3, decoder_layers=3,
     encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, **TEXT), "seq2seq"),
    ("gptj", "GPTJ", "GPTJForCausalLM", dict(n_embd=512, n_layer=4, n_head=8, rotary_dim=32, **TEXT), "ids"),
    ("gpt_neo", "GPTNeo", "GPTNeoForCausalLM", dict(hidden_size=512, num_layers=4, num_heads=8,
     attention_types=[[["global", "local"], 2]], window_size=64, **TEXT), "ids"),
    ("mpt", "Mpt", "MptForCausalLM", dict(d_model=512, n_heads=8, n_layers=4, **TEXT), "ids"),
    ("cohere", "Cohere", "CohereForCausalLM", dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4,
     num_attention_heads=8, num_key_value_heads=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, **TEXT), "ids"),
    ("olmo2", "Olmo2", "Olmo2ForCausalLM", dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4,
     num_attention_heads=8, pad_token_id=0, eos_token_id=1, **TEXT), "ids"),
    ("nemotron", "Nemotron", "NemotronForCausalLM", dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=4,
     num_attention_heads=8, num_key_value_heads=4, head_dim=64, **TEXT), "ids"),
    ("lfm2", "Lfm2", "Lfm2ForCausalLM", dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4,
     num_attention_heads=8, num_key_value_heads=4, layer_types=["conv", "conv", "full_attention", "conv"],
     pad_token_id=0, **TEXT), "ids"),
    ("mixtral", "Mixtral", "MixtralForCausalLM", dict(hidden_size=256, intermediate_size=512, num_hidden_layers=3,
     num_attention_heads=8, num_key_value_heads=4, num_local_experts=4, experts_implementation="batched_mm", **TEXT), "ids"),
    ("mamba", "Mamba", "MambaForCausalLM", dict(hidden_size=256, num_hidden_layers=3, state_size=8, **TEXT),
     dict(input_ids=((1, 24), 8000))),
    ("esm", "Esm", "EsmModel", dict(vocab_size=33, hidden_size=320, num_hidden_layers=6, num_attention_heads=20,
     intermediate_size=1280, position_embedding_type="rotary", pad_token_id=1, mask_token_id=32),
     dict(input_ids=((1, 200), 30), attention_mask=((1, 200), "ones"))),
    ("rembert", "RemBert", "RemBertModel", dict(hidden_size=576, num_hidden_layers=4, num_attention_heads=9,
     intermediate_size=2304, **TEXT), "ids"),
    ("glpn", "GLPN", "GLPNForDepthEstimation", dict(), "image"),
    ("cvt", "Cvt", "CvtForImageClassification", dict(depth=[1, 2, 4]), "image"),
    ("pvt_v1", "Pvt", "PvtForImageClassification", dict(), "image"),
    ("detr", "Detr", "DetrForObjectDetection", dict(encoder_layers=3, decoder_layers=3, d_model=128, encoder_ffn_dim=512,
     decoder_ffn_dim=512), "image320"),
    ("deformable_detr", "DeformableDetr", "DeformableDetrForObjectDetection", dict(encoder_layers=2, decoder_layers=2,
     d_model=128, encoder_ffn_dim=256, decoder_ffn_dim=256, num_queries=100), "image256"),
    ("owlvit", "OwlViTVision", "OwlViTVisionModel", dict(num_hidden_layers=4, hidden_size=384, num_attention_heads=6,
     intermediate_size=1536, image_size=384), "image384"),
    ("swin2sr", "Swin2SR", "Swin2SRForImageSuperResolution", dict(depths=[2, 2], num_heads=[6, 6], embed_dim=60),
     dict(pixel_values=(1, 3, 96, 96))),
    ("sam_vision", "SamVision", "SamVisionModel", dict(hidden_size=192, num_hidden_layers=4, num_attention_heads=3,
     image_size=512, global_attn_indexes=[1, 3], mlp_dim=768), dict(pixel_values=(1, 3, 512, 512))),
    ("videomae", "VideoMAE", "VideoMAEModel", dict(hidden_size=192, num_hidden_layers=4, num_attention_heads=3,
     intermediate_size=768, num_frames=8, image_size=112), dict(pixel_values=(1, 8, 3, 112, 112))),
    ("timesformer", "Timesformer", "TimesformerModel", dict(hidden_size=192, num_hidden_layers=4, num_attention_heads=3,
     intermediate_size=768, num_frames=4, image_size=112), dict(pixel_values=(1, 4, 3, 112, 112))),
    ("textnet", "TextNet", "TextNetForImageClassification", dict(), "image"),
    ("mgp_str", "Mgpstr", "MgpstrForSceneTextRecognition", dict(hidden_size=192, num_hidden_layers=4, num_attention_heads=3,
     num_bpe_labels=1000, num_wordpiece_labels=1000), dict(pixel_values=(1, 3, 32, 128))),
    ("sew", "SEW", "SEWForCTC", dict(num_hidden_layers=4, hidden_size=384, num_attention_heads=6, intermediate_size=1536), "audio"),
    ("unispeech_sat", "UniSpeechSat", "UniSpeechSatModel", dict(num_hidden_layers=3, hidden_size=384, num_attention_heads=6,
     intermediate_size=1536, do_stable_layer_norm=True, feat_extract_norm="layer"), "audio"),
    ("speech_to_text", "Speech2Text", "Speech2TextForConditionalGeneration", dict(encoder_layers=4, decoder_layers=2, **TEXT),
     dict(input_features=(1, 200, 80), attention_mask=((1, 200), "ones"), decoder_input_ids=((1, 16), 8000))),
    ("dac", "Dac", "DacModel", dict(encoder_hidden_size=24, decoder_hidden_size=384), dict(input_values=(1, 1, 8192))),
    ("clap_audio", "ClapAudio", "ClapAudioModel", dict(depths=[1, 1, 2, 1]), dict(input_features=(1, 1, 1001, 64))),
    ("parakeet", "ParakeetEncoder", "ParakeetEncoder", dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
     intermediate_size=1024), dict(input_features=(1, 200, 80))),
    ("patchtst", "PatchTST", "PatchTSTForPrediction", dict(num_input_channels=7, context_length=336, patch_length=16,
     patch_stride=8, d_model=128, num_attention_heads=8, ffn_dim=256, prediction_length=96), dict(past_values=(1, 336, 7))),
    ("patchtsmixer", "PatchTSMixer", "PatchTSMixerForPrediction", dict(context_length=512, patch_length=16, patch_stride=16,
     num_input_channels=7, d_model=48, num_layers=6, prediction_length=96), dict(past_values=(1, 512, 7))),
    ("decision_transformer", "DecisionTransformer", "DecisionTransformerModel", dict(n_layer=3, n_head=1),
     dict(states=(1, 20, 17), actions=(1, 20, 4), rewards=(1, 20, 1), returns_to_go=(1, 20, 1), timesteps=((1, 20), 100),
          attention_mask=((1, 20), "ones"))),
    ("perceiver", "Perceiver", "PerceiverModel", dict(num_latents=64, d_latents=256, d_model=64, num_self_attends_per_block=4,
     qk_channels=64, v_channels=256), dict(inputs=(1, 512, 64))),
    ("siglip_vision", "SiglipVision", "SiglipVisionModel", dict(hidden_size=384, num_hidden_layers=4, num_attention_heads=6,
     intermediate_size=1536), "image"),
]


# -- networks of this file's own ---------------------------------------------------

def own_make(name):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class ConvLstm(nn.Module):
        """A convolutional LSTM over 8 frames, its steps written out."""
        def __init__(self, w=32):
            super().__init__()
            self.w, self.gates, self.out = w, nn.Conv2d(3 + w, 4 * w, 3, padding=1), nn.Conv2d(w, 1, 1)

        def forward(self, x):
            h = c = x.new_zeros(x.shape[0], self.w, x.shape[3], x.shape[4])
            for t in range(8):
                i, f, o, g = self.gates(torch.cat([x[:, t], h], 1)).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            return self.out(h)

    class Attender(nn.Module):
        """A speller: an encoder of LSTMs, 12 steps of a GRU cell with additive attention."""
        def __init__(self, w=256):
            super().__init__()
            self.enc = nn.LSTM(80, w // 2, 2, bidirectional=True, batch_first=True)
            self.cell, self.key, self.query = nn.GRUCell(2 * w, w), nn.Linear(w, w), nn.Linear(w, w)
            self.score, self.embed, self.out = nn.Linear(w, 1), nn.Linear(64, w), nn.Linear(2 * w, 64)

        def forward(self, x):
            memory = self.enc(x)[0]
            keys, h = self.key(memory), memory.mean(1)
            y, out = x.new_zeros(x.shape[0], 64), []
            for _ in range(12):
                a = self.score(torch.tanh(keys + self.query(h)[:, None])).softmax(1)
                seen = (a * memory).sum(1)
                h = self.cell(torch.cat([seen, self.embed(y)], -1), h)
                y = self.out(torch.cat([h, seen], -1)).softmax(-1)
                out.append(y)
            return torch.stack(out, 1)

    class DualPath(nn.Module):
        """A separator of speech whose LSTMs go along chunks, then across them."""
        def __init__(self, w=64):
            super().__init__()
            self.front, self.back = nn.Conv1d(1, w, 16, 8), nn.ConvTranspose1d(w, 1, 16, 8)
            self.rows = nn.ModuleList(nn.LSTM(w, w, bidirectional=True, batch_first=True) for _ in range(4))
            self.lins = nn.ModuleList(nn.Linear(2 * w, w) for _ in range(4))
            self.norms = nn.ModuleList(nn.GroupNorm(1, w) for _ in range(4))

        def forward(self, x):
            f = self.front(x).relu()
            y = f[:, :, :900].reshape(1, -1, 18, 50)
            for i in range(4):
                z = y.permute(0, 2, 3, 1) if i % 2 == 0 else y.permute(0, 3, 2, 1)
                n, a, b, w = z.shape
                r = self.lins[i](self.rows[i](z.reshape(n * a, b, w))[0]).reshape(n, a, b, w)
                y = y + self.norms[i](r.permute(0, 3, 1, 2) if i % 2 == 0 else r.permute(0, 3, 2, 1))
            return self.back(y.reshape(1, -1, 900) * f[:, :, :900])

    class Tcn(nn.Module):
        """Dilated, causal, depthwise 1-d convolutions, as Conv-TasNet has them."""
        def __init__(self, w=128, n=256):
            super().__init__()
            self.front, self.back = nn.Conv1d(1, w, 16, 8), nn.ConvTranspose1d(w, 1, 16, 8)
            self.blocks = nn.ModuleList(nn.Sequential(nn.Conv1d(w, n, 1), nn.PReLU(), nn.GroupNorm(1, n),
                                                      nn.Conv1d(n, n, 3, padding=2 ** i, dilation=2 ** i, groups=n), nn.PReLU(),
                                                      nn.GroupNorm(1, n), nn.Conv1d(n, w, 1)) for i in range(8))

        def forward(self, x):
            y = f = self.front(x).relu()
            for b in self.blocks:
                y = y + b(y)
            return self.back(y.sigmoid() * f)

    class Wavenet(nn.Module):
        """Gated dilated convolutions with skips."""
        def __init__(self, w=48, layers=16):
            super().__init__()
            self.first, self.layers = nn.Conv1d(1, w, 1), layers
            self.gate = nn.ModuleList(nn.Conv1d(w, 2 * w, 2, dilation=1 << (i % 8)) for i in range(layers))
            self.skip = nn.ModuleList(nn.Conv1d(w, 2 * w, 1) for _ in range(layers))
            self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(w, w, 1), nn.ReLU(), nn.Conv1d(w, 256, 1))

        def forward(self, x):
            y, total = self.first(x), 0
            for i in range(self.layers):
                a, b = self.gate[i](F.pad(y, (1 << (i % 8), 0))).chunk(2, 1)
                r, s = self.skip[i](a.tanh() * b.sigmoid()).chunk(2, 1)
                y, total = y + r, total + s
            return self.last(total)

    class Unet3d(nn.Module):
        def __init__(self, w=16):
            super().__init__()
            def two(a, b):
                return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01),
                                     nn.Conv3d(b, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01))
            self.down = nn.ModuleList([two(1, w), two(w, 2 * w), two(2 * w, 4 * w)])
            self.up = nn.ModuleList([nn.ConvTranspose3d(2 * w, w, 2, 2), nn.ConvTranspose3d(4 * w, 2 * w, 2, 2)])
            self.join, self.last = nn.ModuleList([two(2 * w, w), two(4 * w, 2 * w)]), nn.Conv3d(w, 3, 1)

        def forward(self, x):
            a = self.down[0](x)
            b = self.down[1](F.max_pool3d(a, 2))
            y = self.down[2](F.max_pool3d(b, 2))
            y = self.join[1](torch.cat([b, self.up[1](y)], 1))
            return self.last(self.join[0](torch.cat([a, self.up[0](y)], 1)))

    class AttentionUnet(nn.Module):
        """Gates on the skips, bilinear upsampling, squeeze and excitation."""
        def __init__(self, w=24):
            super().__init__()
            def two(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.Mish(),
                                     nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.Mish())
            self.d = nn.ModuleList([two(3, w), two(w, 2 * w), two(2 * w, 4 * w), two(4 * w, 8 * w)])
            self.g = nn.ModuleList([nn.Conv2d(w * 3 << i, 1, 1) for i in range(3)])
            self.u = nn.ModuleList([two(w * 3 << i, w << i) for i in range(3)])
            self.last = nn.Conv2d(w, 4, 1)

        def forward(self, x):
            kept = []
            for i, d in enumerate(self.d):
                x = d(F.avg_pool2d(x, 2) if i else x)
                kept.append(x)
            for i in (2, 1, 0):
                y = torch.cat([kept[i], F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True)], 1)
                x = self.u[i](y * self.g[i](y).sigmoid())
            return self.last(x)

    class Naf(nn.Module):
        """Restoration without activations: layer norm of channels, gates by halves."""
        def __init__(self, w=32, n=8):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, w, 3, padding=1), nn.Conv2d(w, 3, 3, padding=1)
            self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(w) for _ in range(n)) for _ in range(2))
            self.c1 = nn.ModuleList(nn.Sequential(nn.Conv2d(w, 2 * w, 1), nn.Conv2d(2 * w, 2 * w, 3, padding=1, groups=2 * w))
                                    for _ in range(n))
            self.sca = nn.ModuleList(nn.Conv2d(w, w, 1) for _ in range(n))
            self.c2, self.c4 = (nn.ModuleList(nn.Conv2d(w, w, 1) for _ in range(n)) for _ in range(2))
            self.c3 = nn.ModuleList(nn.Conv2d(w, 2 * w, 1) for _ in range(n))

        def forward(self, x):
            y = self.first(x)
            for i in range(len(self.n1)):
                a, b = self.c1[i](self.n1[i](y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)).chunk(2, 1)
                z = a * b
                y = y + self.c2[i](z * self.sca[i](z.mean((2, 3), keepdim=True)))
                a, b = self.c3[i](self.n2[i](y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)).chunk(2, 1)
                y = y + self.c4[i](a * b)
            return x + self.last(y)

    class Cycle(nn.Module):
        """Pictures to pictures: reflected edges, instance norms, transposed convolutions."""
        def __init__(self, w=32):
            super().__init__()
            def block(c):
                return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c), nn.ReLU(),
                                     nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c))
            self.head = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, w, 7), nn.InstanceNorm2d(w), nn.ReLU(),
                                      nn.Conv2d(w, 2 * w, 3, 2, 1), nn.InstanceNorm2d(2 * w), nn.ReLU(),
                                      nn.Conv2d(2 * w, 4 * w, 3, 2, 1), nn.InstanceNorm2d(4 * w), nn.ReLU())
            self.body = nn.ModuleList(block(4 * w) for _ in range(4))
            self.tail = nn.Sequential(nn.ConvTranspose2d(4 * w, 2 * w, 3, 2, 1, 1), nn.InstanceNorm2d(2 * w), nn.ReLU(),
                                      nn.ConvTranspose2d(2 * w, w, 3, 2, 1, 1), nn.InstanceNorm2d(w), nn.ReLU(),
                                      nn.ReflectionPad2d(3), nn.Conv2d(w, 3, 7), nn.Tanh())

        def forward(self, x):
            x = self.head(x)
            for b in self.body:
                x = x + b(x)
            return self.tail(x)

    class PointNet(nn.Module):
        """A cloud of points: shared layers, a maximum over all points."""
        def __init__(self):
            super().__init__()
            widths = [3, 64, 128, 512]
            self.shared = nn.Sequential(*[m for a, b in zip(widths, widths[1:])
                                          for m in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())])
            self.head = nn.Sequential(nn.Linear(512, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 40))

        def forward(self, x):
            return self.head(self.shared(x.transpose(1, 2)).amax(2))

    class Dlrm(nn.Module):
        """A recommender: embeddings of 16 fields, dot products of pairs, small layers."""
        def __init__(self, w=32, fields=16):
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(2000, w) for _ in range(fields))
            self.low = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, w), nn.ReLU())
            pairs = fields * (fields + 1) // 2
            self.top = nn.Sequential(nn.Linear(pairs + w, 256), nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid())
            at = torch.tril_indices(fields + 1, fields + 1, -1)
            self.register_buffer("at", at[0] * (fields + 1) + at[1])

        def forward(self, dense, fields):
            d = self.low(dense)
            z = torch.stack([d] + [t(fields[:, i]) for i, t in enumerate(self.tables)], 1)
            return self.top(torch.cat([(z @ z.transpose(1, 2)).flatten(1)[:, self.at], d], 1))

    class Scorer(nn.Module):
        """A score of rows: a small net of linear layers, as a service calls it."""
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(40, 64), nn.SELU(), nn.Linear(64, 64), nn.Softplus(), nn.Linear(64, 3))

        def forward(self, x):
            return self.net(x).log_softmax(-1)

    class Graph(nn.Module):
        """Attention over the edges of a graph by a dense matrix of neighbours."""
        def __init__(self, w=64, heads=4):
            super().__init__()
            self.heads, self.lin = heads, nn.ModuleList(nn.Linear(w, heads * w) for _ in range(2))
            self.a = nn.ParameterList(nn.Parameter(0.1 * torch.randn(heads, 2, w)) for _ in range(2))
            self.out = nn.ModuleList(nn.Linear(heads * w, w) for _ in range(2))

        def forward(self, x, near):
            for lin, a, out in zip(self.lin, self.a, self.out):
                h = lin(x).reshape(x.shape[0], self.heads, -1).transpose(0, 1)
                e = (h * a[:, :1]).sum(-1)[:, :, None] + (h * a[:, 1:]).sum(-1)[:, None]
                e = F.leaky_relu(e, 0.2).masked_fill(near == 0, -1e9).softmax(-1)
                x = F.elu(out((e @ h).transpose(0, 1).flatten(1)))
            return x

    class Kws(nn.Module):
        """Words in a stream: depthwise convolutions on a spectrogram, a GRU that goes both ways."""
        def __init__(self, w=48):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(1, w, (5, 3), 2, (2, 1)), nn.Hardswish(), nn.Conv2d(w, w, 3, (1, 2), 1, groups=w),
                                      nn.Conv2d(w, w, 1), nn.Hardswish())
            self.gru, self.out = nn.GRU(w * 10, 96, 2, bidirectional=True, batch_first=True), nn.Linear(192, 12)

        def forward(self, x):
            y = self.conv(x).permute(0, 2, 3, 1).flatten(2)
            return self.out(self.gru(y)[0][:, -1])

    table = {
        "convlstm": (ConvLstm, lambda: {"x": torch.randn(1, 8, 3, 48, 48)}),
        "attender": (Attender, lambda: {"x": torch.randn(1, 120, 80)}),
        "dualpath": (DualPath, lambda: {"x": torch.randn(1, 1, 7208)}),
        "tcn": (Tcn, lambda: {"x": torch.randn(1, 1, 8000)}),
        "wavenet": (Wavenet, lambda: {"x": torch.randn(1, 1, 4000)}),
        "unet3d": (Unet3d, lambda: {"x": torch.randn(1, 1, 32, 48, 48)}),
        "attention_unet": (AttentionUnet, lambda: {"x": torch.rand(1, 3, 160, 160)}),
        "nafnet": (Naf, lambda: {"x": torch.rand(1, 3, 128, 128)}),
        "cyclegan": (Cycle, lambda: {"x": torch.rand(1, 3, 128, 128)}),
        "pointnet": (PointNet, lambda: {"x": torch.randn(1, 1024, 3)}),
        "dlrm": (Dlrm, lambda: {"dense": torch.rand(1, 13), "fields": torch.randint(0, 2000, (1, 16))}),
        "scorer": (Scorer, lambda: {"x": torch.randn(1, 40)}),
        "graph_attention": (Graph, lambda: {"x": torch.randn(300, 64), "near": torch.randint(0, 2, (300, 300))}),
        "kws": (Kws, lambda: {"x": torch.randn(1, 1, 100, 40)}),
    }
    module, inputs = table[name]
    return module(), inputs()


def half_precision(source, path):
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), path)


def fresh():
    """Yields (group, family, name, make, way)."""
    timm = {name: functools.partial(known.timm_make, name, size) for _, name, size in TIMM}
    hf = {family: functools.partial(known.transformers_make, config, model, changes, kind)
          for family, config, model, changes, kind in TRANSFORMERS}
    own = {name: functools.partial(own_make, name) for name in (
        "convlstm", "attender", "dualpath", "tcn", "wavenet", "unet3d", "attention_unet", "nafnet", "cyclegan", "pointnet",
        "dlrm", "scorer", "graph_attention", "kws")}
    part = functools.partial
    qdq, qop = known.quantise_static, part(known.quantise_static, form="QOperator", per_channel=False)
    batch8, ids = Way(batch=8), {"input_ids": {1: "words"}, "attention_mask": {1: "words"}}
    ways = [
        ("quant", "selecsls42b", timm, "qdq", Way(convert=qdq)),
        ("quant", "repghostnet_100", timm, "qoperator", Way(convert=qop)),
        ("quant", "fasternet_t0", timm, "qdq-signed", Way(convert=part(qdq, types=("QInt8", "QInt8")))),
        ("quant", "hardcorenas_a", timm, "dynamic", Way(convert=known.quantise_dynamic)),
        ("quant", "vit_relpos_small_patch16_224", timm, "qdq", Way(convert=qdq)),
        ("quant", "convbert", hf, "dynamic", Way(convert=known.quantise_dynamic)),
        ("quant", "siglip_vision", hf, "qdq", Way(convert=qdq)),
        ("quant", "olmo2", hf, "4bit", Way(convert=known.quantise_nbits)),
        ("quant", "gptj", hf, "4bit-128", Way(convert=part(known.quantise_nbits, block=128, symmetric=False))),
        ("quant", "esm", hf, "dynamic", Way(convert=part(known.quantise_dynamic, per_channel=True))),
        ("quant", "attender", own, "dynamic", Way(convert=known.quantise_dynamic)),
        ("quant", "attention_unet", own, "qdq", Way(convert=qdq)),
        ("quant", "tcn", own, "qoperator", Way(convert=qop)),
        ("half", "inception_next_atto", timm, "float16", Way(convert=half_precision)),
        ("half", "rembert", hf, "float16", Way(convert=half_precision)),
        ("half", "nafnet", own, "float16", Way(convert=half_precision)),
        ("batch8", "lcnetv2_small", timm, "8", batch8), ("batch8", "shvit_s1", timm, "8", batch8),
        ("batch8", "esm", hf, "8", batch8), ("batch8", "dlrm", own, "8", batch8), ("batch8", "kws", own, "8", batch8),
        ("open", "cohere", hf, "open", Way(open_axes=ids)), ("open", "esm", hf, "open", Way(open_axes=ids)),
        ("open", "attention_unet", own, "open", Way(open_axes={"x": {0: "n", 2: "h", 3: "w"}})),
        ("open", "fasternet_t0", timm, "open", Way(open_axes={"x": {0: "n"}})),
    ]
    for family, name, _ in TIMM:
        yield "timm", family, name, timm[name], Way()
    for name in own:
        yield "own", "own:" + name, name, own[name], Way()
    for family in hf:
        yield "hf", "hf:" + family, family, hf[family], Way()
    for group, name, table, how, way in ways:
        yield group, name, f"{name}-{how}", table[name], way
    for name, table in (("cpubone_nano", timm), ("swiftformer_xs", timm), ("lfm2", hf), ("cvt", hf), ("dualpath", own),
                        ("convlstm", own), ("videomae", hf), ("attender", own)):
        yield "dynamo", name, name, table[name], Way(exporter="dynamo")
