// Drafts: answers begun and not submitted, by sentence. They survive a reload.

import { storedValue } from "./storage.js";

const LIMIT = 80;
const drafts = storedValue("drafts", {});
const without = (id) => Object.entries(drafts.read()).filter(([other]) => other !== String(id));

export const draftOf = (id) => drafts.read()[id];
export const removeDraft = (id) => drafts.write(Object.fromEntries(without(id)));
export const saveDraft = (id, answer) =>
  drafts.write(Object.fromEntries([...without(id).slice(1 - LIMIT), [id, answer]]));
