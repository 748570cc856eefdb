"""The only writers of what drives of tape do: mounted tapes, and bytes read, passed on, held and given up."""

from simgrid_broker.world.world import World


def mount(world: World, storage: int) -> None:
    """Let a drive of an endpoint of tape take up a dataset."""
    world.arrays.storages["mounted"][storage] += 1


def unmount(world: World, storage: int) -> None:
    """Give a drive back."""
    world.arrays.storages["mounted"][storage] -= 1


def read_from_tape(world: World, storage: int, size: float) -> None:
    """Count bytes that a drive has read, which it holds until they are passed on or given up."""
    for name in ("read_bytes", "held_bytes"):
        world.arrays.storages[name][storage] += size


def let_go(world: World, storage: int, size: float, passed: bool) -> None:
    """Count bytes that a drive holds no longer: passed on to a disk or a link, or given up."""
    world.arrays.storages["held_bytes"][storage] -= size
    world.arrays.storages["passed_bytes" if passed else "dropped_bytes"][storage] += size
