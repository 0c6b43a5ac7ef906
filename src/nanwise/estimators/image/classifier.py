"""Classifier of pictures with holes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.estimators.image.backbones import check_backbone, make_backbone
from nanwise.estimators.image.choice import resolve
from nanwise.estimators.image.inputs import read_pictures
from nanwise.estimators.image.net import check_device
from nanwise.estimators.image.pictures import blocks, warn_about_pixels
from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.estimators.planned import refuse_misfit
from nanwise.estimators.tasks import NetClassifier
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.train.checks import number, whole
from nanwise.train.plan import Plan

PREDICTED = 256


class NanImageClassifier(NetClassifier):
    """Convolutional network trained directly on pictures with holes.

    What stands in front, ``gaps``, takes the place of the first convolution and its ReLU; the
    network behind it is the same for all choices.

    Parameters
    ----------
    gaps : str, ImageTreatment or imputer, default="misconv"
        ``"misconv"`` (expected activations over what the holes may hold), ``"zero"``,
        ``"mask_channel"``, ``"knn"``, ``"partial_conv"``, ``"sn_conv"``, or an imputer of pictures
        that fills holes with its mean: ``"dmfa"``, ``"mfa"``, ``"flow"``. Or an object of these
        classes.
    backbone : None, str, Module or callable, default=None
        What follows the first layer: ``"small"`` (None) and ``"deep"`` are the classifiers of the
        MisConv paper for MNIST and CIFAR-10 (:class:`nanwise.nets.image.backbone.Backbone`). A
        torch module takes (N, width, H, W) and gives (N, n_classes); it is copied before training.
        A callable ``backbone(width, n_classes)`` makes such a module. A model with a module or
        callable of your own cannot be saved by :func:`nanwise.save`. Lazy layers are welcome.
    width : int, default=32
        Channels of the first layer.
    class_weight : dict, "balanced" or None
        Weight of each class in the loss.
    room : float, default=2e9
        Bytes that may be used to keep the densities of the training pictures from epoch to epoch;
        where they need more, they are computed for every batch anew.
    plan : Plan, optional
        Training settings. None: 10 epochs of Adam at a rate of 1e-3 that falls to 0 (cosine),
        batches of 64.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"auto"``. None: the CPU.
    random_state : int, RandomState or None
        Seed of everything random in ``fit``.

    Attributes
    ----------
    classes_ : array
        The classes.
    shape_ : tuple of int
        Channels, height and width of the pictures.
    treatment_ : ImageTreatment
        The fitted treatment.
    net_ : torch Module
        The trained network, first layer included.
    history_ : list of dict
        One entry per epoch: ``epoch``, ``train_loss``, ``valid_loss``, ``lr``, ``seconds``.
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    Answers are computed in the precision of training, float32 by default, in blocks of 256
    pictures; that of a picture depends on its company by rounding only.

    References
    ----------
    Przewięźlikowski, Śmieja, Struski, Tabor (2022). MisConv: convolutional neural networks for
    missing data. WACV.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import NanImageClassifier, Plan
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.random((40, 1, 8, 8)) * 0.2 + y[:, None, None, None] * 0.8
    >>> X[:, :, 2:5, 2:5] = np.nan
    >>> model = NanImageClassifier("zero", width=4, plan=Plan(epochs=5, lr=0.01), random_state=0)
    >>> model.fit(X, y).predict(X[:4]).tolist()
    [0, 1, 0, 1]
    """

    scale = None

    def __init__(
        self,
        gaps: Any = "misconv",
        backbone: Any = None,
        *,
        width: int = 32,
        class_weight: Any = None,
        room: float = 2e9,
        plan: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.gaps = gaps
        self.backbone = backbone
        self.width = width
        self.class_weight = class_weight
        self.room = room
        self.plan = plan
        self.device = device
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on pictures with holes.

        Parameters
        ----------
        X : array of shape (N, C, H, W)
            Floats, usually between 0 and 1; NaN is a hole.
        y : array of shape (N,)
            Classes.
        sample_weight : array of shape (N,), optional
            How much each picture counts in the loss of the classifier.

        Returns
        -------
        self
        """
        self._check_settings()
        X = read_pictures(X)
        y = self._read_target(X, y)
        X, y, weight = self._weigh(X, y, sample_weight)
        warn_about_pixels(X)
        self.shape_ = X.shape[1:]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.treatment_ = resolve(self.gaps, seed)
        self._train(X, y, weight, seed)
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        whole("width", self.width)
        number("room", self.room, least=0.0)
        check_backbone(self.backbone)
        check_device(self.device)

    def _default_plan(self) -> Plan:
        return Plan(epochs=10, batch=64, optimizer="adam", weight_decay=0.0)

    def _sources(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, rows: Any, valid: Any
    ) -> tuple[Any, Any]:
        self.treatment_.fit(X if valid is None else X[rows])
        prepared = self.treatment_.prepare(X)
        source = self._pictures(prepared, y, weight, rows)
        return source, None if valid is None else self._pictures(prepared, y, weight, valid)

    def _pictures(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, rows: Any) -> Any:
        from nanwise.estimators.image.sources import PictureSource

        return PictureSource(
            X,
            rows,
            self._target_tensor(y[rows]),
            None if weight is None else weight[rows],
            self.treatment_.complete,
            self._plan().precision,
            self.room,
        )

    def _network(self) -> Any:
        from nanwise.nets.image.classifier import ImageNet

        layer = self.treatment_.layer(self.shape_[0], self.width)
        size = (self.shape_[1], self.shape_[2])
        body = make_backbone(self.backbone, self.width, self._n_out(), size)
        return ImageNet(layer, body, self._loss())

    def _n_out(self) -> int:
        # One output per class, also for two: a backbone of one's own need not know of an exception.
        return len(self.classes_)

    def _loss(self) -> Any:
        from nanwise.nets import losses

        return losses.categorical

    def _names(self) -> list[str] | None:
        return None

    # -- answering -------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """What the network gives before it is turned into probabilities.

        Returns
        -------
        ndarray
            Two classes: log-odds of the second, shape (N,). More: one number per class, shape
            (N, n_classes), whose softmax is ``predict_proba``.
        """
        out = self._outputs(X)
        return out[:, 1] - out[:, 0] if out.shape[1] == 2 else out

    def _outputs(self, X: Any) -> np.ndarray:
        """Raw outputs (N, n_classes) in float64."""
        check_is_fitted(self)
        X = read_pictures(X, self.shape_)
        net = self.net_.eval()
        parts = [self._answer(net, X[part]) for part in blocks(len(X), PREDICTED)]
        return np.concatenate(parts).astype(np.float64)

    def _answer(self, net: Any, X: np.ndarray) -> np.ndarray:
        import torch

        from nanwise.estimators.image.sources import as_type, split

        prepared = self.treatment_.prepare(X)
        dtype = next(net.parameters()).dtype
        density = self.treatment_.complete(prepared)
        with torch.inference_mode():
            values, observed = split(prepared, dtype)
            asked = None if density is None else as_type(density, dtype)
            return net(values, observed, asked).numpy()

    def set_params(self, **params: Any) -> Any:
        """As in scikit-learn.

        ``plan__lr=...`` also works while ``plan`` is None, ``gaps__depth=...`` while ``gaps`` is
        a name.
        """
        given = params.get("gaps", self.gaps)
        if isinstance(given, str) and any(key.startswith("gaps__") for key in params):
            params["gaps"] = resolve(given)
        return super().set_params(**params)

    # -- scikit-learn and saving -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _check_learnt(self, weights: dict[str, Any]) -> None:
        if not isinstance(self.treatment_, ImageTreatment):
            raise ValueError("treatment_ is not what its name says")
        if len(self.classes_) < 2:
            raise ValueError("classes_ has fewer than two classes")
        if len(self.shape_) != 3 or not all(type(n) is int and n > 0 for n in self.shape_):
            raise ValueError(f"shape_ must be three whole numbers above 0, got {self.shape_!r}")
        refuse_misfit(self._network, weights)
