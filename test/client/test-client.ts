/** A fake network with scripted responses, and a clock that advances only when nothing else can happen. */
import { StepwellClient, type ClientOptions } from '../../lib/client/index.ts';
import { durationMs, instant } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
  /** milliseconds since the start of the test */
  readonly atMs: number;
}

type Step = (sent: Sent, signal: AbortSignal | null | undefined) => Response | Promise<Response>;

export const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Step => {
  return () => new Response(JSON.stringify(body), { status, headers });
};
export const errorResponse = (
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
  more: object = {},
): Step => json(status, { code, message: `it is ${code}`, correlationId: 'theirs', ...more }, headers);
export const networkError: Step = () => Promise.reject(new TypeError('fetch failed'));
/** Never responds, even if the request is aborted. */
export const noResponse: Step = () => new Promise(() => undefined);
export const healthy = json(200, { healthy: true, timestamp: '2026-01-01T00:00:00.000Z' });

export interface TestClient {
  readonly client: StepwellClient;
  readonly sent: readonly Sent[];
  readonly clock: MemoryClock;
  /** Waits for the promise; when nothing else can happen, advances the time to the next timer. */
  readonly runToEnd: <Value>(work: Promise<Value>) => Promise<Value>;
  /** Expects the promise to reject, and returns the error. */
  readonly expectError: (work: Promise<unknown>) => Promise<unknown>;
}

/** @param steps responses in order; the last one repeats */
export const createTestClient = (steps: readonly Step[], options: Partial<ClientOptions> = {}): TestClient => {
  const clock = new MemoryClock(instant(0));
  const sent: Sent[] = [];
  let idCount = 0;
  const client = new StepwellClient({
    baseUrl: 'https://api.example.com/prod/',
    apiKey: 'sw_test_key',
    random: () => 0.5,
    newId: () => `id-${(idCount += 1)}`,
    sleep: (ms, signal) => clock.sleep(durationMs(ms), signal),
    fetchImpl: async (url, { method = 'GET', headers, body, signal }) => {
      const path = url.replace('https://api.example.com/prod', '');
      const parsed: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
      const request = { method, path, headers: new Headers(headers), body: parsed, atMs: clock.now() };
      sent.push(request);
      const step = steps[Math.min(sent.length, steps.length) - 1];
      if (step === undefined) throw new Error('nothing was to be sent');
      return step(request, signal);
    },
    ...options,
  });
  const runToEnd = (work: Promise<unknown>) => runWithClock(clock, work);
  return {
    client,
    sent,
    clock,
    runToEnd: async (work) => {
      await runToEnd(work);
      return work;
    },
    expectError: async (work) => {
      const error = await runToEnd(
        work.then(
          () => new Error('it did not fail'),
          (reason: unknown) => reason,
        ),
      );
      return error;
    },
  };
};

const runWithClock = async (clock: MemoryClock, work: Promise<unknown>): Promise<unknown> => {
  let isDone = false;
  const done = (): void => void (isDone = true);
  work.then(done, done);
  for (;;) {
    for (let tick = 0; tick < 5 && !isDone; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    if (isDone) return work;
    const next = clock.nextWakeAt();
    if (next === undefined) throw new Error('it waits for nothing');
    clock.set(next);
  }
};
