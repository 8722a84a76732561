// Questions to the server. Whatever goes wrong ends in an Error whose message is a sentence for people.

let token = sessionStorage.getItem("gossamer-token") ?? "";
const answered = new Map(); // answers of this page that do not change: maps and groups come back at once

const PATIENCE = 12, PAUSE = 1500; // times, and milliseconds between them

export function setToken(value) {
  token = value;
  sessionStorage.setItem("gossamer-token", value);
}

export class TokenNeeded extends Error {}

// `patient` questions are asked again while the server is still working the answer out, which it keeps when it has it.
export async function get(path, parameters = {}, { signal, keep = false, patient = false } = {}) {
  const query = new URLSearchParams(parameters).toString();
  const address = `/explore/${path}${query ? `?${query}` : ""}`;
  if (keep && answered.has(address)) return answered.get(address);
  const answer = await fetched(address, signal, patient ? PATIENCE : 0);
  if (keep) answered.set(address, answer);
  return answer;
}

async function fetched(address, signal, times) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(address, { headers, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Start it again with “gossamer serve”, then reload this page.");
  }
  if (response.status === 503 && times > 0) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    return fetched(address, signal, times - 1);
  }
  if (response.status === 401) throw new TokenNeeded("This server asks for a token.");
  let body;
  try {
    body = await response.json();
  } catch {
    throw new Error(`The server answered with something unreadable (status ${response.status}).`);
  }
  if (!response.ok) throw new Error(sentence(body, response.status));
  return body;
}

function sentence(body, status) {
  const said = body?.detail ?? body?.error ?? body?.message;
  if (typeof said === "string") return said;
  if (Array.isArray(said) && typeof said[0]?.msg === "string") return `${said[0].msg}.`;
  return `The server could not answer (status ${status}).`;
}
