"""Series: long tables (id, time, variable, value) and the PhysioNet Challenge 2012."""

from nanwise.data.series.core import SeriesData
from nanwise.data.series.long import read_series
from nanwise.data.series.outcomes import with_outcomes
from nanwise.data.series.physionet import load_physionet2012

__all__ = ["SeriesData", "load_physionet2012", "read_series", "with_outcomes"]
