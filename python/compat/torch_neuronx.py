"""The names of torch_neuronx's graph partitioner, over cleave.neuron. A module,
not a package: where the real torch_neuronx is installed, that is imported."""
from cleave.neuron import *
