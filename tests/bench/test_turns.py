from malaprop_bench import turns


def side(processor_s, texts=4, **more):
    return {"texts": texts, "broken": 3, "asked": 40, "forwarded": 44, "processor_s": processor_s, **more}


def test_a_process_is_relieved_of_what_it_loads_and_a_ratio_is_of_shared_turns():
    peer = side(10.0, first_s=4.0)  # three texts behind the first took 6 s
    assert turns.seconds(peer) == 2.0
    assert turns.seconds(side(2.0)) == 0.5
    known = {"victim": "v", "recipe": "r"}
    first = {**known, "sides": {"ours": side(2.0), "ours, fp32": side(8.0), turns.PEER: peer}}
    second = {**known, "sides": {"ours": side(6.0), turns.PEER: side(16.0, first_s=4.0)}}
    assert turns.rows([first, second]) == [
        ["v", "r", "ours", "8", "6", "80", "88", "1.00", "3.00"],
        ["v", "r", "ours, fp32", "4", "3", "40", "44", "2.00", "1.00"],
        ["v", "r", turns.PEER, "8", "6", "80", "88", "3.00", ""],
    ]
