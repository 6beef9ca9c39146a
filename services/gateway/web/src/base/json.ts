// JSON in which integers beyond 2^53 stay exact: they become strings, because a JavaScript number would round
// an id.
const kStringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const kLongInteger = /^-?\d{16,}$/;

export function parseJson(text: string): unknown {
  return JSON.parse(
    text.replace(kStringOrNumber, (token) => (kLongInteger.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token)),
  );
}
