"""Checks that the notebooks of the docs run to their end."""

import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("matplotlib")
    nbclient.NotebookClient(nbformat.read(path, 4), timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
