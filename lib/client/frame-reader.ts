/** Parses server-sent events: chunks of bytes in, frames out. */

export interface EventFrame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
  /** the reconnection delay in milliseconds, if the frame contains one */
  readonly retryMs: number | undefined;
}

/** Returns each complete frame, and buffers text that is not followed by a blank line yet. */
export class FrameReader {
  #rest = '';
  readonly #decoder = new TextDecoder();

  read(bytes: Uint8Array): readonly EventFrame[] {
    // A chunk can end between CR and LF, so a trailing CR is kept for the next chunk.
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
