import { expect, test, vi } from 'vitest';
import { lazyProperties, once, replacing } from '../../lib/base/lazy.ts';

test('a value is created at the first call, and once', () => {
  const make = vi.fn<() => object>(() => ({}));
  const get = once(make);
  expect(make).not.toHaveBeenCalled();
  expect(get()).toBe(get());
  expect(make).toHaveBeenCalledOnce();
});

test('an undefined value is created once too', () => {
  const make = vi.fn<() => undefined>();
  const get = once(make);
  get();
  get();
  expect(make).toHaveBeenCalledOnce();
});

test('after a call that throws, the next call creates the value', () => {
  const make = vi
    .fn<() => number>(() => 1)
    .mockImplementationOnce(() => {
      throw new Error('not yet');
    });
  const get = once(make);
  expect(get).toThrow('not yet');
  expect(get()).toBe(1);
});

test('a property is created at its first access, and another property stays uncreated', () => {
  const fails = vi.fn<() => number>(() => {
    throw new Error('not available');
  });
  const values = lazyProperties({ name: () => ['a'], fails });
  expect(values.name).toBe(values.name);
  expect(Object.keys(values)).toEqual(['name', 'fails']);
  expect(fails).not.toHaveBeenCalled();
  expect(() => values.fails).toThrow('not available');
});

test('an object with a replaced property creates none of the others, and the same ones as the object itself', () => {
  const makers = {
    clock: vi.fn<() => object>(() => ({})),
    jobs: vi.fn<() => string>(() => 'queue'),
    secrets: vi.fn<() => never>(),
  };
  const values = lazyProperties<{ clock: object; jobs: string; secrets: never }>(makers);
  const replaced = replacing(values, { jobs: 'shared' });
  expect([replaced.jobs, values.jobs]).toEqual(['shared', 'queue']);
  expect(makers.clock).not.toHaveBeenCalled();
  expect(replaced.clock).toBe(values.clock);
  expect(makers.secrets).not.toHaveBeenCalled();
});
