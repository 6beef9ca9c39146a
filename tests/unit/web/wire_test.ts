// Data from the gateway: JSON, server-sent events, addresses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../../../services/gateway/web/src/base/json";
import { hashOf, parseRoute, type Route } from "../../../services/gateway/web/src/base/route";
import { EventParser } from "../../../services/gateway/web/src/base/sse";

test("an id of 64 bits keeps all its digits", () => {
  assert.deepEqual(parseJson('{"id":18446744073709551615,"user":7,"n":-9223372036854775808}'), {
    id: "18446744073709551615", user: 7, n: "-9223372036854775808",
  });
  assert.equal(parseJson("9007199254740991"), 9007199254740991);
  assert.equal(parseJson("9007199254740993"), "9007199254740993");
});

test("doubles with many digits, and digits in text, stay unchanged", () => {
  assert.deepEqual(parseJson('{"a":0.13605541771610905,"b":1.0152508112134820e+14,"c":"12345678901234567890","d":"a \\" 12345678901234567890"}'), {
    a: 0.13605541771610905, b: 101525081121348.2, c: "12345678901234567890", d: 'a " 12345678901234567890',
  });
  assert.throws(() => parseJson("<html>"), SyntaxError);
});

test("events are complete for any division of the stream", () => {
  const stream = ': hello\r\nevent: flow\r\ndata: {"a":\r\ndata: 1}\r\n\r\nevent: grant\ndata: x\n\ndata: y\n\nevent: none\n\n';
  const expected = [{ event: "flow", data: '{"a":\n1}' }, { event: "grant", data: "x" }, { event: "message", data: "y" }];
  for (let size = 1; size <= stream.length; ++size) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < stream.length; at += size) events.push(...parser.push(stream.slice(at, at + size)));
    assert.deepEqual(events, expected, `in pieces of ${size}`);
  }
});

test("every view has an address that leads to it", () => {
  const routes: Route[] = [
    { view: "flow" },
    { view: "search", project: 1, q: "Ada & Söhne", kind: "team" },
    { view: "search", project: 1, q: "", kind: null },
    { view: "account", project: 1, kind: "user", id: 7 },
    { view: "account", project: 2, kind: "host", id: "18446744073709551615" },
    { view: "why", project: 1, result: 37173 },
    { view: "scales", project: 1, app: null },
    { view: "scales", project: 1, app: 3 },
    { view: "leaders", project: 1, board: "teams", by: "rac", offset: 100, ranking: null },
    { view: "leaders", project: 1, board: "hosts", by: "total", offset: 50, ranking: 1795422000123 },
    { view: "leaders", project: 1, board: "users", by: "total", offset: 0, ranking: null },
    { view: "leaders", project: null, board: "users", by: "total", offset: 0, ranking: null },
    { view: "refused", before: 4711, reason: "TOO_LATE" },
    { view: "refusal", number: 12 },
  ];
  for (const route of routes) assert.deepEqual(parseRoute(hashOf(route)), route);
  assert.equal(parseRoute("").view, "flow");
});

test("an unknown address leads to the view nowhere", () => {
  for (const hash of ["#/p/x/user/1", "#/p/1/user/abc", "#/p/1/user", "#/nothing", "#/refused/x", "#/p/1/leaders/cats"]) {
    assert.equal(parseRoute(hash).view, "nowhere", hash);
  }
});
