// Requests to the server. No answer within a while, or an answer that it can't work now, is no network.

import { api } from "./page.js";

const SLOW = 20_000;
const REFUSALS = ["not_allowed", "paused"]; // any other 403 is a session that has ended
const CLOSED = "project_not_open";
const tokenIn = (page) => page.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

let token = tokenIn(document);
export const session = { other: false }; // somebody else is logged in on this browser

export class Unreachable extends Error {}

export const isLoggedOut = ({ status, data }) => status === 401 || (status === 403 && !REFUSALS.includes(data?.code));

// Why nothing of this project is to be had or sent for now; empty when there is no such reason.
export function whyStopped({ status, data }) {
  if (status === 404) return "You are no longer in this project. A curator can bring you in again.";
  const stops = data?.code === CLOSED || (status === 403 && REFUSALS.includes(data?.code));
  return stops ? `${data.detail} ${data.hint ?? ""}`.trim() : "";
}

export async function call(method, path, body) {
  const answer = await ask(method, path, body);
  return answer.data?.code === "csrf" && (await renewed()) ? ask(method, path, body) : answer;
}

// Each login makes a new token. It is taken over only when it was the same person who logged in again.
async function renewed() {
  const response = await fetched(api.anew, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await response.text().catch(() => ""), "text/html");
  const user = page.body.dataset.user;
  session.other = Boolean(user) && user !== api.person;
  if (user === api.person) token = tokenIn(page);
  return user === api.person;
}

async function ask(method, path, body) {
  const url = path.startsWith("/") ? path : api.api + path;
  const headers = { "X-CSRFToken": token, Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetched(url, { method, headers, body: body && JSON.stringify(body) });
  const data = response.status === 204 ? null : await response.json().catch(() => null);
  if (response.ok) session.other = false;
  return { status: response.status, ok: response.ok, data };
}

async function fetched(url, how) {
  let response;
  try {
    response = await fetch(url, { ...how, signal: AbortSignal.timeout(SLOW) });
  } catch (error) {
    throw new Unreachable(error.message);
  }
  if (response.status >= 500 || response.status === 429) throw new Unreachable(`status ${response.status}`);
  return response;
}
