"""Tests the checks and measurements of the bed's runs, on made-up logs."""

import unittest

from bed import Ask, Judgement
from decisions import parsed
from measure import Holds, entitled, share_errors
from workload import Arrival, draw, scaled


def pod(at_ms, what, job, index, node="n0", gpus=4):
    return {"at_ms": at_ms, "what": what, "pod": f"lab/{job}-{index}-abcde", "uid": f"{job}{index}", "node": node, "gpus": gpus}


def gang(at_ms, what, job, gpus=8):
    return {"at_ms": at_ms, "what": what, "job": f"lab/{job}", "nodes": {"n0": gpus}}


class JudgementTest(unittest.TestCase):
    asks = [Ask("a", pods=2, gpus=4), Ask("b", pods=2, gpus=4)]

    def judge(self, *lines):
        return Judgement(list(lines), {"n0": 8}, self.asks)

    def test_gpus_that_are_handed_over_are_not_held_twice(self):
        found = self.judge(pod(0, "admitted", "a", 0), pod(0, "admitted", "a", 1), pod(5, "stopped", "a", 0),
                           pod(5, "stopped", "a", 1), pod(6, "admitted", "b", 0), pod(6, "admitted", "b", 1))
        self.assertEqual(found.twice, 0)

    def test_gpus_that_are_held_twice_are_found(self):
        found = self.judge(pod(0, "admitted", "a", 0), pod(0, "admitted", "a", 1), pod(5, "admitted", "b", 0))
        self.assertEqual(found.twice, 1)

    def test_half_a_gang_is_timed_until_it_is_whole_or_gone(self):
        found = self.judge(pod(0, "admitted", "a", 0), pod(2000, "admitted", "a", 1), pod(3000, "gone", "a", 1),
                           pod(8000, "gone", "a", 0))
        self.assertEqual(found.longest_half_s, 5)

    def test_half_a_gang_at_the_end_counts(self):
        found = self.judge(pod(0, "admitted", "a", 0), pod(7000, "admitted", "b", 0))
        self.assertEqual(found.longest_half_s, 7)

    def test_jobs_that_are_not_done_are_lost(self):
        self.assertEqual(self.judge(gang(0, "done", "a")).lost, ["lab/b"])


class MeasureTest(unittest.TestCase):
    def test_entitlements_follow_tickets_and_end_at_what_is_asked_for(self):
        self.assertEqual(entitled(8, {"a": 1, "b": 1}, {"a": 8, "b": 8}), {"a": 4, "b": 4})
        self.assertEqual(entitled(8, {"a": 3, "b": 1}, {"a": 8, "b": 8}), {"a": 6, "b": 2})
        self.assertEqual(entitled(8, {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 8, "c": 8}), {"a": 1, "b": 3.5, "c": 3.5})
        self.assertEqual(entitled(8, {"a": 1, "b": 1}, {"a": 2, "b": 3}), {"a": 2, "b": 3})

    def test_a_gang_that_waits_for_its_other_half_holds_but_does_not_train(self):
        history = [pod(0, "admitted", "a", 0), pod(4000, "admitted", "a", 1), gang(4000, "begins", "a"),
                   gang(10000, "done", "a"), pod(10000, "succeeded", "a", 0), pod(10000, "succeeded", "a", 1)]
        holds = Holds(history, 10, 0)
        self.assertEqual(sorted(holds.held), [(0, 100, "lab", 4), (40, 100, "lab", 4)])
        self.assertEqual(holds.trained, [(40, 100, "lab", 8)])
        self.assertEqual(holds.done, {"lab/a": 100})

    def test_who_holds_all_has_the_share_of_the_other(self):
        arrivals = [Arrival(0, Ask("a", "lab", 2, 4)), Arrival(0, Ask("b", "ben", 2, 4))]
        history = [pod(0, "admitted", "a", 0), pod(0, "admitted", "a", 1), pod(10000, "gone", "a", 0), pod(10000, "gone", "a", 1)]
        self.assertEqual(share_errors(Holds(history, 1, 0), arrivals, 8, {"lab": 1, "ben": 1}), {"lab": 1, "ben": 1})


class DecisionsTest(unittest.TestCase):
    def test_a_histogram_is_summed_over_its_labels(self):
        text = 'a_seconds_sum 9\nd_seconds_bucket{le="1"} 7\nd_seconds_sum{k="v w"} 0.5\nd_seconds_sum{k="x"} 1\nd_seconds_count 6\n'
        self.assertEqual(parsed(text, "d_seconds"), (6, 1.5))


class WorkloadTest(unittest.TestCase):
    def test_a_seed_is_a_list(self):
        texts = [[(arrival.at_s, arrival.ask.manifest()) for arrival in draw(seed)] for seed in (1, 1, 2)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_times_of_a_policy_are_divided(self):
        self.assertEqual(scaled("tiresias:limits=3240/7200,promote=2", 60), "tiresias:limits=54/120,promote=2")
        self.assertEqual(scaled("fifo", 60), "fifo")
        with self.assertRaises(AssertionError):
            scaled("hadar:round_s=30", 60)


if __name__ == "__main__":
    unittest.main()
