// Requests to the server. No answer within a while, or an answer that it can't work now, is no network.

import { api, form } from "./page.js";

const SLOW = 20_000;

const REFUSALS = ["not_allowed", "paused"]; // any other 403 is a session that has ended

export class Unreachable extends Error {}

export const isLoggedOut = ({ status, data }) => status === 401 || (status === 403 && !REFUSALS.includes(data?.code));

export async function call(method, path, body) {
  const url = path.startsWith("/") ? path : api.api + path;
  const headers = { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value, Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(SLOW) });
  } catch (error) {
    throw new Unreachable(error.message);
  }
  if (response.status >= 500 || response.status === 429) throw new Unreachable(`status ${response.status}`);
  const data = response.status === 204 ? null : await response.json().catch(() => null);
  return { status: response.status, ok: response.ok, data };
}
