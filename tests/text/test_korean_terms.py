"""One word a thing in Korean: what the table of terms forbids stands nowhere in the catalogue."""

import re

import pytest

from loadstone.text.language import po_file, read_po

FORBIDDEN = {
    "신뢰구간": "신뢰 구간",
    "커넥션": "연결",
    "(?<!백)분위|퍼센타일|백분위(?!수)": "백분위수",
    "기본 제공 실험|빌트인": "내장 실험",
    "상호 작용|교호작용": "상호작용",
    r"십시오|니까\?|해 주세요": "하세요체",
    "버추얼|가상사용자|VUser": "가상 사용자(vUser)",
    "고정 처리율|고정된 처리율|고정 속도|처리율": "고정 요청률; 처리량",
    "포화 지점|포화 포인트|무릎": "포화점",
    "문턱|임계|기준 실행|기준 값|기준선": "기준 (a check's threshold); the run to compare with is the 베이스라인",
    "예산": "제한 시간",
    "멈춤|멈추세요": "중지; a stall is 응답 정지",
    "훑기": "스윕",
    "뺏긴|뺏김|가릴 수 있는 몫": "외부 CPU 점유; 부하 생성기 영향(상한)",
    "하나도 없음": "없음",
    "열린 모델|닫힌 모델": "개방형, 폐쇄형",
    "에러": "오류",
    "복제본": "레플리카",
    "잠금": "락",
    "컴퓨터": "장비",
    "녹화": "기록",
    "소비자": "컨슈머",
    "쉬는 연결": "유휴 연결",
    "종료 상태": "종료 코드",
    "더하세요": "추가하세요",
    "정상 응답": "올바른 응답",
    "허용 오차|허용 범위": "허용치",
    "원 연구": "원래 연구",
    r"(?<![가-힣])(?:잽니다|재는|재지|재면|잰|잴)(?![가-힣])": "측정하다",
    r"\b[Ll]oadstone[가를는와]": "loadstone ends with a consonant: 이, 을, 은, 과",
}
"""What is not written, and what is."""
SECONDS = re.compile(r"\{[^{}]*\} (?:s|min|h)\b")
"""A length of time with an English unit: 초, 분 and 시간 stand for it."""


@pytest.fixture(scope="module")
def korean() -> list[str]:
    texts = [*read_po(po_file("ko").read_text(encoding="utf-8")).values()]
    assert len(texts) > 4000
    return texts


@pytest.mark.parametrize("words", FORBIDDEN)
def test_no_other_word_for_a_term(words: str, korean: list[str]) -> None:
    assert [text for text in korean if re.search(words, text)] == [], f"write {FORBIDDEN[words]}"


def test_lengths_of_time_have_korean_units(korean: list[str]) -> None:
    assert [text for text in korean if SECONDS.search(text)] == []
