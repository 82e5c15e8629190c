// Storage on this device, per project and person: unsent answers, conflicts, drafts, keys.

import { api } from "./page.js";

// One value under one key.
export function storedValue(name, initial, owner = api.owner) {
  const key = `evalsvc-${name}:${owner}`;
  let inMemory = null; // used when storage is full or disabled, for the life of this tab
  return {
    key,
    read() {
      if (inMemory !== null) return inMemory;
      try {
        return JSON.parse(localStorage.getItem(key)) ?? initial;
      } catch {
        return initial;
      }
    },
    write(value) {
      try {
        localStorage.setItem(key, JSON.stringify(value));
        inMemory = null;
      } catch {
        inMemory = value;
      }
    },
  };
}

// Remove a value of all people and projects.
export function removeStored(name) {
  try {
    const old = Object.keys(localStorage).filter((key) => key.startsWith(`evalsvc-${name}:`));
    for (const key of old) localStorage.removeItem(key);
  } catch {
    return; // storage is disabled
  }
}

// Entries in the order in which they were added. Each has a key of its own, because two tabs add and remove
// entries at the same time and must not overwrite each other.
export function storedQueue(name, owner = api.owner) {
  const prefix = `evalsvc-${name}:${owner}:`;
  const inMemory = new Map(); // used when storage is full or disabled, for the life of this tab
  let lastTime = 0;
  const keys = () => {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
    } catch {
      return [];
    }
  };
  const entryAt = (key) => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };
  return {
    prefix,
    read() {
      const entries = [...keys().map((key) => [key, entryAt(key)]), ...inMemory];
      return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry).filter(Boolean);
    },
    add(entry) {
      lastTime = Math.max(Date.now(), lastTime + 1); // strictly increasing, also within a millisecond
      const key = `${prefix}${String(lastTime).padStart(15, "0")}-${entry.id}`;
      try {
        localStorage.setItem(key, JSON.stringify(entry));
      } catch {
        inMemory.set(key, entry);
      }
    },
    isStored: () => inMemory.size === 0,
    remove(id) {
      for (const key of inMemory.keys()) if (key.endsWith(`-${id}`)) inMemory.delete(key);
      for (const key of keys()) if (key.endsWith(`-${id}`)) localStorage.removeItem(key);
    },
  };
}

export const unsent = storedQueue("outbox"); // answers the server has not accepted yet, oldest first
export const conflicts = storedQueue("clashes"); // answers the server rejected, until the person decides

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID(); // only over HTTPS and on localhost
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
