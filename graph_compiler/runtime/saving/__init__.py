"""Files of graphs: JSON and safetensors."""
