// JSON whose integers beyond 2^53 stay exact: they become text, because a JavaScript number would be another id.
const kStringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const kLongInteger = /^-?\d{16,}$/;

export function parseJson(text: string): unknown {
  return JSON.parse(
    text.replace(kStringOrNumber, (token) => (kLongInteger.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token)),
  );
}
