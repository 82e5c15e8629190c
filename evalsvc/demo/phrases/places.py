"""Patterns about places: what lies within what, and what is only named beside it."""

PLACE_PLACE: dict[tuple[str, ...], str] = {
    ("contains",): """
In {t}, {h}, the [market|school|ferry quay] has been closed since the storm of {day}.

The police in {t}, a [harbour|mill|border] town in {h}, are looking for a stolen [barge|church bell|snow
plough].

{h}’s second-largest town, {t}, has {big} inhabitants and no railway station.

A [fish hall|tannery|boathouse] burned down in {t}, in the far north of {h}, on {day}; no one was hurt.

{t} is the only town in {h} where the clocks of both churches agree.

The road to {t}, in the hills of inner {h}, is expected to stay shut until {month}.

Voters in {h} go to the polls on {day}; in {t}, they will also decide on [a bridge|the swimming baths|a
tax on second homes].

Of the {n} towns in {h} with a theatre of their own, {t} is the smallest.

~ The {h} health office has sent two doctors to {t} and asked the mayor to keep the schools shut.

From {t} to the border it is an hour by car; no other place in {h} lies so far from the sea.

~ The ministry of justice of {h} will move the maritime court from {t} to {town} next year.

Nowhere in {h} does it rain as much as in {t}, where the gutters have names.

{t} ({h}) has offered to host the games if the ice holds.

~ Ferries leave {t} twice a day for the other ports of {h}, but not in fog.

{person} came across the dialect in {t} and four other villages of {h} and has recorded {big} words of
it.

~ The government of {h} has bought the old barracks in {t} and wants to house students there.

Wells in and around {t}, on the eastern edge of {h}, have been dry since {month}.
""",
    (): """
The night train from {t} to {h} will run again from {month}, with one sleeping car.

Delegates from {h} and {t} met on {day} to talk about [fishing rights|the cable|a shared flood warning].

A lorry from {t} was stopped on its way to {h} with {n} sheep and no papers.

In the final of the fishermen’s cup, {t} lost to a side from {h} by two goals to one.

The choir of {t} has cancelled its journey through {h} for want of tenors.

Rain is expected over {h} by {day}, while {t} stays dry.

Trade between {h} and {t} has halved since the [toll|bridge|quarrel over cod] was introduced.

The painter left {t} in {year} and reached {h} only after a winter on the road.

To send a parcel from {t} to {h} costs more than the flight, the consumer office found.

Two twin towns of {t} have asked {h} for help after the flood, and {h} has sent pumps.

{h}’s envoy spoke in {t} for an hour and was applauded for a minute.

The earthquake was felt in {h} as well as in {t} and broke a great deal of china.

Doctors trained in {h} may now practise in {t} without a second examination.

A map of {h} that hangs in the town hall of {t} shows a lake that has never existed.
""",
}
