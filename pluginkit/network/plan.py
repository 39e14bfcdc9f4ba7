"""What a test run does, as plain data: its networks and the cases to run on them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.large import LargeCase
from pluginkit.network.networks import Case, Network

_VALUES = 2
"""So many values of a field NVIDIA's builder is asked about."""


@dataclass(frozen=True)
class Plan:
    """Everything a run does: the networks to build and the cases to run on them."""

    networks: tuple[Network | ApiNetwork, ...]
    cases: tuple[Case, ...]
    seed: int
    kept_fields: dict[str, str] = field(default_factory=dict)
    """The fields that have one value in all networks, and why."""
    large: LargeCase | str = ""
    """The plugin on tensors of more than 2^31 elements, in the first precision; or why that can't be, a sentence."""

    @property
    def usual(self) -> tuple[Network, ...]:
        """The networks that are ONNX models, without variants: who chooses formats itself needs no others."""
        return tuple(one for one in self.networks if isinstance(one, Network) and not one.variant)

    @property
    def by_api(self) -> tuple[ApiNetwork, ...]:
        """The networks that are made by NVIDIA's API."""
        return tuple(one for one in self.networks if not isinstance(one, Network))

    @property
    def builder_networks(self) -> tuple[Network | ApiNetwork, ...]:
        """The networks that NVIDIA's builder is asked about: all but those that are quantized implicitly, and those in
        which a field has a value that isn't declared, or none: these the plugin may refuse. Of each field's other
        values the first two are enough for it, which carries them and runs none."""

        def asked(one: Network) -> bool:
            return not one.implicit and (
                one.fields is None or (one.fields.declared and one.fields.number <= _VALUES and not one.fields.more)
            )

        return tuple(one for one in self.networks if not isinstance(one, Network) or asked(one))

    def network(self, case: Case) -> Network | ApiNetwork:
        """The network that a case runs on.

        Raises:
            KeyError: the case is from another plan.
        """
        for network in self.networks:
            if network.id == case.network_id:
                return network
        raise KeyError(case.network_id)
