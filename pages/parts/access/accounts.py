"""Accounts: whose datasets, budgets and releases a person may use, their own or a group's, and what roles allow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dpengine import BudgetError
from dpengine.translation.catalogue import _, mark
from pages.parts.access import settings
from pages.parts.access.person import LOCAL, Person
from pages.parts.access.settings import Group, NoSignIn
from pages.parts.shared.demo import is_demo

__all__ = ["LOCAL_ACCOUNT", "OF_A_PERSON", "Account", "May", "accounts_of"]


class May(StrEnum):
    """The permissions that a role may give in addition to seeing releases and budgets."""

    PUBLISH = mark("publish")  # bring tables, look at rows, publish, ask and choose within the cap
    CAP = mark("set caps")
    APPROVE = mark("decide on plans that others have sent for approval")
    # Not for those who publish: they could lift a rule, publish, and set it again.
    RULE = mark("say what needs approval")


@dataclass(frozen=True, slots=True)
class Account:
    """One owner's part of the ledger, and what one person may do there.

    `connections` are the databases that the account may use; None means all of them.
    """

    owner: str
    title: str
    may: frozenset[May]
    connections: frozenset[str] | None = frozenset()

    @property
    def heading(self) -> str:
        """The title in the visitor's language; a group's name stays as it is."""
        return self.title if self.owner.startswith(OF_A_GROUP) else _(self.title)

    def require(self, act: May) -> None:
        """Raise `BudgetError` unless the role allows this."""
        if act not in self.may:
            raise BudgetError(
                _(
                    "Your role in {group} does not let you {act}. Ask one of the group who may.",
                    group=self.heading,
                    act=_(act),
                )
            )


OF_A_PERSON = "person:"  # prefix of the owner of a person's own account; the identity follows
OF_A_GROUP = "group:"  # prefix of the owner of a group's account; its name follows
# Without sign-in the page cannot tell people apart, so there is no second person who could approve.
LOCAL_ACCOUNT = Account("", mark("this server"), frozenset({May.PUBLISH, May.CAP}), connections=None)
# A demonstration has a ledger for each visitor.
DEMO_ACCOUNT = Account("", mark("this demonstration"), frozenset({May.PUBLISH, May.CAP}))


def accounts_of(person: Person) -> list[Account]:
    """Return all accounts that a person may use: those of their groups, by name; without a group, one of their own."""
    rules = settings.access()
    if isinstance(rules.sign_in, NoSignIn):
        local = DEMO_ACCOUNT if is_demo() else LOCAL_ACCOUNT
        return [local] if person == LOCAL else []
    accounts = [_account(name, group, person.name) for name, group in sorted(rules.groups.items()) if person.name]
    groups = [account for account in accounts if account is not None]
    if groups or not rules.sign_in.personal:
        return groups
    return [Account(f"{OF_A_PERSON}{person.identity}", mark("your own account"), frozenset({May.PUBLISH, May.CAP}))]


def _account(name: str, group: Group, person: str) -> Account | None:
    """Return the account of a group with this person's rights in it; None if they are not in the group."""
    owner, steward, viewer = (_among(person, names) for names in (group.owners, group.stewards, group.viewers))
    if not (owner or steward or viewer):
        return None
    may = {
        May.PUBLISH: owner,
        May.CAP: steward or (owner and not group.stewards),
        May.APPROVE: owner or steward,
        May.RULE: steward and not owner,
    }
    allowed = frozenset(act for act, allows in may.items() if allows)
    return Account(f"{OF_A_GROUP}{name}", name, allowed, frozenset(group.connections))


def _among(person: str, names: tuple[str, ...]) -> bool:
    """Whether a person is among these names. E-mail addresses may differ in case, other names may not."""
    return _normalised(person) in map(_normalised, names)


def _normalised(name: str) -> str:
    return name.lower() if "@" in name and name.isascii() else name  # other scripts have letters that become these
