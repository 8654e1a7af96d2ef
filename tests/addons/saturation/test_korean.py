"""A mistake in an option of a search, in Korean."""

from tests.calling import called
from tests.korean_terms import english_in
from tests.test_korean import TYPED


def test_an_error_names_what_was_typed_and_is_korean() -> None:
    done = called("--lang", "ko", "saturate", "redis", "--model", "clsed")
    assert done.returncode == 2
    assert done.stderr.startswith("loadstone: '--model'의 값이 잘못되었습니다: 'clsed'는 쓸 수 없습니다.")
    assert english_in(done.stderr, TYPED | {"loadstone"}) == []
