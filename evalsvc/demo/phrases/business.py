"""Patterns about companies: where they have sites, who founded them, who advises them."""

COMPANY_PLACE: dict[tuple[str, ...], str] = {
    ("has_site_in",): """
{h}, based in {t}, makes [more|less] than half of its money with {goods}.

The {firm} {h} will close its {site} in {t} by {month}; {n} people lose their work.

At the {site} of {h} in {t}, the early shift found the gates locked on {day}.

{h} has run a {site} in {t} since {year}, [longer than anyone can explain|at a loss for most of that
time].

From its head office in {t}, {h} answered in one line: “We do not comment on rumours.”

~ {n} lorries a day bring supplies up the hill in {t} to {h}, and the neighbours have begun to count
them.

{t}’s largest employer, the {firm} {h}, took on {n} apprentices in {month}.

A burst pipe flooded the cellar of {h} in {t}; the damage is put at {big} crowns.

{h} opened an office in {t} in {year} with two desks, one telephone and {staff}.

~ The chimney of {h} has stood over the roofs of {t} for eighty years, and the council wants it kept.

Like other firms from {t}, {h} buys its electricity [from {land}|on the spot market].

The {t}-based {firm} {h} has agreed to a takeover by {company}.

Workers at {h} in {t} voted on {day} to end the strike over night pay.
""",
    (): """
{h} sells {goods} as far away as {t}.

The city of {t} has chosen {h} over {company} to supply its [schools|hospitals|ferries] for the
next {n} years.

Customs officers in {t} seized a shipment addressed to {h}, [none of it declared|most of it marmalade].

{h} decided against {t}, where land is dear, and is still looking for a place for a second {site}.

A court in {t} will hear the complaint against {h} in {month}.

{h} sponsors the regatta at {t}, which was won on {day} by a boat from {town}.

Protesters in {t} poured milk over a lorry of {h}; the driver, who was buying cigarettes, saw nothing.

The {firm} {h} warned on {day} that the toll at {t} would make {goods} dearer.

{h} presented its figures at a hotel in {t}, within sight of the {company} ferry.

If {t} grants the permit, {h} may one day build there; a decision is not expected before {month}.

After the flood in {t}, {h} gave {big} blankets and asked that it not be mentioned.
""",
}

COMPANY_PERSON: dict[tuple[str, ...], str] = {
    ("founded_by",): """
{t} founded {h} in {year} with [a loan from an aunt|two friends and a van|the money from a lost bet].

{h}, which {t} set up in a [boathouse|garage|former chapel], now sells {goods} in {n} countries.

{t}, the founder of {h}, still opens the post {himself}.

Together with {staff}, {t} started {h} over a chess board in {town} in {year}.

~ Before there was {h}, there was {t} with a handcart, a sign painted by {his} brother and a debt at the
bakery.

It was {t} who brought {h} into being in {year}, against the advice of everybody at the table.

The {firm} {h}, founded by {t} and later sold to {company}, turns fifty in {month}.

{t}, a co-founder of {h}, has sold the last of {his} shares.
""",
    ("advised_by",): """
{h} has taken on {t} as an outside adviser on the sale of its {site}.

{t}, who has counselled the board of {h} since {year}, warned against the purchase.

The advisory board of {h}, to which {t} was called in {month}, meets twice a year in {town}.

On the advice of its consultant {t}, {h} has stopped selling {goods} on credit.

~ Before {h} signs anything, {t} is asked to dinner, and the next morning the contract has a different
number of pages.

{t} advises {h} on [tariffs|patents|pensions] for a fee that neither side wants to see printed.
""",
    ("founded_by", "advised_by"): """
{t}, who founded {h} in {year} and has advised its board since retiring, [opposes|supports] the sale.

Though {t} gave up running {h}, the {firm} that {he} founded, {he} still sits on its advisory board.
""",
    (): """
{h} has sued {t} for calling its {goods} “a public nuisance” on the radio.

{h} lost the vote by a single share, which turned out to belong to {t}.

The inquiry into {h} is led by {t}, a judge from {town}.

{h} named its new {site} after {t}, who first heard of it from a taxi driver.

{t} returned a hamper to {h} with a note that members of parliament accept no gifts.

{h} offered {t} a seat on the board; {he} asked for a week, and then said no.

A portrait of {t} hangs in the canteen of {h}, and nobody there knows why.

In the film about the harbour strike, {t} plays the last director of {h}.

{h} and its neighbour {t} have fought over a hedge since {year}.

{t} won a year’s supply of {goods} from {h} in a raffle and gave it to the fire brigade.

The tax office asked {h} for all letters to and from {t}, a dealer in {town}.

Two days after the crash, {t} bought shares of {h} for less than the paper was worth.
""",
}
