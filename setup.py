"""The one part of the package that is compiled, if there is a compiler.

``nanwise.nn.holes.compiled`` says what it is for; without it torch computes the same.
All else is in pyproject.toml.
"""

import sysconfig

from setuptools import Extension, setup

HOLES = "src/nanwise/nn/holes"
EXTENSION = Extension(
    "nanwise.nn.holes._windows",
    [f"{HOLES}/_windows.c"],
    depends=[f"{HOLES}/_windows_lanes.h"],
    extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp"],
    extra_link_args=["-fopenmp"],
    py_limited_api=True,
    optional=True,
)

if sysconfig.get_config_var("Py_GIL_DISABLED"):  # Python without its lock has no stable ABI
    setup()
else:
    setup(ext_modules=[EXTENSION], options={"bdist_wheel": {"py_limited_api": "cp311"}})
