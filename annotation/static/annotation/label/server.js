// Requests to the API, numbered in the order of sending. A timeout or a server error counts as unreachable.

import { api } from "./page.js";

const TIMEOUT = 20_000;
const REJECTIONS = ["not_allowed", "paused"]; // any other 403 means that the session has ended
const CLOSED = "project_not_open";
const tokenIn = (page) => page.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

let token = tokenIn(document);
let otherUser = false;
let requests = 0;

export class Unreachable extends Error {}

export const isOtherUser = () => otherUser; // another person is logged in on this browser
export const isLoggedOut = ({ status, data }) =>
  status === 401 || (status === 403 && !REJECTIONS.includes(data?.code));

// Reason why the project neither hands out nor accepts work for now; empty when it does.
export function stopReasonOf({ status, data }) {
  if (status === 404) return "You are no longer a member of this project. A curator can add you again.";
  const stops = data?.code === CLOSED || (status === 403 && REJECTIONS.includes(data?.code));
  return stops ? `${data.detail} ${data.hint ?? ""}`.trim() : "";
}

export async function call(method, path, body) {
  const response = await request(method, path, body);
  return response.data?.code === "csrf" && (await renewToken()) ? request(method, path, body) : response;
}

// Each login makes a new token. It is used only if the same person has logged in again.
async function renewToken() {
  const response = await fetchOrThrow(api.tokenPage, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await response.text().catch(() => ""), "text/html");
  const user = page.body.dataset.user;
  otherUser = Boolean(user) && user !== api.person;
  if (user === api.person) token = tokenIn(page);
  return user === api.person;
}

async function request(method, path, body) {
  const url = path.startsWith("/") ? path : api.root + path;
  const number = ++requests;
  const headers = { "X-CSRFToken": token, Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetchOrThrow(url, { method, headers, body: body && JSON.stringify(body) });
  const data = response.status === 204 ? null : await response.json().catch(() => null);
  if (response.ok) otherUser = false;
  return { status: response.status, ok: response.ok, data, number };
}

async function fetchOrThrow(url, options) {
  let response;
  try {
    response = await fetch(url, { ...options, signal: AbortSignal.timeout(TIMEOUT) });
  } catch (error) {
    throw new Unreachable(error.message);
  }
  if (response.status >= 500 || response.status === 429) throw new Unreachable(`status ${response.status}`);
  return response;
}
