/** A stream of server-sent events, read frame by frame while time passes as it is needed. */
import type { Readable } from 'node:stream';
import * as z from 'zod';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import type { Answered } from './http.ts';

export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly retry?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

const shape = z.record(z.string(), z.unknown());

const frameOf = (text: string): Frame =>
  Object.fromEntries(
    text
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [name = '', ...value] = line.split(': ');
        return [name, name === 'data' ? shape.parse(JSON.parse(value.join(': '))) : value.join(': ')];
      }),
  );

export interface OpenStream {
  /** undefined behind the last one */
  next(): Promise<Frame | undefined>;
  /** all that comes until the end */
  rest(): Promise<readonly Frame[]>;
  close(): void;
}

export const streamIn = (
  { clock }: Pick<MemoryPorts, 'clock'>,
  { status, stream }: Pick<Answered, 'status' | 'stream'>,
): OpenStream => {
  if (stream === undefined) throw new Error(`${status} is no stream`);
  const pieces: AsyncIterator<unknown> = (stream satisfies Readable)[Symbol.asyncIterator]();
  const next = async (): Promise<Frame | undefined> => {
    let came: IteratorResult<unknown> | undefined;
    const asked = pieces.next().then((result) => (came = result));
    while (came === undefined) {
      for (let turn = 0; turn < 10 && came === undefined; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const wakeAt = clock.nextWakeAt();
      if (came === undefined && wakeAt !== undefined) clock.set(wakeAt);
    }
    const { done, value } = await asked;
    return done === true ? undefined : frameOf(z.string().parse(value));
  };
  return {
    next,
    rest: async () => {
      const frames: Frame[] = [];
      for (let frame = await next(); frame !== undefined; frame = await next()) frames.push(frame);
      return frames;
    },
    close: () => void stream.destroy(),
  };
};
