"""Which environment variables are looked at; everything else never leaves the process."""

from __future__ import annotations

_PREFIXES = (
    "ASCEND_",
    "ACL_",
    "ATB_",
    "HCCL_",
    "LCCL_",
    "NPU_",
    "TORCH_",
    "PYTORCH_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "RAY_",
    "VLLM_",
    "TASK_QUEUE_",
    "GLOO_",
    "OMPI_",
    "SLURM_",
    "KUBERNETES_",
)
_NAMES = frozenset(
    {
        "PATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONNOUSERSITE",
        "HOME",
        "LANG",
        "LC_ALL",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CONDA_DEFAULT_ENV",
        "TOOLCHAIN_HOME",
        "DEVICE_ID",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "NNODES",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "RANK_TABLE_FILE",
        "RANK_SIZE",
        "SOC_VERSION",
        "COMBINED_ENABLE",
        "INF_NAN_MODE_ENABLE",
        "CPU_AFFINITY_CONF",
        "MULTI_STREAM_MEMORY_REUSE",
        "STREAMS_PER_DEVICE",
        "PER_STREAM_QUEUE",
        "OMP_NUM_THREADS",
        "container",
    }
)


def wanted(name: str) -> bool:
    """Whether a variable of this name tells something about the NPU environment."""
    return name in _NAMES or name.startswith(_PREFIXES)
