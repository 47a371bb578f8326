"""What a run of `benchmarks.check_detection` keeps: no line torn, no kind left out or counted twice."""

from benchmarks.check_scores import Case, Unit
from benchmarks.check_store import append, merged, missing, read, without_torn_line

SIGN, UNIT = "effort sign, one joint", "effort mNm, one joint"


def unit(seed=0, error=SIGN, named=True):
    return Unit("panda", seed, [], [Case(error, True, named, False, "")], [error])


def test_a_line_that_a_kill_tore_is_cut_off_before_the_next_one(tmp_path):
    file = tmp_path / "seeds.jsonl"
    append(unit(0), file)
    append(unit(1), file)
    file.write_bytes(file.read_bytes()[:-20])
    assert [one.seed for one in read(file)] == [0]
    without_torn_line(file)
    append(unit(2), file)
    assert [one.seed for one in read(file)] == [0, 2]


def test_a_run_goes_on_with_the_kinds_that_were_not_tried(tmp_path):
    file = tmp_path / "seeds.jsonl"
    append(unit(0, SIGN), file)
    stored = read(file)
    assert missing([SIGN, UNIT], stored, "panda", 0) == (UNIT,)
    assert missing([SIGN], stored, "panda", 0) is None
    assert missing([SIGN], stored, "panda", 1) == (SIGN,)
    append(unit(0, UNIT), file)
    assert missing([SIGN, UNIT], read(file), "panda", 0) is None


def test_kinds_of_one_seed_are_one_clean_part_and_the_later_verdict_counts():
    (one,) = merged([unit(0, SIGN, named=False), unit(0, UNIT), unit(0, SIGN, named=True)])
    assert {case.error: case.named for case in one.cases} == {SIGN: True, UNIT: True}
    assert sorted(one.tried) == sorted([SIGN, UNIT])
