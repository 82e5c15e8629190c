// Answers begun and not sent, by sentence: there again after a reload or a look at another sentence.

import { shelf } from "./storage.js";

const MOST = 80;
const drafts = shelf("drafts", {});
const without = (id) => Object.entries(drafts.read()).filter(([other]) => other !== String(id));

export const draftOf = (id) => drafts.read()[id];
export const dropDraft = (id) => drafts.write(Object.fromEntries(without(id)));
export const keepDraft = (id, answer) => drafts.write(Object.fromEntries([...without(id).slice(1 - MOST), [id, answer]]));
