"""Patterns of the entity demo: short reports with people, organisations and places."""

REPORTS = """
{person} and {person2} met in {town} on {day} and left by different doors.

The ferry from {town} to {town2} ran aground off {land} with {big} passengers on board.

{person}, who grew up in {town}, will represent {land} at the congress in {town2}.

Rain has cut the road between {town} and {town2}; {person} drove the last bus through.

{person} beat {person2} in the final in {town}, {n} years after their first match there.

In {town}, {person} sold the house to {person2}, who let it to {person3}.

Snow fell in {town} and {town2}, and even in {land}, where nobody owned a shovel.

{person} was last seen in {town}, wearing a yellow coat and carrying a cello.

“{town} is not {town2},” said {person}, and nobody in the hall disagreed.

Between {town} and the border with {land}, {person} counted {n} abandoned petrol stations.

The jury gave the first prize to {person} and the second to {person2}, both from {town}.

{person} moved from {town} to {town2} in {year} and wrote to {person2} every {day}.

Two hikers, {person} and {person2}, were found unhurt in the hills above {town}.

In {land}, {person} is read at school; in {land2}, hardly anyone knows {his} name.

{person} has sold {his} boat and bought a vineyard near {town}.

When the lights went out in {town}, {person} went on playing in the dark.

The trial of {person} opens in {town} on {day}; {person2} will speak for the defence.

Nobody in {town} remembers {person}, though the square has carried {his} name since {year}.

Prices in {land} rose again in {month}, most of all in {town} and {town2}.

{person} cycled from {town} to {town2} in {n} days, followed by {person2} in a van.

The {org} has asked {person} to settle the dispute over the quay at {town}.

{company} will move {n} jobs from {town} to {town2} by {month}.

{person} of the {org} refused to say when the report on {town} would appear.

{staff} left {company} for the {org} and took the better part of the archive along.

A spokesman for the {org} said that the bridge at {town} was safe; {person} crossed it to make sure.

The {org} and {company} have been arguing about the same {n} trees in {town} since {year}.

Shares of {company} fell by a tenth after {staff} had sold a packet in {month}.

{person} gave {his} papers to the {org}, to be opened in fifty years.

At the gates of {company} in {town}, {person} sang for the strikers until it was dark.

The town of {town} has sued {company} over the smell, and {person} will be the first witness.

Storm warnings for {land} came too late for {person}, whose boat sank off {town}.

{person}, the mayor of {town}, and {person2}, the mayor of {town2}, opened the tunnel from both ends.

On the night boat to {land}, {person} told {person2} how the story in {town} had really ended.

{person}’s grandmother left {town} for {land} with a sewing machine and {big} crowns.

From {town} in the north to {town2} in the south, {person} has photographed every lighthouse of {land}.
"""
