"""From a trained policy to production: ONNX, a check against torch, and the command that makes an OM.

The functions that need torch, onnx or onnxruntime import them when they are called.
"""
