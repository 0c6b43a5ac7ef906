"""The one part of the package that is compiled, if there is a compiler.

``nanwise.nn.holes.compiled`` says what it is for; without it torch computes the same.
All else is in pyproject.toml.
"""

from setuptools import Extension, setup

HOLES = "src/nanwise/nn/holes"

setup(
    ext_modules=[
        Extension(
            "nanwise.nn.holes._windows",
            [f"{HOLES}/_windows.c"],
            depends=[f"{HOLES}/_windows_lanes.h"],
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp"],
            extra_link_args=["-fopenmp"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
