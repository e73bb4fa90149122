import { expect, test } from 'vitest';
import * as z from 'zod';
import { environmentNames } from '../../lib/contract/environment.ts';
import { byId, synthesize } from './synthesized.ts';

const shape = z.object({ Variables: z.record(z.string(), z.unknown()) });
const destinationsOf = (settings: Readonly<Record<string, unknown>>, name = 'Worker'): unknown =>
  shape.parse(byId(synthesize(settings).runtime, `StepwellFunctions${name}Function`).Properties['Environment']).Variables[
    environmentNames.privateDestinations
  ];

test('the worker receives the private destinations, and no other function does', () => {
  expect(destinationsOf({})).toBe('');
  const settings = { privateDestinations: '["10.0.0.0/16","orders.internal"]' };
  expect(destinationsOf(settings)).toBe('10.0.0.0/16,orders.internal');
  expect(destinationsOf(settings, 'Api')).toBeUndefined();
});

test('localhost needs requireHttps: false, which only the embedded cloud sets', () => {
  expect(() => synthesize({ allowLocalhost: true })).toThrow('The setting allowLocalhost is for the embedded cloud');
  expect(destinationsOf({ allowLocalhost: true, requireHttps: false, privateDestinations: ['10.0.0.0/16'] })).toBe(
    '10.0.0.0/16,localhost',
  );
});

test('localhost is refused as a private destination', () => {
  expect(() => synthesize({ privateDestinations: ['localhost'] })).toThrow('is never reachable');
});
