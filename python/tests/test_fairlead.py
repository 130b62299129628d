"""Tests of the package. Run them against an installed wheel: pytest python/tests."""

import gc
import multiprocessing
import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import fairlead
from policies import Fifo, Las

ROWS = [{"job": "a", "gpus": 4, "submit_s": 0, "duration_s": 10}, {"job": "b", "gpus": 4, "submit_s": 1, "duration_s": 5}]
CLUSTER = "2xV100:4"


def drawn(jobs=300, seed=1):
    return fairlead.workloads.generate(jobs, seed=seed, capacity_gpus=32, load=1.0, users=5)


def run(policy="fifo", trace=ROWS, cluster="1xV100:4", **more):
    return fairlead.simulate(cluster, trace, policy, costs="none", **more)


# Results of a run.


def test_two_jobs_by_hand():
    made = run()
    assert made.jobs["job"] == ["a", "b"]
    assert made.jobs["finish_s"].tolist() == [10, 15]
    assert made.summary["jct_avg_s"] == 12
    assert made.users["jobs"].tolist() == [2]
    assert [(t, e, j) for t, e, j in zip(made.events["t_s"], made.events["event"], made.events["job"])] == [
        (0, "arrived", "a"), (0, "start", "a"), (1, "arrived", "b"), (10, "finished", "a"), (10, "start", "b"),
        (15, "finished", "b")]
    assert made.timeline["gpus_held"].sum() > 0
    assert len(made.journal_hash) == 16
    assert "2 jobs" in repr(made)


def test_cpus_of_nodes_limit_placements(tmp_path):
    cluster = tmp_path / "lab.yaml"
    cluster.write_text("racks: [{nodes: {gpu_type: V100, gpus: 4, cpus: 8}}]")
    rows = [{"job": name, "gpus": 1, "submit_s": 0, "duration_s": 10, "cpus": 6.5} for name in "ab"]
    assert run(trace=rows, cluster=str(cluster)).jobs["finish_s"].tolist() == [10, 20]
    assert run(trace=rows, cluster=str(cluster), resources="ignore").jobs["finish_s"].tolist() == [10, 10]


def test_energy_and_cost_are_columns_on_request():
    made = run(power="V100:360/60", prices="V100:3.6")  # a GPU: W under load and at idle, money per hour
    assert made.jobs["cost"].tolist() == pytest.approx([0.04, 0.02])
    assert made.users["cost"].tolist() == pytest.approx([0.06])
    assert made.jobs["energy_kwh"].tolist() == pytest.approx([0.004, 0.002])
    assert "cost" not in run().jobs.column_names


def test_what_is_not_known_is_not_a_number_and_null():
    pytest.importorskip("pyarrow")
    import pyarrow

    made = run(until_s=12)
    assert np.isnan(made.jobs["finish_s"]).tolist() == [False, True]
    assert pyarrow.table(made.jobs).column("finish_s").to_pylist() == [10, None]


def test_other_libraries_read_tables():
    jobs = run().jobs
    pandas = pytest.importorskip("pandas")
    assert jobs.to_pandas().finish_s.tolist() == [10, 15]
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(jobs)["job"].to_list() == ["a", "b"]
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("select max(finish_s) from jobs").fetchall() == [(15,)]
    assert isinstance(jobs.to_pandas(), pandas.DataFrame)


def test_traces_come_as_dataframes_and_go_on_as_they_came():
    expected = run().journal_hash
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    assert run(trace=columns).journal_hash == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    assert run(trace=frame).journal_hash == expected
    frame["submit_s"] = pandas.to_timedelta(frame.submit_s, unit="s")
    assert run(trace=frame).journal_hash == expected
    polars = pytest.importorskip("polars")
    assert run(trace=polars.DataFrame(ROWS)).journal_hash == expected
    pyarrow = pytest.importorskip("pyarrow")
    assert run(trace=pyarrow.Table.from_pylist(ROWS)).journal_hash == expected


def test_a_file_is_read_as_the_command_line_reads_it(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("job,gpus,submit_s,duration_s\na,4,0,10\nb,4,1,5\n")
    assert run(trace=path).jobs["finish_s"].tolist() == [10, 15]


def test_saved_and_pickled_runs_are_equal(tmp_path):
    made = run(until_s=12)
    made.save(tmp_path / "out")
    for other in (fairlead.load(tmp_path / "out"), pickle.loads(pickle.dumps(made))):
        assert other.summary == made.summary and other.journal_hash == made.journal_hash
        assert other.decisions == made.decisions
        for name in ("jobs", "users", "timeline"):
            ours, table = getattr(made, name), getattr(other, name)
            for column in ours.column_names:
                if isinstance(ours[column], list):
                    assert table[column] == ours[column]
                else:
                    np.testing.assert_allclose(table[column], ours[column], atol=1e-6)  # files have six decimals
        assert other.events["event"] == made.events["event"]
        assert other.why("b") == made.why("b")
        assert pickle.loads(pickle.dumps(other)).summary == made.summary



def test_saved_columns_are_read_by_other_libraries():
    pyarrow = pytest.importorskip("pyarrow")
    made = pickle.loads(pickle.dumps(run(until_s=12)))
    assert pyarrow.table(made.jobs).column("finish_s").to_pylist() == [10, None]


def test_processes_of_an_executor_compare():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        made = fairlead.sweep(CLUSTER, ROWS, "las", {"quantum_s": [60, 600]}, executor=executor, costs="none", progress=False)
    here = fairlead.sweep(CLUSTER, ROWS, "las", {"quantum_s": [60, 600]}, costs="none", progress=False)
    assert made.rows == here.rows and list(made) == list(here)
    assert pickle.loads(pickle.dumps(here)).rows == here.rows


def test_parquet_files_are_traces(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = tmp_path / "jobs.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    assert run(trace=path).jobs["finish_s"].tolist() == [10, 15]
    path.write_text("job,gpus")
    with pytest.raises(fairlead.InputError, match="jobs.parquet"):
        run(trace=path)


def test_figures_of_runs():
    pytest.importorskip("matplotlib").use("Agg")
    from fairlead import plot

    made = fairlead.compare(CLUSTER, drawn(), ["fifo", "las"], costs="none", progress=False)
    axes = plot.cdf(made)
    assert [line.get_label() for line in axes.lines] == ["fifo", "las"]
    hours, fractions = axes.lines[0].get_data()
    assert fractions[-1] == 1 and hours[-1] == pytest.approx(np.nanmax(made["fifo"].jobs["jct_s"]) / 3600)
    bands = plot.shares(made["fifo"], users=2)
    assert [text.get_text() for text in bands.get_legend().get_texts()][-1] == "3 others"
    with pytest.raises(fairlead.InputError, match="jct_s or queue_s"):
        plot.cdf(made, "gpus")


def test_compare_and_sweep():
    made = fairlead.compare(CLUSTER, drawn(), ["fifo", "las", Fifo2()], costs="none", progress=False)
    assert list(made) == ["fifo", "las", "mine"]
    assert made["fifo"].jobs["finish_s"].tolist() == made["mine"].jobs["finish_s"].tolist()
    assert made.rows[0]["run"] == "fifo"
    assert "<table>" in made._repr_html_()
    points = fairlead.sweep(CLUSTER, drawn(), "las", {"quantum_s": [60, 600]}, progress=False)
    assert list(points) == ["las:quantum_s=60", "las:quantum_s=600"]


def test_a_saved_queue_has_a_forecast_under_each_policy(tmp_path):
    (tmp_path / "cluster.yaml").write_text("name: lab\nracks:\n  - nodes:\n      - {name: a, gpu_type: V100, gpus: 4}\n")
    (tmp_path / "queue.csv").write_text("job,gpus,submit_s,duration_s\nlong,4,0,100\nshort,4,0,1\n")
    forecast = fairlead.what_if(tmp_path, ["fifo", "sjf"], costs="none")
    assert forecast["fifo"].jobs["finish_s"].tolist() == [100, 101]
    assert forecast["sjf"].jobs["finish_s"].tolist() == [101, 1]


def test_why_replay_bounds_report_and_files(tmp_path):
    made = run()
    assert "b" in str(made.why("b"))
    assert made.why()
    assert fairlead.replay(made, "smallest")
    assert fairlead.bounds("1xV100:4", ROWS, costs="none")["makespan_lower_s"] == pytest.approx(15)
    made.save(tmp_path / "out")
    assert (tmp_path / "out" / "jobs.csv").read_text().startswith("job,user,model,gpus")
    report = made.report()
    assert "<html" in report.html and "<iframe" in report._repr_html_()


# Policies in Python.


class Fifo2(Fifo):
    name = "mine"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policy", [Fifo, Las])
def test_a_policy_in_python_equals_ours_to_the_byte(policy, seed):
    jobs = drawn(seed=seed)
    ours = fairlead.simulate("8xV100:4", jobs, policy.name)
    mine = policy()
    mine.options = ours.summary["options"]
    theirs = fairlead.simulate("8xV100:4", jobs, mine)
    assert theirs.events["event"] == ours.events["event"]
    assert theirs.journal_hash == ours.journal_hash


def test_columns_are_read_only_and_outlive_their_call():
    class Keeps(fairlead.Policy):
        def decide(self, view, plan):
            self.view, self.plan, self.gpus = view, plan, view.gpus
            with pytest.raises(ValueError, match="read-only"):
                view.gpus[0] = 7
            for job in view.waiting.tolist():
                plan.place(job)

    policy = Keeps()
    run(policy)
    gc.collect()
    assert policy.gpus.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="this view has expired"):
        policy.view.now_s
    with pytest.raises(RuntimeError, match="this plan has expired"):
        policy.plan.place(0)


def test_speeds_and_work_as_far_as_asked_for():
    class Asks(fairlead.Policy):
        needs_speeds, needs_work = True, True

        def decide(self, view, plan):
            for job in view.waiting.tolist():
                self.seen = (view.speed(job, 0, 4), view.remaining_s(job), view.gpu_types)
                plan.place(job)

    policy = Asks()
    run(policy)
    assert policy.seen == (1.0, 5.0, ["V100"])


def deciding(act):
    class Does(fairlead.Policy):
        def decide(self, view, plan):
            act(view, plan)

    return Does()


# Common mistakes in notebooks: each raises an exception with the cause.

MISTAKES = {
    "no such column": (lambda: run(trace=[{**ROWS[0], "gpu": 1}]), fairlead.InputError, "no such column: gpu .did you mean gpus"),
    "a column is missing": (lambda: run(trace=[{"job": "a", "gpus": 1, "submit_s": 0}]), fairlead.InputError, "duration_s is missing"),
    "a text for a number": (lambda: run(trace=[{**ROWS[0], "gpus": "4"}]), fairlead.InputError, "gpus, row 0: expected a number, got '4'"),
    "half a GPU": (lambda: run(trace=[{**ROWS[0], "gpus": 0.5}]), fairlead.InputError, "gpus, row 0: expected a whole number"),
    "not a number": (lambda: run(trace=[{**ROWS[0], "duration_s": float("nan")}]), fairlead.InputError, "duration_s, row 0: a value is missing"),
    "infinity": (lambda: run(trace=[{**ROWS[0], "submit_s": float("inf")}]), fairlead.InputError, "a finite number"),
    "a negative duration": (lambda: run(trace=[{**ROWS[0], "duration_s": -1}]), fairlead.InputError, "duration must be"),
    "columns of different lengths": (lambda: run(trace={"job": ["a"], "gpus": [1, 2]}), fairlead.InputError, "different lengths"),
    "no jobs": (lambda: run(trace=[]), fairlead.InputError, "no job"),
    "no such file": (lambda: run(trace="no/such.csv"), fairlead.InputError, "no/such.csv"),
    "no such cluster": (lambda: run(cluster="sildes"), fairlead.InputError, "sildes"),
    "no such policy": (lambda: run("fiffo"), fairlead.InputError, "fiffo"),
    "no such setting": (lambda: run(cost="none"), fairlead.InputError, "cost"),
    "a list for a setting": (lambda: run(speeds=["measured"]), fairlead.InputError, "a text or a number"),
    "the class, not an object": (lambda: run(Fifo), fairlead.InputError, r"Fifo\(\)"),
    "one policy for a list": (lambda: fairlead.compare("1xV100:4", ROWS, "fifo"), fairlead.InputError, "expected a list"),
    "no decide": (lambda: run(fairlead.Policy()), NotImplementedError, "decide"),
    "an error in decide": (lambda: run(deciding(lambda view, plan: 1 / 0)), ZeroDivisionError, "division"),
    "a job that is not there": (lambda: run(deciding(lambda view, plan: plan.place(99))), IndexError, "no such job in this run: 99"),
    "a negative row": (lambda: run(deciding(lambda view, plan: plan.place(-1))), IndexError, "no such job in this run: -1"),
    "GPUs that are not free": (lambda: run(deciding(lambda view, plan: (plan.place_on(0, [(0, 3), (0, 3)]))), ),
                               ValueError, "asks for 4"),
    "an unknown cause": (lambda: run(deciding(lambda view, plan: (plan.place(0), plan.stop(0, "whim")))), ValueError, "cause whim is none of policy, turn"),
    "stopping what waits": (lambda: run(deciding(lambda view, plan: plan.stop(0))), ValueError, "has no GPUs"),
    "waking in the past": (lambda: run(deciding(lambda view, plan: plan.wake_at_s(0))), ValueError, "not after now"),
    "a placement that is none": (lambda: run(deciding(lambda view, plan: plan.place(0, "best"))), ValueError, "placement must be one of"),
    "standing still": (lambda: run(deciding(lambda view, plan: plan.wake_at_s(view.now_s + 1))), fairlead.RunError, "standstill"),
    "a Trace for an executor": (lambda: fairlead.compare(CLUSTER, fairlead.trace(ROWS), ["fifo"], executor=ThreadPoolExecutor()),
                                fairlead.InputError, "cannot be sent to an executor"),
    "a folder without results": (lambda: fairlead.load("no/such"), fairlead.InputError, "no results of a run"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_an_exception_that_says_what_is_wrong(name):
    act, kind, says = MISTAKES[name]
    with pytest.raises(kind, match=says):
        act()
    assert run().summary["jct_avg_s"] == 12  # the interpreter still works


def test_dates_are_refused_with_the_remedy():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    frame["submit_s"] = pandas.to_datetime(["2026-01-01 00:00+02:00", "2026-01-01 00:01+02:00"])
    with pytest.raises(fairlead.InputError, match="expected seconds, got a date.*total_seconds"):
        run(trace=frame)


def test_ctrl_c_ends_a_run_of_a_built_in_policy():
    script = """
import signal, threading, fairlead
jobs = fairlead.workloads.generate(200000, capacity_gpus=256, load=1.0)
threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
try:
    fairlead.simulate("64xV100:4", jobs, "las:quantum_s=1")
except KeyboardInterrupt:
    print("ended")
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60).stdout == "ended\n"


@pytest.fixture
def heeds_ctrl_c():
    """Restores the handler of a terminal: in the background of a shell the signal is ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_in_decide_ends_the_run(heeds_ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        run(deciding(lambda view, plan: signal.raise_signal(signal.SIGINT)))


def test_threads_run_side_by_side():
    expected, found = run(trace=drawn()).journal_hash, []
    threads = [threading.Thread(target=lambda: found.append(run(trace=drawn()).journal_hash)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_fork_has_its_own_runs():
    expected = run().journal_hash
    child = os.fork()
    if child == 0:
        os._exit(0 if run(Fifo2()).jobs["finish_s"].tolist() == [10, 15] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert run().journal_hash == expected


def test_many_runs_leak_nothing():
    def some(count):
        for i in range(count):
            run(Fifo() if i % 2 else "fifo").jobs["finish_s"]
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    runs = int(os.environ.get("FAIRLEAD_LEAK_RUNS", "1000"))
    before = some(300)
    assert some(runs) - before < 4096  # KiB
    assert not list(pathlib.Path("/tmp").glob(f"fairlead-*/{os.getpid()}"))


def test_the_command_line_takes_policies_in_python(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("job,gpus,submit_s,duration_s\na,4,0,10\nb,4,1,5\n")
    policies = pathlib.Path(__file__).with_name("policies.py")
    done = subprocess.run([sys.executable, "-m", "fairlead", "compare", "--cluster", "1xV100:4", "--trace", str(trace),
                           "--policies", f"smallest;{policies}:Las", "--set", "costs=none"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "smallest" in done.stdout and "las" in done.stdout
    help_ = subprocess.run([sys.executable, "-m", "fairlead", "--version"], capture_output=True, text=True, timeout=60)
    assert help_.stdout.split()[:2] == ["fairlead", fairlead.__version__]  # and the commit, in a package


def test_an_environment_for_agents():
    pytest.importorskip("gymnasium")
    from fairlead.gym import SchedulingEnv

    env = SchedulingEnv("1xV100:4", ROWS, slots=2, costs="none")
    for _ in range(2):
        env.reset()
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(0)
            total += reward
    assert info["run"].jobs["finish_s"].tolist() == [10, 15]
    assert total * 3600 == pytest.approx(-(10 + 14), abs=1e-3)
    env.reset()
    env.close()
