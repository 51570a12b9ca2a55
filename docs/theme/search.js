// What a person types becomes a query: fillers are left out, endings too, and a whole word counts more than a beginning.
(() => {
  const fillers = new Set((
    "a about am an and any are as at be by can could do does for from get has have how i if in into is it its " +
    "know like make me mean means my need of on or please shall should show so tell that the there this to use " +
    "using want was what when where which who why will with would you your").split(" "));
  const rewrite = (typed) => {
    if (/["+^~]/.test(typed)) return typed; // the reader writes operators
    const words = typed.split(/[\s?!,;]+/).filter(Boolean);
    const kept = words.filter((word) => !fillers.has(word.toLowerCase()));
    return (kept.length ? kept : words).flatMap((word) => {
      const stem = word.replace(/(ing|ed|es|s)$/, "");
      return [`${word}^8`, stem.length > 3 ? stem : word];
    }).join(" ");
  };
  const asked = 2; // the number of a message that holds a query
  window.Worker = class extends window.Worker {
    postMessage(message, ...rest) {
      clearTimeout(this.held);
      if (message?.type !== asked) return super.postMessage(message, ...rest);
      const query = { ...message, data: rewrite(message.data) };
      this.held = setTimeout(() => super.postMessage(query), 120); // the last of what is typed quickly
    }
  };
})();
