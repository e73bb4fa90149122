/**
 * Parses a stream of server-sent events: chunks of bytes in, events out (https://html.spec.whatwg.org/multipage/server-sent-events.html,
 * section 9.2.6). A chunk can end anywhere, also inside a character or a line end.
 */

export interface ServerSentEvent {
  readonly kind: 'event';
  /** of this event; an event without the field `id` does not inherit the id of an earlier one */
  readonly id: string | undefined;
  readonly event: string | undefined;
  /** the `data` lines, joined with line feeds */
  readonly data: string;
}

/** The server requests this delay before a reconnection. */
interface ReconnectionDelay {
  readonly kind: 'retry';
  readonly delayMs: number;
}

export type StreamPart = ServerSentEvent | ReconnectionDelay;

/** An event exceeds the limit of the parser. The stream cannot be read further. */
export class EventTooLong extends Error {
  override readonly name = 'EventTooLong';
}

/** About a quarter of an hour. A longer delay is ignored, so that no server can stop a reader. */
const maxRetryMs = 999_999;

export class EventStreamParser {
  readonly #maxLength: number;
  /** replaces malformed bytes, and removes a byte order mark at the beginning */
  readonly #decoder = new TextDecoder();
  #line = '';
  /** the previous chunk ended with CR: an LF at the beginning of the next one belongs to it */
  #endedWithCarriageReturn = false;
  #id: string | undefined;
  #event: string | undefined;
  #data: string[] = [];
  /** characters of the data lines and their line feeds */
  #dataLength = 0;

  /** @param maxLength maximum length of an event's data and of a line, in characters */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The parts that this chunk completes. @throws EventTooLong */
  read(chunk: Uint8Array): readonly StreamPart[] {
    return this.#readText(this.#decoder.decode(chunk, { stream: true }));
  }

  /**
   * The event that is incomplete because the stream ended before its blank line. The standard discards it; some servers omit the last
   * blank line. @throws EventTooLong
   */
  end(): readonly StreamPart[] {
    return this.#readText(`${this.#decoder.decode()}\n\n`);
  }

  #readText(text: string): readonly StreamPart[] {
    if (text === '') return [];
    const parts: StreamPart[] = [];
    const [rest = '', ...lines] = (this.#endedWithCarriageReturn && text.startsWith('\n') ? text.slice(1) : text).split(
      /\r\n|\r|\n/,
    );
    this.#endedWithCarriageReturn = text.endsWith('\r');
    this.#extendLine(rest);
    for (const next of lines) {
      const part = this.#endLine();
      if (part !== undefined) parts.push(part);
      this.#extendLine(next);
    }
    return parts;
  }

  #extendLine(text: string): void {
    this.#line += text;
    if (this.#line.length + this.#dataLength > this.#maxLength)
      throw new EventTooLong(`an event of the stream is longer than ${this.#maxLength} characters`);
  }

  #endLine(): StreamPart | undefined {
    const line = this.#line;
    this.#line = '';
    if (line === '') return this.#endEvent();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1);
    switch (field) {
      case 'data':
        this.#data.push(value);
        this.#dataLength += value.length + 1;
        return undefined;
      case 'event':
        this.#event = value === '' ? undefined : value;
        return undefined;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        return undefined;
      case 'retry':
        return /^\d{1,10}$/.test(value) && Number(value) <= maxRetryMs ? { kind: 'retry', delayMs: Number(value) } : undefined;
      default:
        // A comment, or a field that the standard does not define.
        return undefined;
    }
  }

  /** A block without data is no event. */
  #endEvent(): ServerSentEvent | undefined {
    const event: ServerSentEvent | undefined =
      this.#data.length === 0 ? undefined : { kind: 'event', id: this.#id, event: this.#event, data: this.#data.join('\n') };
    this.#id = undefined;
    this.#event = undefined;
    this.#data = [];
    this.#dataLength = 0;
    return event;
  }
}
