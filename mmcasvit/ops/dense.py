"""Attention of every pixel to all of a map."""

from torch import Tensor
from torch.nn import functional as F

from .checks import check_divides


def global_attention(q: Tensor, k: Tensor, v: Tensor, num_heads: int) -> Tensor:
    """Multi-head attention of each pixel of q to all pixels of k and v.

    out_i = Σ_j softmax_j(q_i · k_j / √D) v_j

    Args:
        q, k, v: Queries, keys, values; channel n·D + d is dimension d of head n.
        num_heads: Heads N; each has D = C/N channels.

    Shape:
        q (B, C, H, W), k and v (B, C, h, w); output (B, C, H, W).

    Raises:
        ValueError: If heads do not divide C.

    Note:
        2·H·W·h·w·C multiply-adds; the H·W × h·w weights never exist as a whole.

    Source:
        Attention Is All You Need, arXiv 1706.03762, Eq. 1.
    """
    check_divides(num_heads, q.shape[1])
    heads = [
        x.flatten(2).unflatten(1, (num_heads, -1)).transpose(2, 3).contiguous()
        for x in (q, k, v)
    ]  # (B, N, H·W, D)
    out = F.scaled_dot_product_attention(*heads)
    return out.transpose(2, 3).reshape_as(q)
