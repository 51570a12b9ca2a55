// What the page asks its server: one answer, or a stream of events. Errors are words fit for the reader.
const GONE = "The server does not answer. Is it still running?";

async function send(path, value, signal) {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", body: JSON.stringify(value), signal, headers: { "content-type": "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(GONE);
  }
  if (answer.ok) return answer;
  let words = `The server answered with error ${answer.status}.`;
  try {
    words = (await answer.json()).error || words;
  } catch {
    // not JSON: the number must do
  }
  throw Object.assign(new Error(words), { status: answer.status });
}

export async function ask(path, value, signal) {
  return (await send(path, value, signal)).json();
}

// Calls heard(kind, values) for every server-sent event; aborting the signal ends the attack on the server too.
export async function listen(path, value, signal, heard) {
  const answer = await send(path, value, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let whole = false;
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(GONE);
    }
    if (part.done) break;
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const found = /^event: (\w+)\ndata: (.*)$/.exec(block);
      if (!found) continue;
      whole = whole || found[1] === "done";
      heard(found[1], JSON.parse(found[2]));
    }
  }
  if (!whole) throw new Error(GONE);
}
