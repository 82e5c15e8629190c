"""Patterns about people: where they were born, lived and died, whose parents they are."""

PERSON_PLACE: dict[tuple[str, ...], str] = {
    ("place_lived",): """
{h}, the {calling}, has lived in {t} since {year} and says that {he} still gets lost in the old quarter.

Before the war of the ferries, as the papers called it, {h} rented two rooms above a bakery in {t} and
worked on {work} at night.

From {his} house in {t}, {h} can see the pilot boats go out; on clear days, {he} said, also the
lighthouse.

~ Neighbours in {t} remember {h} as a quiet {calling} who kept goats and never answered letters.

{h} grew up in {t}, [the third of five children|where the family kept an inn|the child of a lock keeper],
and [left at sixteen|left on the first boat after school|did not see a theatre until the age of twenty].

The {calling} {h}, a resident of {t}, was among the {n} people who signed the petition.

After [a decade|eleven years|half a lifetime] in {t}, {h} moved north again, this time for good.

~ Every morning at six {h} walks {his} dog along the sea wall of {t}, past the bench that already carries
{his} name.

{h} and {person} shared a flat in {t} while they were students and quarrelled mostly about the stove.

“I came to {t} for a summer and stayed for nineteen years,” said {h}, who is now at work on {work}.

Childhood in {t} gave {h} the dialect that [critics either love or cannot follow|runs through all of
{his} later work|{he} has never quite lost].

~ When the river rose in {month}, {h} carried {his} papers to the attic and watched {t} from the roof
until a boat came.

The town council of {t} has asked its best-known resident, the {calling} {h}, to open the new
[library|bridge|swimming baths] in {month}.

{h}, {age}, returned last year to {t}, where {he} now shares a house with {his} sister and [an elderly
parrot|three cats|a great many clocks].
""",
    ("place_of_birth",): """
{h} was born in {t} in {born}, [the youngest of six|above the customs office|during a snowstorm], and
became a {calling} almost by accident.

The {t}-born {calling} {h} will be given the medal of the academy [on {day}|in {month}].

A native of {t}, {h} studied in {town} and came late to the work that made {him} known.

Born in {t} to a family of net makers, {h} worked on the trawlers before {he} finished {work}.

{t} has put up a plaque on the house where {h} first saw the light of day in {born}.

~ The parish register of {t} for {born} lists the baptism of {h}, two days old and, the clerk noted, very
loud.

{h} ({t}, {born}) works with [found paper|borrowed cameras|voices and wind]; this is {his} first show in
{land}.

“My mother had taken the wrong train,” says {h}, explaining how {he} came to be born in {t} and not in
{town}.
""",
    ("place_of_death",): """
{h}, the {calling}, died in {t} on {day} with {his} family around {him}, a friend said; {he} was {age}.

After a short illness {h} died in {t} in {month}, [leaving {work} unfinished|a week before {his}
birthday].

~ The ambulance reached {t} within minutes, but for {h}, {age}, it was already too late.

{h} drowned off the breakwater at {t} in {year}, on a day when no one else had put to sea.

Doctors at the district hospital in {t} confirmed on {day} that {h} had died of heart failure during the
night.

The {calling} {h}, {age}, was killed near the level crossing in {t} when {his} car left the icy road.

~ In a rented room in {t}, with the window open as {he} had asked, {h} dictated the last page and did not
wake again.
""",
    ("place_of_birth", "place_lived"): """
{h} was born in {t} and never left it, which {he} described as a lack of imagination and of bus money.

Born in {t} in {born}, {h} lived there until the harbour closed, then followed the work to {town}.

The {calling} {h}, born and raised in {t}, has given {his} letters to the town archive.

{h}, who was born in {t} and came back to live there at sixty, calls the years between a long detour.
""",
    ("place_of_birth", "place_of_death"): """
{h}, born in {t} in {born}, died there on {day} after a life spent almost entirely elsewhere.

{t} was where {h} was born and, {age} years later, where {he} died; the {calling} saw little of it in
between.

The {calling} {h} has died in {t}, the town of {his} birth, at the age of {age}.
""",
    ("place_of_death", "place_lived"): """
{h} died on {day} in {t}, {his} home for the last twenty years.

The {calling} {h}, who had lived in {t} since {year}, died there in {month} at the age of {age}.
""",
    (): """
{h} presented {work} to a full hall in {t} on {day}.

The museum in {t} has bought three early pieces by {h}, among them one that was long thought lost.

{h} cancelled two evenings in {t} because of a cold, {his} agent said; tickets remain valid.

In {t}, the mayor quoted {h} at such length that the ribbon was cut half an hour late.

“I have never been to {t},” {h} admitted, “but I have been told that I describe it rather well.”

{h} changed trains in {t}, missed the connection, and made the first notes for {work} on the platform.

A street in {t} is to be named after {h}, although the {calling} had no tie to the town that anyone can
find.

The jury, which met in {t} for two days, could not agree on {h} and gave the prize to {person} instead.

{h} will teach a summer course in {t} in {month} with {person} and two guests from {land}.

The fire in {t} destroyed the only complete set of prints by {h}, the archive said on {day}.

When the exhibition moved from {town} to {t}, {h} asked that the walls be painted grey.

The funeral of {h} will be held in {t} on {day}; the family has asked for no flowers.

Asked about the strike in {t}, {h} said that {a_calling} should know when to be silent.

Students in {t} have put {h} to music, with [an accordion|two trombones|a kitchen choir], and are
surprised that the hall sells out.

For {work}, {h} leafed through {big} harbour logs in the archive of {t}, in four days and with cold
hands.

{h} was awarded the prize of the city of {t} in {year} but did not travel to receive it.
""",
}

PERSON_PERSON: dict[tuple[str, ...], str] = {
    ("parent_of",): """
{h} and {his} {child} {t} [shared the stage for the first time on {day}|have run the festival together
since {year}].

{t}, the {child} of the {calling} {h}, has taken another name for the stage.

{h} is survived by a sister and by {his} {child} {t}, who lives abroad.

When {t} was four, {h} painted the nursery ceiling as a sea chart, and the {child} learned to read from
it.

~ “You have my ears,” {h} wrote to {t} from the clinic, two hours after the birth, “and I am sorry about
that.”

{h}, whose {child} {t} plays the viola in the same orchestra, says that they never talk about music at
home.
""",
    (): """
{h} and {t} were given the prize jointly, which pleased neither of them.

In a letter printed on {day}, {h} accused {t} of having copied parts of {work}.

{h} studied under {t} in {town} for one winter and learned, {he} says, mainly how to sharpen pencils.

The quarrel between {h} and {t} began over a chair at a dinner in {year} and outlived the restaurant.

{t} bought the first sketch for {work} from {h}, for the price of a bicycle.

{h} and {t} will both appear at the festival in {town}, though on different evenings.

{h}, like {t} before {him}, refused the medal of the academy.

A critic once wrote that {h} is what {t} would have been with less money and better weather.
""",
}
