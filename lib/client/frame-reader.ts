/** Server-sent events as they come over the wire: pieces of bytes in, frames out. */

export interface EventFrame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
  /** the wait before a reconnection in milliseconds, where the frame asks for one */
  readonly retryMs: number | undefined;
}

/** Takes text as it comes and gives each frame that is whole. What is not behind a blank line yet waits. */
export class FrameReader {
  #rest = '';
  readonly #decoder = new TextDecoder();

  read(bytes: Uint8Array): readonly EventFrame[] {
    // A line break may be cut in two: the end is looked at again with what follows.
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    const endsWithCarriageReturn = text.endsWith('\r');
    const blocks = (endsWithCarriageReturn ? text.slice(0, -1) : text).replaceAll(/\r\n?/g, '\n').split('\n\n');
    this.#rest = (blocks.pop() ?? '') + (endsWithCarriageReturn ? '\r' : '');
    return blocks.map(parseFrame);
  }
}

const parseFrame = (block: string): EventFrame => {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
  });
  const last = (name: string) => fields.findLast(([key]) => key === name)?.[1];
  const retry = last('retry');
  return {
    id: last('id'),
    event: last('event'),
    data: fields.flatMap(([key, value]) => (key === 'data' ? [value] : [])).join('\n'),
    retryMs: retry !== undefined && /^\d{1,6}$/.test(retry) ? Number(retry) : undefined,
  };
};
