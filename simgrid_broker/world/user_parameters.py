"""What analysis brokerage reads of a task alone: from the word that its row has to the fields of its view."""

from functools import cache

from simgrid_broker.schema.user_parameters import UserParameters


@cache
def fields_of_word(word: str, storages: tuple[str, ...]) -> dict:
    """Fields of `views.Task`, not to be changed, behind a word of the column user_parameters."""
    said = UserParameters.of_word(word)
    return dict(
        transuses=said.transUses, cloud=said.cloud, includedsite=said.includedSite, excludedsite=said.excludedSite,
        siteendpoint=-1 if said.siteEndpoint is None else storages.index(said.siteEndpoint), avoid_vp=said.avoidVP,
        n_sites_per_job=said.nSitesPerJob, allows_incomplete=said.allowIncompleteInDS)
