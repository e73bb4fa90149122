import { describe, expect, it } from 'vitest';
import { Specification } from './quint.ts';

const model = (file: string): string => new URL(`../../model/${file}`, import.meta.url).pathname;
const specification = new Specification(model('broken.qnt'));

const invariants = [
  'inv1_denseLog',
  'inv1_acknowledgedPutStays',
  'inv1_noSendBeforeCommit',
  'inv2_oneEnding',
  'inv3_oneCompletion',
  'inv4_joinFiresOnce',
  'inv5_everyOpenNodeIsReachable',
  'inv5_noOrphanedRun',
  'inv5_finalizationIsReachable',
  'inv5_noSignalExpires',
  'inv5_noFlood',
  'inv5_timeoutFailsNothing',
  'inv6_sameLogSameState',
  'inv7_cancelWinsOrLoses',
  'inv9_acknowledgedExists',
];

describe('the model of the protocol', () => {
  it('is well typed', () => {
    expect(specification.faults).toEqual([]);
  });

  // Traces of 200 steps: about fifteen in a hundred reach the end of a run.
  it.each([
    ['chaos', 40],
    ['lean', 40],
  ])('holds in %s, and runs reach their end', (module, traces) => {
    const witnesses = ['completed', 'w.signal == "taken"', 'w.truth.ended == "RUN_CANCELLED"', 'w.truth.ended == "RUN_FAILED"'];
    const answer = specification.simulate({ module, invariant: 'holds', witnesses, seed: 11, traces, steps: 200 });
    expect(answer.violatedOf(invariants)).toEqual([]);
    expect(answer.traces).toBe(traces);
    for (const [index, seen] of answer.witnessed.entries()) expect(seen, `${witnesses[index]} was never seen`).toBeGreaterThan(0);
  });
});

describe('a rule that is switched off violates an invariant', () => {
  /** The invariant that it violates, and a seed that shows it soon. */
  const violations: readonly (readonly [module: string, breaks: string, seed: number])[] = [
    ['overlap', 'inv5_everyOpenNodeIsReachable', 3],
    ['unconditionalPut', 'inv1_acknowledgedPutStays', 1],
    ['noNonce', 'inv5_everyOpenNodeIsReachable', 3],
    ['decidedAgain', 'inv5_everyOpenNodeIsReachable', 3],
    ['unansweredPut', 'inv1_acknowledgedPutStays', 3],
    ['noDensity', 'inv6_sameLogSameState', 3],
    ['ownPutCounts', 'inv6_sameLogSameState', 1],
    ['staleFact', 'inv3_oneCompletion', 3],
    ['noCommitNumber', 'inv5_everyOpenNodeIsReachable', 3],
    ['sentBeforeCommitted', 'inv1_noSendBeforeCommit', 3],
    ['deletedBeforeCommitted', 'inv5_everyOpenNodeIsReachable', 3],
    ['redeliveryRecoversNothing', 'inv5_everyOpenNodeIsReachable', 3],
    ['putBeforeDue', 'inv5_everyOpenNodeIsReachable', 3],
    ['noDueEntries', 'inv5_everyOpenNodeIsReachable', 3],
    ['sweptBeforeDue', 'inv5_everyOpenNodeIsReachable', 3],
    ['headBeforeParent', 'inv5_finalizationIsReachable', 1],
    ['finalizationNotRepeated', 'inv5_finalizationIsReachable', 3],
    ['registeredWithoutMatch', 'inv5_everyOpenNodeIsReachable', 3],
    ['expiredNotRegistered', 'inv5_everyOpenNodeIsReachable', 2],
    ['expiredWithoutMatch', 'inv5_noSignalExpires', 4],
    ['cancelAssumed', 'inv7_cancelWinsOrLoses', 1],
    ['acknowledgedBeforeHead', 'inv9_acknowledgedExists', 1],
    ['timeoutFails', 'inv5_timeoutFailsNothing', 1],
  ];
  it.each(violations)('%s', (module, breaks, seed) => {
    const answer = specification.simulate({ module, invariant: 'holds', seed, traces: 200, steps: 150 });
    expect(answer.isViolated).toBe(true);
    expect(answer.violatedOf(invariants)).toContain(breaks);
  });
});
