"""Algorithms in Python by the names that schemes have for them, here and in other processes."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING

from incast._core import (
    Algorithm,
    AlgorithmError,
    IncastError,
    ParameterError,
    algorithms,
    know_algorithm,
)
from incast.api import compiled, plugins, trees
from incast.api.control import CongestionControl, OwnControl, declared
from incast.base import engine, schemes
from incast.base.lazy import lazy
from incast.base.words import nearest

if TYPE_CHECKING:
    import cloudpickle
else:
    cloudpickle = lazy("cloudpickle")


@dataclass(frozen=True)
class _Guest:
    """An algorithm in Python, or of a package, that the core knows."""

    of: type[OwnControl] | None
    """None of a package's."""
    algorithm: Algorithm


_known: dict[str, _Guest] = {}
_parcels: dict[str, bytes] = {}
"""The classes and packages that came from another process, as they came."""

# The mark of an algorithm of a package: the platform and the digest come after it.
_PACKAGE = b"package "


class OtherPackageError(IncastError):
    """A worker without the package of an algorithm that the client has, or with another build."""


def name_of(of: type[OwnControl]) -> str:
    """The name of a class in schemes: that which it gives itself, or else `module:Class`."""
    return of.name or f"{of.__module__}:{of.__qualname__.rpartition('.')[2]}"


def label_of(scheme: str) -> str:
    """The scheme as people read it, where it is of a class: without its module."""
    guest = _known.get(schemes.parts(scheme).plain)
    return scheme if guest is None or not guest.of or guest.of.name else scheme.partition(":")[2]


def scheme_of(cc: OwnControl | type[OwnControl]) -> str:
    """The scheme of a class or an object, made known to the core: `module:Class[t_low=40us]`.

    Raises:
        ParameterError: The class has a name that is taken, or a property with an unknown word.
    """
    of = cc if isinstance(cc, type) else type(cc)
    _make_known(of)
    settings = {} if isinstance(cc, type) else cc.settings
    inside = ",".join(f"{name}={value}" for name, value in settings.items())
    return f"{name_of(of)}[{inside}]" if inside else name_of(of)


def found(scheme: str) -> str:
    """The scheme, after the algorithm that it names, if any, was made known to the core.

    The algorithm is a class, here or in an installed package.

    Raises:
        AlgorithmError: The module raised an exception, which is the cause.
        ParameterError: There is no such module, or it has no such class.
    """
    of = schemes.parts(scheme)
    if trees.is_one(of.plain):
        trees.know(of.plain)
        return scheme
    if of.plain in _known or of.algorithm in _built_in():
        return scheme
    if not of.preset:
        if of.plain in plugins.names():
            _known[of.plain] = _Guest(None, plugins.know(of.plain))
        return scheme
    cls = _imported(of.algorithm, of.preset)
    _make_known(cls)
    return name_of(cls) + scheme[len(of.plain) :]


def described(name: str) -> Algorithm | None:
    """The description of the class of that name; None of anything else.

    Raises:
        AlgorithmError: The module raised an exception, which is the cause.
        ParameterError: There is no such module, or it has no such class.
    """
    if trees.is_one(name):
        return trees.know(name)
    guest = _known.get(found(name))
    return None if guest is None else guest.algorithm


def installed() -> list[Algorithm]:
    """The algorithms of installed packages.

    Raises:
        AlgorithmError: The module of one raised an exception, which is the cause.
        ParameterError: One was built for another version.
    """
    return [_known[found(name)].algorithm for name in plugins.names()]


def parcel(chosen: Iterable[str]) -> dict[str, bytes]:
    """The classes among some schemes, by their names, for `receive` in another process.

    A class travels with the module that it is in; modules that this imports must be there. So must
    packages with algorithms, of which their digest travels.
    """
    packed: dict[str, bytes] = {}
    for scheme in chosen:
        name = schemes.parts(scheme).plain
        if trees.is_one(name):
            packed[name] = trees.content(name)
        if name in _known and name not in packed:
            of = _known[name].of
            packed[name] = _package(name) if of is None else _packed(of)
    return packed


def receive(classes: Mapping[str, bytes]) -> None:
    """Makes classes known that came from another process.

    Raises:
        AlgorithmError: A module raised an exception, which is the cause.
        OtherPackageError: The package of an algorithm is another one here, or not there.
    """
    for name, content in classes.items():
        if trees.is_one(name):
            trees.receive(name, content)
        elif _parcels.get(name) != content:
            if content.startswith(_PACKAGE):
                _check_package(name, content)
            else:
                _make_known(cloudpickle.loads(content))
            _parcels[name] = content


def digest_of(scheme: str) -> str:
    """A digest of the module that a scheme is of; empty for algorithms of this project.

    Of a class that was typed into an interpreter it is one of the compiled methods.
    """
    name = schemes.parts(scheme).plain
    if trees.is_one(name):
        return hashlib.sha256(trees.content(name)).hexdigest()
    guest = _known.get(name)
    if guest is None:
        return ""
    if guest.of is None:
        return plugins.digest_of(guest.algorithm.name)
    try:
        text = inspect.getsource(sys.modules[guest.of.__module__]).encode()
    except (OSError, TypeError, KeyError):
        text = _packed(guest.of)
    return hashlib.sha256(text).hexdigest()


def _package(name: str) -> bytes:
    """The platform and the digest of a package, in place of its algorithm."""
    platform = engine.own().platform.encode()
    return _PACKAGE + platform + b" " + plugins.digest_of(name).encode()


def _check_package(name: str, content: bytes) -> None:
    """Makes sure that the algorithm of a package is the client's.

    Builds for another processor cannot have its digest, and are not compared.

    Raises:
        AlgorithmError: The module raised an exception, which is the cause.
        OtherPackageError: It is another one, or not there.
    """
    found(name)
    if name not in _known:
        raise OtherPackageError(
            f"{name}: a worker has no package with this algorithm: install the same on the workers "
            "as here"
        )
    mine = _package(name)
    if mine != content and mine.rpartition(b" ")[0] == content.rpartition(b" ")[0]:
        raise OtherPackageError(
            f"{name}: a worker has another build of its package: install the same on the workers "
            "as here"
        )


def _packed(of: type[OwnControl]) -> bytes:
    module = sys.modules.get(of.__module__)
    if module is None or of.__module__ == "__main__":
        return bytes(cloudpickle.dumps(of))
    cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(of))
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _built_in() -> list[str]:
    return [algorithm.name for algorithm in algorithms()]


def _make_known(of: type[OwnControl]) -> None:
    name = name_of(of)
    if name in _known and _known[name].of is of:
        return
    lines = (of.__doc__ or "").strip().splitlines()
    about = {
        "name": name,
        "summary": of.summary or (lines[0].rstrip(".") if lines else of.__name__),
        "kind": of.kind,
        "signal": of.signal,
        "needs": " ".join(of.needs),
        "transport": of.transport,
        "source": of.source or f"{of.__module__}.{of.__qualname__}",
    }
    parameters = [one.known for one in declared(of).values()]
    if issubclass(of, compiled.CompiledControl):
        algorithm = compiled.know(of, about, parameters)
    else:
        algorithm = know_algorithm(of(), about, parameters, set(_overridden(of)), set(of.reads))
    _known[name] = _Guest(of, algorithm)


def _overridden(of: type[OwnControl]) -> Iterator[str]:
    for name, method in vars(CongestionControl).items():
        if isinstance(method, FunctionType) and getattr(of, name) is not method:
            yield name


def _imported(module: str, name: str) -> type[OwnControl]:
    place = f"{module}:{name}"
    if not all(part.isprintable() and part for part in module.split(".")):
        raise ParameterError(
            f"{place}: {module!r} names neither an algorithm nor a module; expected such as "
            "timely:zhu, or my_module:MyControl of a class"
        )
    try:
        cls = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(place, error) from error
        raise ParameterError(
            f"{place}: there is no algorithm {module} with presets, nor a module {error.name} that "
            f"has a class; {nearest(module, _built_in())}"
        ) from None
    except Exception as error:
        raise _broken(place, error) from error
    if not (isinstance(cls, type) and issubclass(cls, OwnControl)):
        raise ParameterError(
            f"{place}: {module} has no class {name} that is derived from "
            "incast.CongestionControl or incast.CompiledControl"
        )
    return cls


def _broken(place: str, error: Exception) -> AlgorithmError:
    return AlgorithmError(
        f"{place}: the module cannot be imported: {type(error).__name__}: {error}"
    )
