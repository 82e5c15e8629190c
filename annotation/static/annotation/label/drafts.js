// Drafts: answers begun and not submitted, by sentence. They survive a reload.

import { newId, storedValue } from "./storage.js";

const LIMIT = 80;
const TAB = "evalsvc-tab"; // in the session storage, so that it survives a reload of this tab
if (!sessionStorage.getItem(TAB)) sessionStorage.setItem(TAB, newId());
const tab = sessionStorage.getItem(TAB);
const drafts = storedValue("drafts", {});
const without = (id) => Object.entries(drafts.read()).filter(([other]) => other !== String(id));

export const draftOf = (id) => drafts.read()[id];
export const removeDraft = (id) => drafts.write(Object.fromEntries(without(id)));
export const saveDraft = (id, answer) =>
  drafts.write(Object.fromEntries([...without(id).slice(1 - LIMIT), [id, { ...answer, tab }]]));

export const isFromOtherTab = (draft) => Boolean(draft.tab) && draft.tab !== tab;
