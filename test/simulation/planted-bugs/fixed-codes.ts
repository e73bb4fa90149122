/** Code in which every run has a situation that random code rarely has. */
import type { CodeWorkflow, Part } from '../random-code.ts';

const always = 1_000;
const step = (given: Partial<Extract<Part, { kind: 'step' }>>): Part => ({
  kind: 'step',
  ms: 800,
  failures: 0,
  mostAttempts: 3,
  hasRollback: false,
  ...given,
});
const times = (count: number, part: Part): readonly Part[] => Array.from({ length: count }, () => part);

const seq = (...parts: readonly Part[]): Part => ({ kind: 'seq', parts });

const workflow = (name: string, part: Part): CodeWorkflow => ({ name, mostAttempts: 1, isIdempotent: false, part });

/** Longer than one function may take. */
export const manySlowSteps = workflow('long-winded', seq(...times(9, step({ ms: 120_000 }))));

/** Much is done, and then undone. */
export const rollingBack = workflow('undoing', {
  kind: 'all',
  parts: [seq(...times(6, step({ ms: 5, hasRollback: true }))), step({ ms: 12_000, failures: always, mostAttempts: 1 })],
});

/** Executes a step and then waits for long. */
export const longSleep = workflow('napping', seq(step({ hasRollback: true }), { kind: 'sleep', ms: 7_200_000 }));

/** Steps that never come to anything, however often they are tried. */
export const repeatedlyFailing = workflow('stubborn', seq(...times(5, step({ ms: 12_000, failures: always, mostAttempts: 2 }))));

/** Long enough that no limit applies; the result of a run that calls with it is not predictable. */
const child = (name: string): Part => ({ kind: 'child', name, ms: 7_200_000 });

/** Starts child runs, some of which fail. */
export const calling = workflow('calling', seq(child('leaf-code'), child('code-1'), child('leaf-graph'), child('leaf-code')));
export const failing = workflow('failing', { kind: 'throw' });
