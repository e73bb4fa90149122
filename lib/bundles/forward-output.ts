/**
 * What code on a thread prints goes the way of its answers, and so comes before them. Node's own way would keep the process
 * alive that reads it. What is more than is kept is not sent: a port has no limit of its own.
 */
import { printLimits } from './printed-lines.ts';

type Stream = 'stdout' | 'stderr';

/** @param send of the place that `whose` names at the moment of printing; the returned function begins counting for one anew */
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
      // One more than fits: so that it is known that there was more.
      if (budget >= 0) send(source, stream, text.slice(0, budget + 1));
      remaining.set(source, budget - text.length);
    };
    // Not by the stream's own way: it gathers what is written, and whose it was is forgotten by then.
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
