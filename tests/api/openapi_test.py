#!/usr/bin/env python3
"""The dashboard of deploy/grafana asks for metrics that exist; docs/openapi.yaml is whole, and its paths are the paths that fairlead/serve and fairlead/live answer."""

import json
import pathlib
import re
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPEC = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text())
SERVER = "".join(path.read_text() for module in ("serve", "live")
                 for path in sorted((ROOT / "fairlead" / module).glob("*.cc")) if "_test" not in path.name)
VERBS = {"get", "put", "post"}


def pieces(path):
    """The fixed parts of a path: "/v1/jobs/" and "/why" of "/v1/jobs/{id}/why"."""
    return [piece for piece in re.split(r"\{\w+\}", path) if piece]


def nodes(tree):
    yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(child)


def operations():
    for path, item in SPEC["paths"].items():
        for verb in VERBS & item.keys():
            yield path, verb, item[verb], item.get("parameters", [])


class OpenApi(unittest.TestCase):
    def resolve(self, reference):
        found = SPEC
        for key in reference.removeprefix("#/").split("/"):
            self.assertIn(key, found, reference)
            found = found[key]
        return found

    def test_what_it_refers_to_is_there(self):
        references = [node["$ref"] for node in nodes(SPEC) if isinstance(node, dict) and "$ref" in node]
        self.assertGreater(len(references), 40)
        for reference in references:
            self.resolve(reference)
        references += [f"#/components/securitySchemes/{name}" for each in SPEC["security"] for name in each]
        for group, names in SPEC["components"].items():
            for name in names:
                self.assertIn(f"#/components/{group}/{name}", references)

    def test_every_operation_is_named_and_says_what_it_answers(self):
        names = [operation["operationId"] for _, _, operation, _ in operations()]
        self.assertEqual(len(names), len(set(names)))
        for path, verb, operation, parameters in operations():
            self.assertTrue({"200", "201"} & operation["responses"].keys(), f"{verb} {path}")
            named = [self.resolve(each["$ref"]) if "$ref" in each else each for each in parameters]
            self.assertEqual(re.findall(r"\{(\w+)\}", path), [each["name"] for each in named], path)

    def test_what_is_required_is_described(self):
        for node in nodes(SPEC):
            if isinstance(node, dict) and isinstance(node.get("required"), list):
                self.assertLessEqual(set(node["required"]), node["properties"].keys())

    def test_the_server_answers_every_path(self):
        for path in SPEC["paths"]:
            for piece in pieces(path):
                self.assertTrue(f'"{piece}"' in SERVER, f"{path} is not in fairlead/serve or fairlead/live")

    def test_every_path_of_the_server_is_described(self):
        described = {piece for path in SPEC["paths"] for piece in pieces(path)}
        answered = set(re.findall(r'"(/[a-z0-9/]*)"', SERVER))
        self.assertGreater(len(answered), 5)
        self.assertLessEqual(answered, described | {"/"})

    def test_the_server_writes_the_fields_of_its_schemas(self):
        views = (ROOT / "fairlead/live/views.cc").read_text()
        extras = (ROOT / "fairlead/model/job_asks.h").read_text()  # JobExtras: views.cc writes each
        for schema in ("Job", "User", "Gpu", "Cluster", "Reservation", "Model"):
            for field in SPEC["components"]["schemas"][schema]["properties"]:
                self.assertTrue(f'{{"{field}", ' in views or f'("{field}", ' in extras,
                                f"{field} of {schema} is not in views.cc")

    def test_the_dashboard_asks_for_metrics_that_exist(self):
        dashboard = json.loads((ROOT / "deploy/grafana/fairlead.json").read_text())
        text = "".join(node["expr"] for node in nodes(dashboard) if isinstance(node, dict) and "expr" in node)
        asked = set(re.findall(r"fairlead_(\w+)", text))
        self.assertGreater(len(asked), 5)
        self.assertLessEqual(asked, set(re.findall(r'family\("(\w+)"', SERVER)))


if __name__ == "__main__":
    unittest.main()
