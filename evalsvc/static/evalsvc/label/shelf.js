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

export const put = (box, entry) => box.write([...box.read(), entry]);
export const drop = (box, id) => box.write(box.read().filter((entry) => entry.id !== id));

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID(); // only over HTTPS and on this machine
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
