import logging
from types import SimpleNamespace

import pytest
import torch
from mmengine.logging import MessageHub
from torch import nn

from mmcasvit import ACmix
from mmcasvit.engine.hooks import LogScalesHook


@pytest.fixture
def runner():
    """What the hook sees of a runner: a model with three ACmix layers, logs."""
    torch.manual_seed(0)
    model = nn.Sequential(
        ACmix(4, 4),
        nn.Conv2d(4, 4, 1),
        ACmix(4, 4, alpha=0.25),
        ACmix(4, 4, alpha=0.0, beta=1.0, learn_scales=False),
    )
    hub = MessageHub.get_instance('scales')
    hub.log_scalars.clear()
    logger = logging.getLogger('scales')
    return SimpleNamespace(model=model, message_hub=hub, logger=logger, iter=49)


def test_means_stand_beside_the_losses(runner):
    LogScalesHook(interval=50).after_train_iter(runner, 49)
    scalars = runner.message_hub.log_scalars
    assert scalars['train/alpha'].current() == pytest.approx((0.5 + 0.25) / 2)
    assert scalars['train/beta'].current() == pytest.approx((0.5 + 0.5 + 1.0) / 3)


def test_between_the_intervals_nothing_is_read(runner):
    runner.iter = 20
    LogScalesHook(interval=50).after_train_iter(runner, 20)
    assert not runner.message_hub.log_scalars


def test_every_layer_at_the_end(runner, caplog):
    with caplog.at_level(logging.INFO, logger='scales'):
        LogScalesHook().after_train(runner)
    assert [r.message for r in caplog.records] == [
        'ACmix alpha: 0 0.5000, 2 0.2500',
        'ACmix beta: 0 0.5000, 2 0.5000, 3 1.0000',
    ]


def test_a_model_without_acmix_logs_nothing(runner):
    runner.model = nn.Conv2d(3, 3, 1)
    hook = LogScalesHook(interval=50)
    hook.after_train_iter(runner, 49)
    hook.after_train(runner)
    assert not runner.message_hub.log_scalars
