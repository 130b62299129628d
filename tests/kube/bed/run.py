"""Fairlead on a real API server: `./dev kube` (see its --help)."""

import argparse
import json
import pathlib
import sys
import time
import traceback

from api import Failed, Gone
from bed import Settings
from control_plane import Unavailable, is_built, say

SKIPPED = 77


def all_scenarios():
    """By the names that users give."""
    import claims
    import faults
    import queues
    import scenarios
    return {one.__name__.replace("_", "-"): one for file in (scenarios, claims, faults, queues) for one in file.SCENARIOS}


def parse():
    told = "\n".join(f"  {name:24}{scenario.__doc__.splitlines()[0]}" for name, scenario in all_scenarios().items())
    parser = argparse.ArgumentParser(prog="./dev kube", formatter_class=argparse.RawDescriptionHelpFormatter, description=(
        "Runs Fairlead on a real API server, with kubelets and training that are played by fairlead-fakelet.\n"
        "The control plane is built from Go modules once, in minutes."), epilog=(
        f"scenarios (all of them where none is named):\n{told}\n\nmeasurements:\n"
        "  side-by-side            kube-scheduler, its gang API and fairlead on the same job lists\n"
        "  against-simulator       the same trace through the bed and through fairlead simulate\n"
        "  scale                   a thousand nodes and five thousand pods\n"
        "  trades                  users who trade by measured speeds, and the same without agents\n"))
    parser.add_argument("programs", help=argparse.SUPPRESS, type=pathlib.Path)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--json", type=pathlib.Path, help="writes what was measured there, too")
    parser.add_argument("--if-built", action="store_true", help="skip (exit 77) rather than build the control plane")
    parser.add_argument("--seeds", type=int, default=5, help="of side-by-side (default: %(default)s)")
    return parser.parse_intermixed_args()  # options may stand before and after the names


def measurement(name, flags):
    """Returns the measurement of that name, as a function; None: there is no such name."""
    if name == "side-by-side":
        from side_by_side import side_by_side
        return lambda: side_by_side(flags.seeds)
    if name == "against-simulator":
        from against_simulator import against_simulator
        return against_simulator
    if name == "scale":
        from scale import scale
        return scale
    if name == "trades":
        from trades import trades
        return trades
    return all_scenarios().get(name)


def main():
    flags = parse()
    Settings.programs = flags.programs
    if flags.if_built and not all(map(is_built, ("etcd", "kube-apiserver", "kube-controller-manager"))):
        say("the control plane is not built: ./dev kube builds it")
        return SKIPPED
    names = flags.scenarios or list(all_scenarios())
    unknown = [name for name in names if measurement(name, flags) is None]
    if unknown:
        say(f"no such scenario (see ./dev kube --help): {' '.join(unknown)}")
        return 2
    found, failed = {}, []
    for name in names:
        start = time.monotonic()
        try:
            found[name] = measurement(name, flags)()
            print(f"{name}: {json.dumps(found[name])} ({time.monotonic() - start:.0f} s)", flush=True)
        except Unavailable as why:
            say(why)
            return SKIPPED
        except (AssertionError, Failed, Gone):
            failed.append(name)
            print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
    if flags.json:
        flags.json.write_text(json.dumps(found, indent=1) + "\n")
    if failed:
        say(f"failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
