"""Software and hardware of queues as CRIC publishes them and as worker nodes report them.

Source: formats reference, section 6; brokerage reference, section 5.
"""

from typing import Literal

from pydantic import Field

from simgrid_broker.schema.part import Megabytes, Part


class Hardware(Part):
    """CPUs or GPUs of a queue; in lists `any` is any and `excl` refuses tasks that ask for none of the others."""

    type: Literal["cpu", "gpu"] = Field(description="What it describes")
    arch: tuple[str, ...] | None = Field(None, description="Architectures of CPUs")
    instr: tuple[str, ...] | None = Field(None, description="Instruction sets of CPUs")
    vendor: tuple[str, ...] | None = Field(None, description="Vendors")
    model: tuple[str, ...] | None = Field(None, description="Models of GPUs; what worker nodes report counts instead")
    version: str | tuple[str, ...] | None = Field(None, description="CUDA of GPUs; what worker nodes report counts "
                                                  "instead")


class InstalledRelease(Part):
    """A release or container that is installed."""

    project: str = Field("", description="Project, such as Athena")
    release: str = Field("", description="Version, such as 21.0.38")
    cmtconfig: str = Field("", description="Platform")
    container_name: str = Field("", description="Container")
    sources: tuple[str, ...] = Field((), description="Where images of the container lie")
    tag: str = Field("", description="Name in CRIC, for the reader only")


class PublishedSoftware(Part):
    """What CRIC publishes for a queue with releases AUTO."""

    cmtconfigs: tuple[str, ...] = Field((), description="Platforms that the queue can run")
    containers: tuple[str, ...] = Field((), description="Sources of images: any, /cvmfs, or beginnings of their names")
    cvmfs: tuple[str, ...] = Field((), description="CVMFS repositories: atlas, nightlies, any")
    architectures: tuple[Hardware, ...] = Field((), description="CPUs and GPUs")
    tags: tuple[InstalledRelease, ...] = Field((), description="Installed releases")


class WorkerNodeGpu(Part):
    """A kind of GPU that worker nodes of a queue reported; what is left out is unknown."""

    vendor: str | None = Field(None, description="Vendor, such as NVIDIA")
    model: str | None = Field(None, description="Model, such as NVIDIA A100-SXM4-80GB")
    vram: Megabytes | None = Field(None, gt=0, description="Memory, MB")
    microarchitecture: str | None = Field(None, description="Generation, such as Ampere")
    version: str | None = Field(None, description="Version of CUDA")
    driver_version: str | None = Field(None, description="Version of the kernel driver")
