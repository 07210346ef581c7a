"""All rules, in the order of the catalogue; a new rule is a new file and a line here."""

from __future__ import annotations

from importlib import import_module

from timesink.diagnoses.rule import Rule

_FILES = (
    "input_bound_no_workers",
    "input_bound_workers",
    "workers_restarted",
    "workers_oversubscribed",
    "sync_in_loop",
    "unpinned_copies",
    "blocking_readback",
    "optimizer_per_tensor",
    "launch_bound",
    "allocator_retries",
    "empty_cache",
    "recompiles",
    "fp32_matmul",
    "layout_conversions",
    "attention_not_fused",
    "gc_pauses",
    "anomaly_mode",
    "checkpoint_stall",
    "steps_get_slower",
    "denormals",
    "data_parallel",
    "gpu_unused",
    "tiny_operators",
)


def rules() -> tuple[Rule, ...]:
    """Every rule, by number."""
    found = [import_module(f"timesink.diagnoses.rules.{name}").RULE for name in _FILES]
    return tuple(sorted(found, key=lambda r: r.number))
