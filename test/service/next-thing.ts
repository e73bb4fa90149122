import type { House } from './house.ts';

/** Takes the next thing, while time passes up to the next one who sleeps. */
export const next = async <Value>({ world }: House, from: AsyncGenerator<Value, void, undefined>) => {
  let result: IteratorResult<Value, void> | undefined;
  const asked = from.next().then((value) => (result = value));
  while (result === undefined) {
    for (let turn = 0; turn < 10 && result === undefined; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const wakeAt = world.clock.nextWakeAt();
    if (result === undefined && wakeAt !== undefined) world.clock.set(wakeAt);
  }
  return asked;
};
