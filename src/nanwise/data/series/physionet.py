"""PhysioNet Challenge 2012: the first 48 hours of 12,000 stays in intensive care."""

from __future__ import annotations

import csv
import io
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.data.fetch import File, cache_folder, locate
from nanwise.data.series.cache import checksum, keep, kept
from nanwise.data.series.core import SeriesData
from nanwise.errors import DataError

HOME = "https://physionet.org/content/challenge-2012/1.0.0/"
SPLITS = ("a", "b", "c")
#: the 35 examinations of Yi et al. (2020) and of BRITS: all that are measured over time but weight
#: and mechanical ventilation
# fmt: off
VARIABLES = (
    "ALP", "ALT", "AST", "Albumin", "BUN", "Bilirubin", "Cholesterol",
    "Creatinine", "DiasABP", "FiO2", "GCS", "Glucose", "HCO3", "HCT",
    "HR", "K", "Lactate", "MAP", "Mg", "NIDiasABP", "NIMAP",
    "NISysABP", "Na", "PaCO2", "PaO2", "Platelets", "RespRate", "SaO2",
    "SysABP", "Temp", "TroponinI", "TroponinT", "Urine", "WBC", "pH",
)
# fmt: on
STATICS = ("Age", "Gender", "Height", "ICUType", "Weight")
MINUTES = 48 * 60
#: raised whenever the reader reads something else out of the same files
VERSION = 2
_PLACE = {name: number for number, name in enumerate(VARIABLES)}
_OUTCOME = "In-hospital_death"


def load_physionet2012(split: str = "a", steps: int = 288) -> SeriesData:
    """One of the three official sets of 4000 stays, with in-hospital death as the target.

    Looked for in ``$NANWISE_DATA`` and the cache as ``physionet2012/set-a.tar.gz`` and
    ``physionet2012/Outcomes-a.txt``; nothing is downloaded. What was parsed once is kept in the
    cache folder under a name with the checksum of these files.

    Parameters
    ----------
    split : {"a", "b", "c"}
    steps : int, default=288
        Into how many steps the 48 hours are cut; 288 are ten minutes each, 48 an hour each.

    Returns
    -------
    SeriesData
        ``X`` float32 (4000, steps, 35), ``y`` 1 for death in hospital, ``statics`` age, gender,
        height, type of the unit and first known weight. Records in the order of their numbers.

    Notes
    -----
    Of several values of a variable within a step the last counts. A value at 48:00 belongs to the
    last step. Values below 0 (pressures and statics of -1, temperatures of -17.8, which is 0 °F)
    stand for "not known" and are missing; so is a gender that is neither 0 nor 1 and a height or
    weight of 0 or less. Lines without the name of a parameter are left out. ``notes`` counts all
    these.

    Nothing else is repaired: among others there are values of pH that lack the decimal point (735
    for 7.35), pressures and rates of 0, and temperatures below 30. They stand in the data as they
    do in the files and widen the standard deviation of their variable.

    References
    ----------
    Silva, Moody, Scott, Celi, Mark (2012). Predicting in-hospital mortality of ICU patients: the
    PhysioNet/Computing in Cardiology Challenge 2012. Computing in Cardiology 39.
    """
    if split not in SPLITS:
        raise DataError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if steps < 1 or steps > MINUTES:
        raise DataError(f"steps must be between 1 and {MINUTES}, one per minute; got {steps}")
    names = (f"set-{split}.tar.gz", f"Outcomes-{split}.txt")
    paths = [locate(File(f"physionet2012/{name}"), "physionet2012", HOME) for name in names]
    known = cache_folder() / "physionet2012" / f"set-{split}-v{VERSION}-{checksum(paths)}"
    found = kept(known)
    if found is None:
        found = _parse(*paths)
        keep(known, found)
    return _in_steps(found, steps)


def _in_steps(found: dict[str, np.ndarray], steps: int) -> SeriesData:
    n = len(found["ids"])
    X = np.full((n, steps, len(VARIABLES)), np.nan, dtype=np.float32)
    step = np.minimum(found["minute"].astype(np.int64) * steps // MINUTES, steps - 1)
    # of equal places the last one stays: the latest, of one minute the later line
    order = np.lexsort((found["minute"], found["record"]))
    X[found["record"][order], step[order], found["variable"][order]] = found["value"][order]
    return SeriesData(
        X,
        found["ids"],
        list(VARIABLES),
        y=found["y"],
        statics=found["statics"],
        static_names=list(STATICS),
        notes=_notes(*found["left_out"].tolist()),
    )


def _notes(nameless: int, negative: int, unknown: int, statics: int) -> list[str]:
    told = {
        "lines without the name of a parameter were left out": nameless,
        "values below 0 are missing": negative,
        "values of parameters that are not among the official ones were left out": unknown,
        "values of statics that cannot be (-1 for not known, most of them) are missing": statics,
    }
    return [f"{count:,} {words}" for words, count in told.items() if count]


# -- files -----------------------------------------------------------------------------------------


def _parse(archive: Path, outcomes: Path) -> dict[str, np.ndarray]:
    """Events of all records as flat arrays, sorted by record."""
    deaths = _deaths(outcomes)
    try:
        records = dict(sorted(_records(archive)))
    except (tarfile.TarError, zlib.error, EOFError, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{archive} is damaged ({error}); get it again") from error
    strange = sorted(set(records) ^ set(deaths))
    if strange or not records:
        which = f"record {strange[0]} is in one of them only" if strange else "there is no record"
        raise DataError(f"{archive} and {outcomes} do not belong together: {which}")
    reader = _Reader()
    for number, (record, text) in enumerate(records.items()):
        reader.read(number, text, f"{archive.name}: {record}.txt")
    ids = np.array(list(records), dtype=np.int64)
    return reader.arrays() | {"ids": ids, "y": np.array([deaths[i] for i in records])}


def _records(archive: Path) -> Iterator[tuple[int, str]]:
    with tarfile.open(archive, "r:gz") as opened:
        for member in opened:
            file = opened.extractfile(member) if member.isfile() else None
            stem = Path(member.name).stem
            if file is not None and stem.isdigit():
                yield int(stem), file.read().decode("ascii")


def _deaths(path: Path) -> dict[int, int]:
    try:
        with path.open(encoding="ascii", newline="") as file:
            return {int(row["RecordID"]): int(row[_OUTCOME]) for row in csv.DictReader(file)}
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{path} is not a table of outcomes with RecordID and {_OUTCOME}: {error}"
        ) from error


class _Reader:
    """Gathers the events of one record after the other."""

    def __init__(self) -> None:
        self.events: list[tuple[int, int, int, float]] = []
        self.statics: list[list[float]] = []
        self.nameless = self.negative = self.unknown = self.impossible = 0

    def read(self, number: int, text: str, where: str) -> None:
        """The lines ``time,parameter,value`` of one record."""
        known: dict[str, float] = {}
        for line, fields in enumerate(csv.reader(io.StringIO(text)), 1):
            if line == 1:
                continue
            try:
                clock, name, cell = fields
                hours, minutes = clock.split(":")
                self._add(number, 60 * int(hours) + int(minutes), name, float(cell), known)
            except ValueError as error:
                raise DataError(
                    f"{where}, line {line}: expected hh:mm (up to 48:00),parameter,number, got "
                    f"{','.join(fields)!r}"
                ) from error
        self.statics.append([known.get(name, np.nan) for name in STATICS])

    def _add(
        self, number: int, minute: int, name: str, value: float, known: dict[str, float]
    ) -> None:
        if not 0 <= minute <= MINUTES:
            raise ValueError("outside of the 48 hours")
        place = _PLACE.get(name)
        if place is not None:
            if value >= 0:
                self.events.append((number, minute, place, value))
            else:
                self.negative += 1
        elif name in STATICS:
            if value > 0 if name != "Gender" else value in (0, 1):
                known.setdefault(name, value)
            else:
                self.impossible += 1
        elif not name:
            self.nameless += 1
        elif name not in ("RecordID", "MechVent"):
            self.unknown += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything read, as plain arrays."""
        kinds: dict[str, Any] = {
            "record": np.int16,
            "minute": np.int16,
            "variable": np.int8,
            "value": np.float32,
        }
        columns = zip(*self.events, strict=True) if self.events else ((),) * len(kinds)
        out = {
            name: np.array(column, dtype=kind)
            for (name, kind), column in zip(kinds.items(), columns, strict=True)
        }
        out["statics"] = np.array(self.statics, dtype=np.float64)
        out["left_out"] = np.array([self.nameless, self.negative, self.unknown, self.impossible])
        return out
