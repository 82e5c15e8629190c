// What is kept on this device, for this person: answers on their way, conflicts, drafts, keys.

import { api } from "./page.js";

export function shelf(name, empty, owner = api.outbox) {
  const key = `evalsvc-${name}:${owner}`;
  let inMemory = null; // storage full or switched off: this tab still keeps its answers
  return {
    key,
    read() {
      if (inMemory !== null) return inMemory;
      try {
        return JSON.parse(localStorage.getItem(key)) ?? empty;
      } catch {
        return empty;
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

// Entries in the order in which they were put, each under a key of its own: two tabs of one person put and drop
// side by side, and neither writes over what the other has just written.
export function rows(name, owner = api.outbox) {
  const prefix = `evalsvc-${name}:${owner}:`;
  const inMemory = new Map(); // storage full or switched off: this tab still keeps its answers
  let last = 0;
  const keys = () => {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
    } catch {
      return [];
    }
  };
  const stored = (key) => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };
  return {
    prefix,
    read() {
      const all = [...keys().map((key) => [key, stored(key)]), ...inMemory];
      return all.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry).filter(Boolean);
    },
    put(entry) {
      last = Math.max(Date.now(), last + 1);
      const key = `${prefix}${String(last).padStart(15, "0")}-${entry.id}`;
      try {
        localStorage.setItem(key, JSON.stringify(entry));
      } catch {
        inMemory.set(key, entry);
      }
    },
    drop(id) {
      for (const key of inMemory.keys()) if (key.endsWith(`-${id}`)) inMemory.delete(key);
      for (const key of keys()) if (key.endsWith(`-${id}`)) localStorage.removeItem(key);
    },
  };
}

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID(); // only over HTTPS and on this machine
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
