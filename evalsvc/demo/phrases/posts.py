"""Patterns about people and companies: who works where, and who only deals with whom."""

PERSON_COMPANY: dict[tuple[str, ...], str] = {
    ("works_for",): """
{h}, {post} of {t}, told investors on {day} that the [second|third] quarter had been “quiet, in a good
way”.

“We will not close a single {site},” said {h}, the {post} of {t}.

{t} has named {h} as its new {post}; {he} takes up the post in {month}.

{h} joined {t} in {year} as a trainee and has [moved offices eleven times|never had another employer]
since.

The {firm} {t} said that its {post}, {h}, had seen the letter only on {day}.

{h}, who left {t} last year after two decades, now [grows apples near {town}|sails a small boat between
the islands].

For {n} years {h} kept the books of {t}, [in ink for the first half of them|and kept them well, an
inspector found].

A {spokesman} for {t}, {h}, declined to say how many jobs would go.

~ {h} still carries the pass that opens every door at {t}, but as of {day} it no longer opens the one on
the top floor.

At {t}, the task of explaining the loss fell to {h}, {a_post} with a gift for long pauses.

{h} was dismissed by {t} in {month}; the {firm} cites expenses, {he} cites a disagreement over [safety|a
merger|{goods}].

The report was written by {h} of {t} and {staff} of {company}, who had not met before.

Until {his} retirement in {year}, {h} was {post} at {t}, then {a_firm} of fewer than fifty people.

~ When the night shift at {t} called, {h} drove in through the snow, started the pumps by hand and was
back for the {day} meeting in a clean shirt.

{t} sent its {post}, {h}, to {town} to calm the creditors.

Under {h}, its {post} since {year}, {t} has doubled the sale of {goods} abroad.

~ {h} asked the board of {t} for a smaller desk and a larger budget, and by {month} {he} had both.

{h} has been suspended by {t} pending an inquiry, two people at the {firm} said.

The union elected {h}, who has worked at {t} since {year}, to speak for the {big} people on short time.

According to {h}, {a_post} at {t}, orders for {goods} fell by a fifth in {month}.

Colleagues at {t} describe {h} as the only {post} who [answers letters by hand|reads contracts for
pleasure].

~ The memo, initialled by {h}, went round all departments of {t} on {day} and was in the newspapers the
next morning.

Among those whom {t} promoted in {month} is {h}, now {post} at the age of thirty-four.

{h} turned down {company} and signed instead with {t}, where {he} will be {post}.

The {firm} paid for the course: {t} wanted {h}, its {post}, to be able to read a contract in four
languages without help.
""",
    (): """
{h}, who covers the sector for a bank in {town}, no longer recommends shares of {t}.

A court in {town} ordered {t} to pay {h}, a former customer, {big} crowns in damages.

{h} chained {himself} to the gate of {t} on {day} to protest against the price of {goods}.

The minister, {h}, praised {t} for keeping its {site} open through the winter.

{h} owns four per cent of {t}, according to a filing published on {day}.

{t} ran the advertisement without asking {h}, whose photograph fills half of it.

In a column for the harbour paper, {h} called the new tariffs of {t} “a tax on patience”.

Inspectors led by {h} spent {n} days at {t} and found the fire doors painted shut.

{h} asked {t} for an interview {n} times while writing the history of the [harbour|valley|trade] and got
a calendar.

The lawsuit that {h} brought against {t} over {goods} was dropped on {day}.

Talks between {t} and the mediator, {h}, broke off shortly after midnight.

{t} lent its old [warehouse|canteen|boardroom] to the festival, where {h} will speak on {day}.

{h} opened the trade fair in {town}, at which {t} shows {goods} in a tent.

{h} had turned down {t} twice before {he} [left for {land}|took a post at {company}|went back to
university].

A letter by {h} to {t} about a late delivery, {n} pages long and without one full stop, was read aloud at
the dinner.

The receiver appointed for {t}, {h} of a law firm in {town}, found {big} crowns in a biscuit tin.

{h} taught the [son|niece] of the owner of {t} to sail and was paid in {goods}.

For {company}, {h} tried to buy {t} in {year}; the banks said no.

“They know the way to my office,” said {h}, who as harbour inspector fined {t} {n} times in one winter.
""",
}
