/** What deployed code returns and prints: limits, forwarded from its thread, and split into lines. */

/** Limits of what deployed code returns. */
export const responseLimits = {
  /** body of a response; a larger body makes the response invalid */
  bodyBytes: 1_048_576,
  /** error message, in characters */
  message: 2_000,
} as const;

const truncationNotice = '… output truncated: the limit is reached';

export const printLimits = {
  /** a longer line is split */
  lineCharacters: 8_192,
  characters: 262_144,
} as const;

export interface PrintedLines {
  add(text: string): void;
  /** Emits the unfinished line, and resets the limit. */
  flush(): void;
}

/** Splits printed output into lines, up to a limit per message or workflow task. A last line says that output was cut. */
export function printedLines(print: (line: string) => void): PrintedLines {
  let partialLine = '';
  let remaining: number = printLimits.characters;
  const printInChunks = (line: string): void => {
    for (let at = 0; at < line.length; at += printLimits.lineCharacters) print(line.slice(at, at + printLimits.lineCharacters));
  };
  return {
    add: (text) => {
      if (remaining < 0) return;
      const lines = (partialLine + text.slice(0, remaining)).split('\n');
      remaining -= text.length;
      partialLine = lines.pop() ?? '';
      for (const line of lines) printInChunks(line);
      if (remaining >= 0) return;
      printInChunks(partialLine);
      partialLine = '';
      print(truncationNotice);
    },
    flush: () => {
      printInChunks(partialLine);
      partialLine = '';
      remaining = printLimits.characters;
    },
  };
}

type Stream = 'stdout' | 'stderr';

/**
 * Forwards what code on a thread prints through the message port, so that output arrives before the response. The streams of Node's
 * worker threads would keep the reading process alive. Output beyond the limit is dropped, because a port has no limit of its own.
 * @param currentSource names the source of the output at the time of printing
 * @returns a function that resets the output limit of one source
 */
export function forwardOutput<Source>(
  currentSource: () => Source,
  send: (currentSource: Source, stream: Stream, text: string) => void,
): (currentSource: Source) => void {
  const remainingByStream = (['stdout', 'stderr'] as const).map((stream) => {
    const remaining = new Map<Source, number>();
    const decoder = new TextDecoder();
    const write = (chunk: string | Uint8Array): void => {
      const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
      const source = currentSource();
      const budget = remaining.get(source) ?? printLimits.characters;
      // One character more than the limit tells the receiver that output was cut.
      if (budget >= 0) send(source, stream, text.slice(0, budget + 1));
      remaining.set(source, budget - text.length);
    };
    // The stream would buffer the output, and the async context that names the source would be lost.
    process[stream].write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
      write(chunk);
      const callback = typeof encoding === 'function' ? encoding : done;
      if (typeof callback === 'function') queueMicrotask(() => callback());
      return true;
    };
    return remaining;
  });
  return (source) => {
    for (const remaining of remainingByStream) remaining.delete(source);
  };
}
