import subprocess
import sys


def test_the_package_loads_neither_pandas_nor_torch():
    code = (
        "import sys, nanwise.data, nanwise.data.sets, nanwise.data.table, nanwise.data.schema, "
        "nanwise.data.ampute, nanwise.data.fetch; "
        "nanwise.data.sets.known_datasets(); "
        "nanwise.data.ampute.ampute([[1.0, 2.0]], 0.5, random_state=0); "
        "print([m for m in ('pandas', 'torch', 'pooch', 'polars') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
