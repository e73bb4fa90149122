/**
 * Forwards what code on a thread prints through the message port, so that output arrives before the response. The streams of Node's
 * worker threads would keep the reading process alive. Output beyond the limit is dropped, because a port has no limit of its own.
 */
import { printLimits } from './printed-lines.ts';

type Stream = 'stdout' | 'stderr';

/**
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
