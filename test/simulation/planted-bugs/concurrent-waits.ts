/**
 * Code whose waits end while steps run and whose branches continue independently. A workflow task that missed commits sees
 * them in the order of the log.
 */
import type { CodeWorkflow, Part } from '../random-code.ts';

const step = (ms: number): Part => ({ kind: 'step', ms, failures: 0, mostAttempts: 10, hasRollback: false });
const sleep: Part = { kind: 'sleep', ms: 300 };
const signal: Part = { kind: 'signal', place: { name: 'signal-0', correlation: 'thing-0' }, ms: 20_000 };
const child: Part = { kind: 'child', name: 'leaf-code', ms: 0 };
const seq = (...parts: readonly Part[]): Part => ({ kind: 'seq', parts });

export const concurrentWaits: CodeWorkflow = {
  name: 'side-by-side',
  mostAttempts: 1,
  isIdempotent: false,
  part: {
    kind: 'all',
    parts: [
      seq(sleep, step(5), sleep, step(5), sleep, step(5)),
      seq(...Array.from({ length: 8 }, () => step(800))),
      seq(...Array.from({ length: 6 }, () => step(1_300))),
      seq(signal, step(5)),
      seq(child, step(5), child, step(5)),
    ],
  },
};
