// Server-sent events over fetch: EventSource cannot send a token, and does not report why it failed.

export interface ServerEvent {
  event: string;
  data: string;
}

// Receives the stream in pieces, and calls back with each complete event.
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];

  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop()!;
    for (const line of lines) {
      if (line === "") {
        if (this.data.length > 0) events.push({ event: this.event || "message", data: this.data.join("\n") });
        this.event = "";
        this.data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue; // a comment
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") this.event = value;
      else if (field === "data") this.data.push(value);
    }
    return events;
  }
}
