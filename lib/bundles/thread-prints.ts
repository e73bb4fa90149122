/**
 * What code on a thread prints goes the way of its answers, and so comes before them. Node's own way would keep the process
 * alive that reads it. What is more than is kept is not sent: a port has no limit of its own.
 */
import { printLimits } from './printed-lines.ts';

type Stream = 'stdout' | 'stderr';

/** @param tell of the place that `whose` names at the moment of printing; the returned function begins counting for one anew */
export function sendPrints<Whose>(
  whose: () => Whose,
  tell: (whose: Whose, stream: Stream, text: string) => void,
): (whose: Whose) => void {
  const rooms = (['stdout', 'stderr'] as const).map((stream) => {
    const left = new Map<Whose, number>();
    const decoder = new TextDecoder();
    const write = (chunk: string | Uint8Array): void => {
      const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
      const place = whose();
      const room = left.get(place) ?? printLimits.characters;
      // One more than fits: so that it is known that there was more.
      if (room >= 0) tell(place, stream, text.slice(0, room + 1));
      left.set(place, room - text.length);
    };
    // Not by the stream's own way: it gathers what is written, and whose it was is forgotten by then.
    process[stream].write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
      write(chunk);
      const callback = typeof encoding === 'function' ? encoding : done;
      if (typeof callback === 'function') queueMicrotask(() => callback());
      return true;
    };
    return left;
  });
  return (place) => {
    for (const left of rooms) left.delete(place);
  };
}
