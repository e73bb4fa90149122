import type { TestEnv } from './test-env.ts';

/** Takes the next value of an iterator, and advances the clock to the next sleeper meanwhile. */
export const nextWithTime = async <Value>({ ports }: TestEnv, from: AsyncGenerator<Value, void, undefined>) => {
  let result: IteratorResult<Value, void> | undefined;
  const pending = from.next().then((value) => (result = value));
  while (result === undefined) {
    for (let turn = 0; turn < 10 && result === undefined; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const wakeAt = ports.clock.nextWakeAt();
    if (result === undefined && wakeAt !== undefined) ports.clock.set(wakeAt);
  }
  return pending;
};
