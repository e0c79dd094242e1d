# A file that is no model we read is called by what it is, whatever its name.
bytes() { printf '%b' "$2" >"$1"; }
bytes keras.h5 '\x89HDF\r\n\x1a\n\0\0\0\0'
bytes net.tflite '\x1c\0\0\0TFL3\0\0'
bytes llm.gguf 'GGUF\x03\0\0\0'
bytes old.pt '\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.'
bytes new.pt 'PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0archive/data.pkl'
bytes net.pt2 'PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x12\0\0\0net/archive_format'
bytes x.npz 'PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0arr_0.npy'
bytes some.zip 'PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0net.onnx'
bytes short.zip 'PK\x03\x04'
bytes weights.safetensors '\x02\0\0\0\0\0\0\0{"}'
bytes weights2.safetensors '\x03\0\0\0\0\0\0\0{"}'
bytes x.npy '\x93NUMPY\x01\0'
bytes lfs.onnx 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n'
bytes page.onnx '<!DOCTYPE html><html>'
bytes net.onnx.gz '\x1f\x8b\x08\0'
bytes notes.txt 'This is no model.'
bytes readme.onnx 'This is no model.'
bytes any.bin '\x20\0\0\0ORTM\0\0'
bytes net.pte '\x20\0\0\0ET12\0\0'
bytes engine.bin 'ftrt\0\0'
bytes picture.onnx '\x89PNG\r\n'
mkdir saved plain
bytes saved/saved_model.pb '\x08\x01'
name=.data/extern_modules
bytes package.pt "PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0${name}PK\x01\x02\0\0\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0${name}PK\x05\x06\0\0\0\0\x01\0\x01\0\x42\0\0\0\x32\0\0\0\0\0"
for f in net.caffemodel net.pdmodel saved_model.pb net.mlmodel net.engine params.msgpack net.ort net.param config.json; do
    bytes $f '\x0a\x03net\x12\x01x'
done
: >empty.onnx
: >empty
for f in *; do run cleave profile "$f"; done
