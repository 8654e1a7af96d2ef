"""The sample of reports, with conclusions and lessons."""

from types import ModuleType

import pytest
from tests.report.conftest import applications, build_analysis, families, judged  # noqa: F401 (fixtures)

from loadstone.judge.analysis.analysis import Analysis

from .sample import conclusions, lessons


@pytest.fixture(scope="session")
def analysis() -> Analysis:
    """The sample, with published conclusions."""
    return build_analysis().with_part("answers", conclusions())


@pytest.fixture(scope="session")
def application(analysis: Analysis, applications: ModuleType) -> Analysis:  # noqa: F811
    """A study of an application, with lessons."""
    found: Analysis = applications.application(analysis).model_copy(update={"parts": {"lessons": lessons()}})
    return found
