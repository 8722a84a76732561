// Questions to the server. Whatever goes wrong ends in an Error whose message is a sentence for people.

const PATIENCE = 12, PAUSE = 1500; // times, and milliseconds between them

// A question is asked again while the server is still working the answer out, which it keeps when it has it; one that
// comes with a signal is not, because whoever types will ask another one.
export async function get(path, parameters = {}, { signal } = {}) {
  const query = new URLSearchParams(parameters).toString();
  // Nothing is kept here: the server has its answers at hand, and a model may have been replaced since.
  return fetched(`/explore/${path}${query ? `?${query}` : ""}`, signal, signal ? 0 : PATIENCE);
}

async function fetched(address, signal, times) {
  let response;
  try {
    response = await fetch(address, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Start it again with “gossamer serve”, then reload this page.");
  }
  if (response.status === 503 && times > 0) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    return fetched(address, signal, times - 1);
  }
  // The browser itself asks for a token, so that this one has been replaced since.
  if (response.status === 401) throw new Error("This server asks for another token: reload this page to give it.");
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
  return typeof body?.error === "string" ? body.error : `The server could not answer (status ${status}).`;
}
