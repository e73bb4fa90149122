/** A client of the WebSocket API, with Node's own WebSocket. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';

export const frameShape = z.looseObject({
  type: z.string(),
  runId: z.string().optional(),
  eventId: z.number().optional(),
  payload: z.looseObject({}).optional(),
});
export type Frame = z.infer<typeof frameShape>;

export interface SocketClient {
  readonly frames: readonly Frame[];
  /** the close code, once the socket has closed */
  readonly closed: Promise<number>;
  send(message: object | string): void;
  /** the first matching frame, now or within the timeout */
  until(holds: (frame: Frame) => boolean, withinMs?: number): Promise<Frame>;
  close(): Promise<number>;
}

/** @param key sent in the header, as programs other than browsers can */
export async function openClient(url: string, key?: string): Promise<SocketClient> {
  // Node's WebSocket accepts headers, unlike the standard.
  const options: object = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  const socket: WebSocket = Reflect.construct(WebSocket, [url, options]);
  const frames: Frame[] = [];
  const closing = Promise.withResolvers<number>();
  socket.addEventListener('message', ({ data }) => void frames.push(frameShape.parse(JSON.parse(String(data)))));
  socket.addEventListener('close', ({ code }) => closing.resolve(code));
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error('the socket was refused')));
  });
  return {
    frames,
    closed: closing.promise,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async until(holds, withinMs = 15_000) {
      const endsAt = performance.now() + withinMs;
      for (;;) {
        const found = frames.find(holds);
        if (found !== undefined) return found;
        if (performance.now() > endsAt) throw new Error(`nothing like it came: ${JSON.stringify(frames)}`);
        await wait(20);
      }
    },
    close() {
      socket.close();
      return closing.promise;
    },
  };
}
