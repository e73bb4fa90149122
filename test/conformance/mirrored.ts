/** Stores that make each call twice, in memory and on the AWS adapters, and compare the responses. */
import { AssertionError } from 'node:assert';
import type { Deps } from '../../lib/service/deps.ts';
import { type JsonValue, isJsonObject } from '../../lib/engine/json.ts';
import type { Ports } from '../../lib/ports/ports.ts';

const stores = [
  'log',
  'index',
  'blobs',
  'workflows',
  'lenses',
  'queries',
  'reservations',
  'signals',
  'concurrencySlots',
  'streams',
  'schedules',
  'deployments',
  'tickets',
  'readerLeases',
] as const satisfies readonly (keyof Ports)[];

/** The order of these results is not defined. */
const unordered: ReadonlySet<string> = new Set(['index.dueIn', 'log.heartbeats']);

export interface MirrorOptions {
  /** stops virtual time until the responses arrive */
  readonly hold: <Answer>(work: Promise<Answer>) => Promise<Answer>;
  readonly onCall: (name: string) => void;
}

/** The ports with mirrored stores, which compare each response. */
export function mirrored(world: Deps, other: Ports, mirror: MirrorOptions): Deps {
  const doubled = new Map<PropertyKey, object>(stores.map((name) => [name, both(name, world[name], other[name], mirror)]));
  return new Proxy(world, { get: (target, name) => doubled.get(name) ?? Reflect.get(target, name) });
}

const both = (port: string, one: object, other: object, { hold, onCall }: MirrorOptions): object =>
  new Proxy(one, {
    get: (target, method) => {
      const [own, others]: unknown[] = [Reflect.get(target, method), Reflect.get(other, method)];
      if (typeof own !== 'function' || typeof others !== 'function') return own;
      const name = `${port}.${String(method)}`;
      return (...given: unknown[]) => {
        onCall(name);
        return hold(sameOf(name, given, Reflect.apply(own, target, given), Reflect.apply(others, other, given)));
      };
    },
  });

async function sameOf(name: string, given: readonly unknown[], one: Promise<unknown>, other: Promise<unknown>): Promise<unknown> {
  const [own, others] = await Promise.allSettled([one, other]);
  const [expected, actual] = [told(name, own), told(name, others)];
  if (expected !== actual)
    throw new AssertionError({ message: `${name}(${JSON.stringify(given)}) is not the same on AWS`, expected, actual });
  if (own.status === 'rejected') throw own.reason;
  return own.value;
}

function told(name: string, answer: PromiseSettledResult<unknown>): string {
  if (answer.status === 'rejected')
    return `throws ${answer.reason instanceof Error ? answer.reason.name : String(answer.reason)}`;
  const { value } = answer;
  const whole = Array.isArray(value) && unordered.has(name) ? value.map((each: unknown) => canonical(each)).toSorted() : value;
  return canonical(whole);
}

/** Independent of the order of keys, and without undefined fields. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, each: JsonValue) =>
    isJsonObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([one], [two]) => (one < two ? -1 : 1))) : each,
  ) ?? 'nothing';
