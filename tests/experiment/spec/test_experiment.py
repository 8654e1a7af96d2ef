import io

from ruamel.yaml import YAML
from tests.experiments import find_experiment
from tests.readable import names

from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment


def test_where_it_was_written_makes_no_difference(small: str) -> None:
    assert load_experiment(small, label="a.yaml") == load_experiment(small, label="b.yaml")


def test_an_experiment_read_back_from_its_own_values_is_the_same(small: str) -> None:
    experiment = load_experiment(small)
    again = Experiment.with_add_ons().model_validate(experiment.model_dump(mode="json"))
    assert again.model_dump() == experiment.model_dump()
    assert str(again.source.error(("workload",), "is wrong")) == "small:1: workload: is wrong"


def test_an_experiment_written_out_in_full_can_be_run_again(small: str) -> None:
    """As a run's folder keeps it: every default written, texts like `on` still texts."""
    for experiment in (load_experiment(small), *map(find_experiment, names())):
        written = io.StringIO()
        YAML().dump(experiment.model_dump(mode="json"), written)
        assert load_experiment(written.getvalue()) == experiment
