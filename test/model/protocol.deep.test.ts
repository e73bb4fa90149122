import { describe, expect, it } from 'vitest';
import { Specification } from './quint.ts';

const model = (file: string): string => new URL(`../../model/${file}`, import.meta.url).pathname;
const specification = new Specification(model('broken.qnt'));

const invariants = [
  'inv1_denseLog',
  'inv1_wonStays',
  'inv1_nothingIsAskedForBeforeItIsCommitted',
  'inv2_oneEnding',
  'inv3_oneCompletion',
  'inv4_joinFiresOnce',
  'inv5_everyOpenNodeWillBeSeen',
  'inv5_noRunWaitsForNobody',
  'inv5_lastDutiesWillBeDone',
  'inv5_noFlood',
  'inv5_silenceFailsNothing',
  'inv6_sameLogSameState',
  'inv7_cancelWinsOrLoses',
  'inv9_acknowledgedExists',
];

describe('the model of the protocol', () => {
  it('is well typed', () => {
    expect(specification.faults).toEqual([]);
  });

  // Traces of 200 steps: of the first some fifteen in a hundred come to a whole run's end.
  it.each([
    ['weather', 40],
    ['lean', 40],
  ])('holds in %s, and is seen to come to its end', (module, traces) => {
    const witnesses = ['completed', 'w.signal == "taken"', 'w.truth.ended == "RUN_CANCELLED"', 'w.truth.ended == "RUN_FAILED"'];
    const answer = specification.simulate({ module, invariant: 'holds', witnesses, seed: 11, traces, steps: 200 });
    expect(answer.violatedOf(invariants)).toEqual([]);
    expect(answer.traces).toBe(traces);
    for (const [index, seen] of answer.witnessed.entries()) expect(seen, `${witnesses[index]} was never seen`).toBeGreaterThan(0);
  });
});

describe('a rule that is not kept is seen to be broken', () => {
  /** Which of the invariants it breaks, and a seed that shows it soon. */
  const broken: readonly (readonly [module: string, breaks: string, seed: number])[] = [
    ['overlap', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['unconditionalPut', 'inv1_wonStays', 1],
    ['noNonce', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['decidedAnew', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['unansweredPut', 'inv1_wonStays', 3],
    ['noDensity', 'inv6_sameLogSameState', 3],
    ['ownTryCounts', 'inv6_sameLogSameState', 1],
    ['staleFact', 'inv3_oneCompletion', 3],
    ['noCommitNumber', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['sentBeforeCommitted', 'inv1_nothingIsAskedForBeforeItIsCommitted', 3],
    ['deletedBeforeCommitted', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['redeliveryMendsNothing', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['putBeforeNudge', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['noDueEntries', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['passedBeforeDue', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['headBeforeParent', 'inv5_lastDutiesWillBeDone', 1],
    ['dutiesNotRedone', 'inv5_lastDutiesWillBeDone', 3],
    ['enteredUnlooked', 'inv5_everyOpenNodeWillBeSeen', 3],
    ['cancelAssumed', 'inv7_cancelWinsOrLoses', 1],
    ['acknowledgedBeforeHead', 'inv9_acknowledgedExists', 1],
    ['silenceFails', 'inv5_silenceFailsNothing', 1],
    ['hastyNudge', 'inv5_lastDutiesWillBeDone', 5],
  ];
  it.each(broken)('%s', (module, breaks, seed) => {
    const answer = specification.simulate({ module, invariant: 'holds', seed, traces: 200, steps: 150 });
    expect(answer.isViolated).toBe(true);
    expect(answer.violatedOf(invariants)).toContain(breaks);
  });
});
